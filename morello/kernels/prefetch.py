"""Lines of some rows that are asked for a little before they are read.

Rows that are read side by side go on along themselves: each asks for its own line some
way ahead, and at its end for the first ones of the row that comes in its place. So few
lines are on their way that they stay where they come to, and no row begins by waiting.
"""

import dataclasses
from collections.abc import Callable, Sequence

from morello.kernels.emitter import Emitter, Value
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.layout import LINE_BYTES, ceil_div

ROWS = 4
"""Rows that are read side by side: each asks for a line further ahead than each of 8
would, and begins less often."""

Ask = Callable[[Value], None]
"""Asks for what belongs to a place along the rows."""

Part = tuple[int, int, Ask | None]
"""Where a loop along the rows begins and ends, and what it asks for."""


@dataclasses.dataclass(frozen=True)
class Ahead:
    """How far ahead of what is read lines are asked for, and where they come to."""

    lines: int
    """Of all rows together, from what is read to what is asked for."""
    to_l1: bool
    """Whether they come to L1, or to L2."""

    def elements(self, rows: Ints, itemsize: int, step: Ints) -> Ints:
        """Elements of each of some rows from what is read to what is asked for.

        Args:
            rows: how many are read side by side.
            itemsize: bytes of an element.
            step: elements of a trip along the rows: what is asked for is whole trips.
        """
        return ceil_div(self.lines // rows * LINE_BYTES // itemsize, step) * step


AHEAD = Ahead(lines=128, to_l1=True)
"""Of a Golden Cove, which has 48 lines on their way from beyond L2 at a time
(docs/internals/kernels.md)."""


def long_rows(frame: Frame, dim: int, ahead: Ints) -> Condition:
    """That rows along a dimension are twice as long as what is asked for ahead."""
    name = frame.key.kind.dims[dim]
    return Condition(
        frame.sizes[dim] >= 2 * ahead,
        f"takes rows twice as long as what is asked for ahead: do not split {name}, or "
        "use the kernel that asks for other rows",
    )


def along(
    emitter: Emitter,
    step: int,
    ahead: int,
    following: int,
    length: int,
    ask: Callable[[int, Value], None],
) -> list[Part]:
    """Parts of a loop along rows, of which the last asks for the rows that come next.

    Args:
        emitter: where they are written.
        step: elements of a trip.
        ahead: `Ahead.elements` of them; of shorter rows half of a row is, if it has a
            trip.
        following: how many rows after those that are read the next ones are; 0 if
            there are none.
        length: elements along the rows, whole trips.
        ask: asks for the places of a trip in rows so many after those that are read.
    """
    ahead = min(ahead, length // 2 // step * step)
    if not ahead:
        return [(0, length, None)]
    split = length - ahead

    def mine(start: Value) -> None:
        ask(0, emitter.offset(start, ahead))

    def others(start: Value) -> None:
        ask(following, emitter.offset(start, -split))

    return [(0, split, mine), (split, length, others if following else None)]


def over(
    emitter: Emitter,
    step: int,
    parts: Sequence[Part],
    carried: Sequence[Value],
    body: Callable[[Value, Sequence[Value], Ask | None], Sequence[Value]],
) -> Sequence[Value]:
    """Loops over parts, by ``step``: the last values carried.

    ``body`` is given a place, the values, and what asks for others.
    """
    for begin, end, ask in parts:

        def trip(
            start: Value, values: tuple[Value, ...], ask: Ask | None = ask
        ) -> Sequence[Value]:
            return body(start, values, ask)

        if end > begin + step:
            carried = emitter.loop(begin, end, step, carried, trip)
        elif end > begin:
            carried = trip(begin, tuple(carried))
    return carried
