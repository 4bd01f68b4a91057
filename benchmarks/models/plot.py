"""The ratios of a record as one SVG: a column for each layer, model by model."""

import math
from collections.abc import Iterator
from html import escape
from itertools import groupby

from benchmarks.models.record import Record
from benchmarks.models.report import Place, ours_in, places

_COLUMN, _GAP, _HEIGHT = 11, 16, 360
_LEFT, _TOP, _BOTTOM = 56, 44, 40
_TICKS = (0.25, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0)
_STYLE = (
    "text{font:12px sans-serif;fill:#333}.g{stroke:#e4e4e4;fill:none}"
    ".one{stroke:#555;fill:none}.morello{fill:#c8321e}.tuned{fill:none;"
    "stroke:#3566a8;stroke-width:1.5}"
)


def plot(record: Record) -> str:
    """One SVG document: above the line at 1, ours is faster than the best peer."""
    ours = ours_in(record)
    compared = [place for place in places(record) if place[2].peer]
    groups = [(m, list(g)) for m, g in groupby(compared, key=lambda place: place[0])]
    width = _LEFT + sum(_GAP + _COLUMN * len(g) for _, g in groups) + _GAP
    width = max(width, 480)
    ratios = [r for *_, s in compared for n in ours if (r := s.ratio(n)) is not None]
    low = math.log(min([*ratios, 0.8]) / 1.05)
    high = math.log(max([*ratios, 1.25]) * 1.05)

    def at(ratio: float) -> float:
        share = (math.log(ratio) - low) / (high - low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
        f'height="{_HEIGHT}" viewBox="0 0 {width} {_HEIGHT}">',
        f"<style>{_STYLE}</style>",
        f'<rect width="{width}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="18">{escape(record.name)}: time of the fastest peer '
        "over ours</text>",
        f'<text x="{_LEFT}" y="34">filled: the model\'s choice; rings: tuned</text>',
    ]
    for tick in _TICKS:
        if low <= math.log(tick) <= high:
            y, kind = at(tick), "one" if tick == 1 else "g"
            lines += [
                f'<path class="{kind}" d="M{_LEFT} {y:.1f}H{width - _GAP}"/>',
                f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
                f"{tick:g}</text>",
            ]
    x = float(_LEFT)
    for model, group in groups:
        x += _GAP
        middle = x + _COLUMN * len(group) / 2
        lines.append(
            f'<text x="{middle:.1f}" y="{_HEIGHT - _BOTTOM + 20}" '
            f'text-anchor="middle">{escape(model)}</text>'
        )
        for place in group:
            x += _COLUMN
            points = _points(place, ours, x - _COLUMN / 2)
            lines += [line.replace("@", f"{at(ratio):.1f}") for line, ratio in points]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _points(place: Place, ours: list[str], x: float) -> Iterator[tuple[str, float]]:
    """A circle for each of ours, ``@`` where its height goes, and its ratio."""
    _, layer, shape = place
    for name in ours:
        ratio = shape.ratio(name)
        if ratio is None:
            continue
        said = f"{layer.name}, {layer.spec}: {name} {ratio:.2f} of {shape.peer}"
        yield (
            f'<circle class="{name}" cx="{x:.1f}" cy="@" '
            f'r="{3.5 if name == "morello" else 4.5}">'
            f"<title>{escape(said)}</title></circle>",
            ratio,
        )
