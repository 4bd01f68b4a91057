"""Units of an operand far from each other, which a kernel takes side by side.

One run of memory that is read from end to end keeps too few lines on their way: what
fetches lines by itself stops at pages of 4 KiB, and has learned each page anew. Runs
that go on from unit to unit at several far places are fetched beside each other.
"""

from collections.abc import Callable, Sequence

from morello.kernels.emitter import Emitter, Value
from morello.spec.frame import Ints
from morello.spec.layout import ceil_div

RUNS = 5
"""Runs that are read side by side. From memory a Zen 3 reads one with 0.75 of the
bandwidth that four to eight have; of five, places are hardly ever a power of two apart.
"""


def apart(
    emitter: Emitter,
    count: int,
    body: Callable[[Sequence[Value]], None],
    first: Callable[[Sequence[Value]], None] | None = None,
) -> None:
    """Call ``body`` with the numbers of `RUNS` units at a time, then with those left.

    Of ``count`` units; each is in one call, in a loop or after it. ``first`` is called
    instead the first time, if it is given.
    """
    each = count // RUNS

    def side_by_side(at: Value, carried: Sequence[Value]) -> list[Value]:
        body([emitter.offset(at, run * each) for run in range(RUNS)])
        return []

    begin = 0
    if first and each:
        first([run * each for run in range(RUNS)])
        begin = 1
    if each > begin + 1:
        emitter.loop(begin, each, 1, (), side_by_side)
    elif each > begin:
        side_by_side(begin, ())
    rest = range(each * RUNS, count)
    if rest:
        (body if each or not first else first)(rest)


def calls_of(count: Ints) -> Ints:
    """How often `apart` goes over units (integers or arrays)."""
    return ceil_div(count, RUNS)
