"""Units of an operand far from each other, which a kernel takes side by side.

One run of memory that is read from end to end keeps too few lines on their way: what
fetches lines by itself stops at pages of 4 KiB, and has learned each page anew. Runs
that go on from unit to unit at several far places are fetched beside each other.
"""

from collections.abc import Callable, Sequence

from morello.kernels.emitter import Emitter, Value
from morello.kernels.prefetch import Ahead
from morello.spec.frame import Ints
from morello.spec.layout import ceil_div

RUNS = 5
"""Runs that are read side by side. From memory a Zen 3 reads one with 0.75 of the
bandwidth that four to eight have; of five, places are hardly ever a power of two apart.
"""

WIDENED = Ahead(lines=16 * RUNS, to_l1=False)
"""Of rows in bf16: to widen them takes so many instructions that a core sees some 20
lines ahead, and a Zen 3 does not fetch enough by itself. Rows of f32 lose by it
(docs/internals/kernels.md)."""

Units = Callable[[Sequence[Value], int], None]
"""Takes units side by side, and how many units after them the next ones are, if any."""


def apart(
    emitter: Emitter,
    count: int,
    body: Units,
    first: Units | None = None,
    asks: bool = False,
) -> None:
    """Call ``body`` with the numbers of `RUNS` units at a time, then with those left.

    Of ``count`` units; each is in one call, in a loop or after it. ``first`` is called
    instead the first time, if it is given.

    Args:
        asks: whether units ask for what comes next in their runs: the last of each have
            a call apart then, and 0 after them, as all have if not.
    """
    each = count // RUNS
    after = int(asks)

    def places(at: Value) -> list[Value]:
        return [emitter.offset(at, run * each) for run in range(RUNS)]

    def side_by_side(at: Value, carried: Sequence[Value]) -> list[Value]:
        body(places(at), after)
        return []

    begin, end = 0, each - after
    if first and each:
        first(places(0), after if each > 1 else 0)
        begin = 1
    if end > begin + 1:
        emitter.loop(begin, end, 1, (), side_by_side)
    elif end > begin:
        side_by_side(begin, ())
    if each > max(begin, end):
        body(places(each - 1), 0)
    rest = range(each * RUNS, count)
    if rest:
        (body if each or not first else first)(rest, 0)


def calls_of(count: Ints) -> Ints:
    """How often `apart` goes over units (integers or arrays)."""
    return ceil_div(count, RUNS)
