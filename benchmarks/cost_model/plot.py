"""A plot of a sample as SVG: measured over predicted cycles, both logarithmic."""

import math
from collections.abc import Iterator
from html import escape

from benchmarks.cost_model.measure import Sample

_SIZE = 420
_LEFT, _TOP, _EDGE = 62, 34, 44
_STYLE = (
    "text{font:12px sans-serif;fill:#333}.g{stroke:#ddd}.d{stroke:#999;"
    "stroke-dasharray:4 3}.p{fill:#3566a8;fill-opacity:.55}.c{fill:#c8321e}"
)


def plot(sample: Sample) -> str:
    """One SVG document. The dashed line is where a prediction is right; the model's
    choice is red."""
    values = (*sample.predicted, *sample.measured)
    low, high = math.log10(min(values)) - 0.05, math.log10(max(values)) + 0.05
    side = _SIZE - _LEFT - 16
    bottom = _TOP + side

    def at(value: float) -> float:
        return (math.log10(value) - low) / (high - low) * side

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_SIZE}" '
        f'height="{bottom + _EDGE}" viewBox="0 0 {_SIZE} {bottom + _EDGE}">',
        f"<style>{_STYLE}</style>",
        f'<rect width="{_SIZE}" height="{bottom + _EDGE}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="20">{escape(_title(sample))}</text>',
    ]
    for tick in _ticks(low, high):
        x, y = _LEFT + at(tick), bottom - at(tick)
        lines += [
            f'<path class="g" d="M{x:.1f} {_TOP}V{bottom}M{_LEFT} {y:.1f}h{side}"/>',
            f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>',
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>',
        ]
    lines.append(f'<path class="d" d="M{_LEFT} {bottom}L{_LEFT + side} {_TOP}"/>')
    points = list(zip(sample.predicted, sample.measured, strict=True))
    for index, (x, y) in reversed(list(enumerate(points))):
        kind, radius = ("p", 3) if index else ("c", 4.5)
        lines.append(
            f'<circle class="{kind}" cx="{_LEFT + at(x):.1f}" '
            f'cy="{bottom - at(y):.1f}" r="{radius}"/>'
        )
    lines += [
        f'<text x="{_LEFT + side / 2}" y="{bottom + 36}" text-anchor="middle">'
        "predicted cycles</text>",
        f'<text transform="translate(14 {_TOP + side / 2}) rotate(-90)" '
        'text-anchor="middle">measured cycles</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _title(sample: Sample) -> str:
    rank = sample.spearman
    rho = "undefined" if rank is None else f"{rank:.2f}"
    return f"{sample.spec}: rank correlation {rho}, regret {sample.regret:.3f}"


def _ticks(low: float, high: float) -> Iterator[float]:
    """1, 2 and 5 times powers of ten; powers alone where there are many."""
    steps = (1, 2, 5) if high - low < 3 else (1,)
    for power in range(math.floor(low), math.ceil(high) + 1):
        for step in steps:
            tick = step * 10.0**power
            if low <= math.log10(tick) <= high:
                yield tick
