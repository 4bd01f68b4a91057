"""Other borders between the programs of a range: `Borders`.

The search puts a border where the model's prices of two programs cross. A program takes
sizes beyond its border, too, as far as its decisions apply there.
"""

import functools

import numpy as np

from morello.actions import SizesError
from morello.errors import ScheduleError, SearchError
from morello.search.impl import Impl
from morello.search.ranges.area import Part
from morello.search.ranges.cover import Cover
from morello.search.ranges.over import Box, Over

Ends = tuple[tuple[int, int], ...]
"""For each part of a cover the first and the last size that its program takes; above
its last size the first one of a program that takes none."""


class Borders:
    """Programs of a cover on other sizes than the model gives them.

    Args:
        cover: the programs as the model chooses them, of one range.
    """

    def __init__(self, cover: Cover) -> None:
        self.cover = cover
        self.step = cover.sizes.spec.ranges[0].step
        self.ends: Ends = tuple(map(_ends, cover.parts))
        self._program = functools.cache(self._taken)

    def sizes(self, first: int, last: int) -> range:
        """The sizes of the range from one to another."""
        return range(first, last + 1, self.step)

    def reach(self, number: int, side: int) -> tuple[int, int] | None:
        """The sizes of a part with those sizes of a neighbour, next to it, which its
        program takes, too; None where there are none, or the two were searched apart.

        Args:
            number: of the part.
            side: 1 for the part after it, -1 for the one before.
        """
        part, other = self.cover.parts[number], self.cover.parts[number + side]
        tables = self.cover.sizes.tables
        if tables[part.box.last] is not tables[other.box.last]:
            return None
        ends, beside = _ends(part), _ends(other)
        first, last = min(ends[0], beside[0]), max(ends[1], beside[1])
        while (first, last) != ends:
            try:
                self._program(number, first, last)
            except SizesError as error:
                nearer = self._within(part, first, last, error)
                if nearer == (first, last):
                    return None
                first, last = nearer
            except (ScheduleError, SearchError):
                return None
            else:
                return first, last
        return None

    def _within(
        self, part: Part, first: int, last: int, error: SizesError
    ) -> tuple[int, int]:
        """The sizes around a part, of some, to which its program applies."""
        sizes = np.array(self.sizes(first, last))
        if len(error.holds) != len(sizes):  # of what remains of a loop
            return first, last
        wrong, ends = sizes[~np.asarray(error.holds, bool)], _ends(part)
        above, below = wrong[wrong > ends[1]], wrong[wrong < ends[0]]
        start = int(below[-1]) + self.step if len(below) else first
        return start, int(above[0]) - self.step if len(above) else last

    def _taken(self, number: int, first: int, last: int) -> Impl:
        """The program of a part on some sizes.

        Raises:
            ScheduleError, SearchError: it does not apply to all of them.
        """
        part = self.cover.parts[number]
        over = Over(self.cover.sizes.tables[part.box.last])
        spec = self.cover.sizes.spec.part((first,), (last,))
        return over.program(part.impl, spec, over.tables.root)

    def costs(self, number: int, first: int, last: int) -> list[float]:
        """The model's cost of a part's program at each of some sizes."""
        part = self.cover.parts[number]
        over = Over(self.cover.sizes.tables[part.box.last])
        spec = self.cover.sizes.spec.part((first,), (last,))
        return list(map(float, over.costs(self._program(number, first, last), spec)))

    def joined(self, ends: Ends) -> Impl:
        """One program of all sizes, each by the program that ``ends`` gives it.

        Raises:
            ScheduleError, SearchError: a program does not apply to all of its sizes.
        """
        parts = [
            (Box((first,), (last,)), self._program(number, first, last))
            for number, (first, last) in enumerate(ends)
            if first <= last
        ]
        return self.cover.switched(parts)

    def with_reach(self, ends: Ends, number: int, sizes: tuple[int, int]) -> Ends:
        """Ends of which one program takes some sizes, and its neighbours fewer."""
        first, last = sizes
        new = list(ends)
        new[number] = sizes
        for other, (start, stop) in enumerate(ends[:number]):
            new[other] = start, min(stop, first - self.step)
        for other, (start, stop) in enumerate(ends[number + 1 :], number + 1):
            new[other] = max(start, last + self.step), stop
        return tuple(new)


def _ends(part: Part) -> tuple[int, int]:
    """The first and the last size of a part of a range."""
    return part.box.first[0], part.box.last[0]


def taker(ends: Ends, size: int) -> int:
    """The number of the part whose program takes a size."""
    return next(i for i, (first, last) in enumerate(ends) if first <= size <= last)
