"""The roofline plot: operations a second over operations a byte, as one SVG."""

import dataclasses
import math
from collections.abc import Iterator
from html import escape

from benchmarks.harness.record import Record

_WIDTH, _HEIGHT = 760, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 150, 34, 48
_LABEL = 12
"""Between the labels of lines that are close."""
_STYLE = (
    "text{font:12px sans-serif;fill:#333}.g{stroke:#e4e4e4;fill:none}"
    ".r{stroke:#555;fill:none}.o{fill:#c8321e}.p{fill:none;stroke:#3566a8;"
    "stroke-width:1.5}.s{font-size:10px;fill:#666}"
)


@dataclasses.dataclass(frozen=True)
class Axis:
    """A logarithmic axis from ``low`` to ``high``, drawn from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Position of a value on the axis."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> Iterator[float]:
        """1, 2 and 5 times powers of ten within it."""
        for power in range(math.floor(math.log10(self.low)), 9):
            for step in (1, 2, 5):
                if self.low <= step * 10.0**power <= self.high:
                    yield step * 10.0**power


def roofline(record: Record, column: str) -> str:
    """The plot of the rows of a record.

    Args:
        column: which roofs: those of one core, or those of all.
    """
    points = [
        (row, entry, row.flops / row.bytes, row.flops / entry.best / 1e9)
        for row in record.rows
        for entry in (
            *(row.entry(name) for name in record.ours),
            *(row.best_other(name) for name in record.ours[:1]),
        )
        if entry is not None and entry.samples
    ]
    roofs = {
        name: of_roof[column]
        for name, of_roof in record.roofs.items()
        if column in of_roof
    }
    reads = {name: rate for name, rate in roofs.items() if name.startswith("read")}
    used = {row.roof.name for row in record.rows}
    flats = {name: rate for name, rate in roofs.items() if name in used}
    rates = [*flats.values(), *(rate for *_, rate in points)]
    across = Axis(*_around([x for _, _, x, _ in points]), _LEFT, _WIDTH - _RIGHT)
    up = Axis(*_around(rates), _HEIGHT - _BOTTOM, _TOP)
    lines = [*_frame(record.name, across, up), *_flats(flats, reads, across, up)]
    lines += _slopes(reads, max(flats.values(), default=1), across, up)
    for row, entry, x, y in points:
        ours = entry.name in record.ours
        said = f"{row.spec}: {entry.name} {y:.1f} G/s, {row.fraction(entry.best):.0%}"
        lines.append(
            f'<circle class="{"o" if ours else "p"}" cx="{across.at(x):.1f}" '
            f'cy="{up.at(y):.1f}" r="{4 if ours else 5.5}">'
            f"<title>{escape(said)}</title></circle>"
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


def _around(values: list[float]) -> tuple[float, float]:
    """Limits that leave some room."""
    return min(values, default=1) / 1.6, max(values, default=1) * 1.6


def _frame(title: str, across: Axis, up: Axis) -> list[str]:
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}">',
        f"<style>{_STYLE}</style>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="20">{escape(title)}: Morello filled, the best peer '
        "a ring</text>",
    ]
    for tick in across.ticks():
        x = across.at(tick)
        lines += [
            f'<path class="g" d="M{x:.1f} {up.end}V{up.start}"/>',
            f'<text x="{x:.1f}" y="{up.start + 16}" text-anchor="middle">'
            f"{tick:g}</text>",
        ]
    for tick in up.ticks():
        y = up.at(tick)
        lines += [
            f'<path class="g" d="M{across.start} {y:.1f}H{across.end}"/>',
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>',
        ]
    middle = (across.start + across.end) / 2
    height = (up.start + up.end) / 2
    return [
        *lines,
        f'<text x="{middle}" y="{up.start + 36}" text-anchor="middle">'
        "operations a byte</text>",
        f'<text transform="translate(16 {height}) rotate(-90)" text-anchor="middle">'
        "10^9 operations a second</text>",
    ]


def _flats(
    flats: dict[str, float], reads: dict[str, float], across: Axis, up: Axis
) -> list[str]:
    """A level line for each arithmetic roof, from where memory allows it."""
    fastest = max(reads.values(), default=math.inf)
    lines, label = [], math.inf
    for name, rate in sorted(flats.items(), key=lambda item: item[1]):
        x, y = max(across.at(rate / fastest), across.start), up.at(rate)
        lines.append(f'<path class="r" d="M{x:.1f} {y:.1f}H{across.end}"/>')
        label = min(y + 4, label - _LABEL)
        lines.append(
            f'<text class="s" x="{across.end + 6}" y="{label:.1f}">'
            f"{escape(name)} {rate:.0f}</text>"
        )
    return lines


def _slopes(reads: dict[str, float], top: float, across: Axis, up: Axis) -> list[str]:
    """A slope for each memory, up to the highest arithmetic roof."""
    lines, label = [], math.inf
    for name, rate in sorted(reads.items(), key=lambda item: item[1]):
        left = max(across.low, up.low / rate)
        right = min(across.high, top / rate)
        if left >= right:
            continue
        begin, end = (left, left * rate), (right, right * rate)
        (x0, y0), (x1, y1) = ((across.at(x), up.at(y)) for x, y in (begin, end))
        lines.append(f'<path class="r" d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}"/>')
        label = min(y0 - 6, label - _LABEL)
        lines.append(
            f'<text class="s" x="{x0 + 4:.1f}" y="{label:.1f}">'
            f"{escape(name)} {rate:.0f} GB/s</text>"
        )
    return lines
