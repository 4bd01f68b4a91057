"""Software prefetch of rows that are read, or written, side by side.

Rows that prefetch their own lines (`AlongRows`) go on along themselves: each prefetches
some way ahead of what is read, and at its end the first lines of the row that comes in
its place. So few lines are on their way that they stay where they come to, and no row
begins by waiting. `NextRows` are prefetched while the rows before them are read.
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from morello.kernels.emitter import Emitter, Value
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.tensors.layout import LINE_BYTES, ceil_div

Prefetcher = Callable[[Value], None]
"""Prefetches what belongs to a place along the rows."""

Part = tuple[int, int, Prefetcher | None]
"""The begin and the end of a loop along the rows, and what it prefetches."""


@dataclasses.dataclass(frozen=True)
class NextRows:
    """The rows that come next, where they are beyond L2: L2 has room for them."""


NEXT_ROWS = NextRows()


@dataclasses.dataclass(frozen=True)
class AlongRows:
    """Lines of the rows that are read, some way ahead."""

    lines: int
    """Lines of all rows together, from what is read to what is prefetched."""
    to_l1: bool
    """Whether they come to L1, or to L2."""

    def distance(self, rows: Ints, itemsize: int, step: Ints) -> Ints:
        """Elements of each row from what is read to what is prefetched.

        Args:
            rows: how many are read side by side.
            itemsize: bytes of an element.
            step: elements of a trip along the rows: the distance is whole trips.
        """
        return ceil_div(self.lines // rows * LINE_BYTES // itemsize, step) * step


Prefetch = NextRows | AlongRows | None
"""Lines that a kernel prefetches: of the rows to come, or of the rows that it reads."""


def long_rows(frame: Frame, dim: int, distance: Ints) -> Condition:
    """Condition that rows along a dimension span twice the prefetch distance."""
    return _rows_of(frame, dim, 2 * distance, "twice")


def halves_of_rows(frame: Frame, dim: int, distance: Ints, step: Ints) -> Condition:
    """Condition that half of a row, which is how far ahead `parts_along_rows`
    prefetches short rows, is at least a quarter of the distance and contains a trip of
    ``step`` elements."""
    return _rows_of(frame, dim, np.maximum(distance // 2, 2 * step), "half")


def _rows_of(frame: Frame, dim: int, least: Ints, times: str) -> Condition:
    name = frame.key.kind.dims[dim]
    return Condition(
        frame.sizes[dim] >= least,
        f"takes rows {times} as long as the prefetch distance: do not split {name}, or "
        "use the kernel that prefetches other rows",
    )


def parts_along_rows(
    emitter: Emitter,
    step: int,
    distance: int,
    following: int,
    length: int,
    prefetch: Callable[[int, Value], None],
) -> list[Part]:
    """Parts of a loop along rows, of which the last prefetches the rows that come next.

    Args:
        emitter: where they are written.
        step: elements of a trip.
        distance: `AlongRows.distance` of them; of shorter rows half of a row is, if it
            has a trip.
        following: how many rows after those that are read the next ones are; 0 if
            there are none.
        length: elements along the rows, whole trips.
        prefetch: prefetches the places of a trip in rows so many after those that are
            read.
    """
    distance = min(distance, length // 2 // step * step)
    if not distance:
        return [(0, length, None)]
    split = length - distance

    def mine(start: Value) -> None:
        prefetch(0, emitter.offset(start, distance))

    def others(start: Value) -> None:
        prefetch(following, emitter.offset(start, -split))

    return [(0, split, mine), (split, length, others if following else None)]


def run_parts(
    emitter: Emitter,
    step: int,
    parts: Sequence[Part],
    carried: Sequence[Value],
    body: Callable[[Value, Sequence[Value], Prefetcher | None], Sequence[Value]],
) -> Sequence[Value]:
    """Loops over parts, by ``step``: the last values carried.

    ``body`` is given a place, the values, and what prefetches others.
    """
    for begin, end, prefetch in parts:

        def trip(
            start: Value,
            values: tuple[Value, ...],
            prefetch: Prefetcher | None = prefetch,
        ) -> Sequence[Value]:
            return body(start, values, prefetch)

        if end > begin + step:
            carried = emitter.loop(begin, end, step, carried, trip)
        elif end > begin:
            carried = trip(begin, tuple(carried))
    return carried
