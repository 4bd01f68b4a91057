"""Numbers with their units, and programs in a few words."""

import dataclasses
from collections.abc import Sequence

from morello.errors import shortened, visible
from morello.search import Impl, Statistics
from morello.spec import Spec
from morello.spec.text.spellings import short_spelling

MILLI = 1000
"""Millicycles of a cycle."""


GIGAHERTZ = 3.0
"""The clock at which costs are shown, if nobody says otherwise."""

TIMES = "\N{MULTIPLICATION SIGN}"


@dataclasses.dataclass(frozen=True)
class Clock:
    """Turns millicycles into text."""

    gigahertz: float
    """The clock at which cycles are given as time."""

    def cycles(self, cost: int) -> str:
        """Cycles, to a tenth below a hundred: ``2,310,220 cycles``."""
        return f"{cycle_count(cost)} cycles"

    def cost(self, cost: int) -> str:
        """Cycles and time, as every command prints a cost: ``949 cycles = 316 ns at 3
        GHz``."""
        return f"{self.cycles(cost)} = {self.micros(cost)} at {self.gigahertz:g} GHz"

    def micros(self, cost: int) -> str:
        """The time at the clock: ``12.3 µs``; nanoseconds, ms or s where they fit."""
        seconds = cost / MILLI / (self.gigahertz * 1e9)
        units = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
        scale, unit = next((u for u in units if seconds >= u[0]), units[-1])
        return f"{seconds / scale:.3g} {unit}" if seconds else "0 ns"


def cycle_count(cost: int) -> str:
    """Cycles without their unit."""
    cycles = cost / MILLI
    return f"{cycles:,.0f}" if cycles >= 100 or cost % MILLI == 0 else f"{cycles:.1f}"


def percent(share: float) -> str:
    """A share in percent, to a tenth; a share above zero is not shown as zero."""
    return "<0.1%" if 0 < share < 0.0005 else f"{100 * share:.1f}%"


def excess(part: int, whole: int) -> str:
    """How much more, in percent of the whole: ``tie``, ``+0.3%``, ``4 times``.

    Less, ``-2.0%``, is what could be had where a pin decides.
    """
    if part == 0:
        return "tie"
    ratio = part / whole if whole else float("inf")
    if ratio < 0:
        return f"-{percent(-ratio)}"
    if ratio < 0.0005:
        return "+<0.1%"
    if ratio < 10:
        return f"+{100 * ratio:.1f}%"
    return f"{1 + ratio:,.0f} times"


def byte_count(count: int) -> str:
    """Bytes with a binary prefix: ``640 B``, ``12.5 KiB``."""
    value, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.4g} {unit}"


def sizes(shape: tuple[int, ...]) -> str:
    """A shape: ``6x16``."""
    return "x".join(map(str, shape))


def title(spec: Spec) -> str:
    """A Spec's kind and sizes, the batch among them: ``matmul 1x512x512x512``; a graph
    with a name has that: ``softmax 64x256``."""
    label, shape = short_spelling(spec.kind, spec.sizes) or (
        spec.kind.label,
        spec.sizes,
    )
    return f"{label} {sizes(shape)}"


def counted(count: int, noun: str) -> str:
    """A number and its noun: ``1 table``, ``2 tables``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def continuation(impl: Impl) -> tuple[str, ...]:
    """The three actions that follow the first one, along the costliest holes."""
    actions: list[str] = []
    while impl.branches and len(actions) < 3:
        impl = max(impl.branches, key=lambda b: b.times * b.impl.cost).impl
        actions.append(str(impl.action))
    return tuple(actions)


def stale_text(names: Sequence[str]) -> str:
    """Sentence that says which prices are stale; empty if none is."""
    if not names:
        return ""
    return (
        f"not calibrated with these as they are: {', '.join(names)}; "
        "'morello calibrate --check' says what that costs"
    )


def searched_text(statistics: Statistics) -> str:
    """Out of how much a program was chosen."""
    if not statistics.specs and not statistics.tables:
        return "read from the database as it was found before"
    tables = counted(statistics.tables, "table")
    if not statistics.specs:
        return f"read from {tables} of {read_text(statistics)}"
    text = f"found among {counted(statistics.specs, 'Spec')} in {tables}"
    if statistics.read:
        text += f", of which {statistics.read:,} were read from {read_text(statistics)}"
    if statistics.beyond:
        text += f"; no program comes to {statistics.beyond:,} more in them"
    return text


_MOST_GOALS = 3
"""How many goals are named: a database has thousands."""


def read_text(statistics: Statistics) -> str:
    """The places that tables were read from, and the goals that left them there."""
    places = ["the database"] if statistics.stored else []
    places += ["this process"] if statistics.stored < statistics.read else []
    parts = (
        f", {statistics.parts:,} as parts of larger ones" if statistics.parts else ""
    )
    named = [(g, n) for g, n in statistics.goals if g][:_MOST_GOALS]
    goals = [f"{n:,} of {shortened(visible(goal))}" for goal, n in named]
    others = len(statistics.goals) - len(named)
    if others and named:
        rest = statistics.read - sum(n for _, n in named)
        goals.append(f"{rest:,} of {counted(others, 'other goal')}")
    text = ", ".join(goals)
    return " and ".join(places) + parts + (text and f": {text}")
