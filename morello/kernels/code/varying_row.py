"""Rows whose length a call says.

All rows of a run have one length. Where the last vector may have as many elements as a
call says, under a mask, there is code for each number of vectors, with the mask and for
a whole last vector, chosen before the loops over rows: it is the code of a settled
length.
"""

import dataclasses
import functools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from morello.cost.counts import OpCounts
from morello.kernels.code.vectors import tail_of, vectors_of
from morello.kernels.emitter import Case, Emitter, Value
from morello.machine.isa import Isa
from morello.spec import Dtype
from morello.spec.frame import Ints

_WRITTEN = 1024
"""Instructions in the cases of all numbers of vectors that are written out: a processor
predicts the branches of loops over them, and does not overlap their ends."""

Columns = list[tuple[Value, Value]]
"""Vectors of a row: where each begins, and how many elements it has."""

Write = Callable[[Columns, Sequence[Value]], Sequence[Value]]
"""Code of neighbouring vectors, from what is carried to what is carried on."""


@dataclasses.dataclass(frozen=True)
class VaryingRow:
    """The length of rows that a call says.

    Args:
        emitter: writes the code.
        size: the length.
        sizes: all lengths that it may be.
        lanes: elements of a vector.
        group: the most vectors side by side.
        masked: whether the last vector may have a number of elements that a call says:
            those that remain, from one to all. Else there is a case for each number.
        groups: the most groups of vectors that are written out (`groups_written`).
        last: the elements of the last vector, in a case: a number where it is whole.
        rest: the vectors after a loop over groups, the last one included, in a case.
        loops: whether there is a loop before these.
    """

    emitter: Emitter
    size: Value
    sizes: Sequence[int]
    lanes: int
    group: int = 1
    masked: bool = False
    groups: int = 1
    last: Value = None
    rest: int = 0
    loops: bool = True

    def each(
        self,
        write: Callable[["VaryingRow"], Sequence[Value]],
        like: Sequence[Value] = (),
    ) -> Sequence[Value]:
        """Run ``write`` in the case of the length.

        Args:
            write: the code of all rows.
            like: values of the types that it gives.
        """
        if not self.masked:
            return write(self)
        before, straight = self._vectors_before_last(), self.groups * self.group
        whole = self.emitter.linear([(before, self.lanes)])
        last = self.emitter.difference(self.size, whole)
        is_whole = self.emitter.quotient(last, self.lanes)

        def case(sizes: Iterable[int], rest: int, loops: bool) -> Case:
            """The code for some row lengths, which switches on whether a row is whole
            vectors."""
            row = dataclasses.replace(self, rest=rest, loops=loops)
            ends: dict[int, Case] = {}
            for whole in {int(size % self.lanes == 0) for size in sizes}:
                end = dataclasses.replace(row, last=self.lanes if whole else last)
                ends[whole] = functools.partial(write, end)
            return lambda: self.emitter.switch(is_whole, ends, like)

        by_vectors: dict[bool, defaultdict[int, set[int]]]
        by_vectors = {is_long: defaultdict(set) for is_long in (False, True)}
        for size in self.sizes:
            number = vectors_of(size, self.lanes)
            is_long = number > straight
            rest = (number - 1) % self.group if is_long else number - 1
            by_vectors[is_long][rest].add(size)
        short, long = (
            {n: case(sizes, n + 1, is_long) for n, sizes in by_vectors[is_long].items()}
            for is_long in (False, True)
        )
        groups = self.emitter.quotient(before, self.group)
        beyond = self.emitter.linear([(groups, self.group)])
        ways: dict[int, Case] = {}
        if short:
            ways[0] = lambda: self.emitter.switch(before, short, like)
        if long:
            after = self.emitter.difference(before, beyond)
            ways[1] = lambda: self.emitter.switch(after, long, like)
        is_long = self.emitter.at_most(self.emitter.quotient(before, straight), 1)
        return self.emitter.switch(is_long, ways, like)

    def run(
        self, write: Write, carried: Sequence[Value] = (), first: Write | None = None
    ) -> Sequence[Value]:
        """Run ``write`` on the vectors of a row, in a case of `each`.

        Args:
            write: takes as many vectors as a group has, or fewer.
            carried: values before the first vector.
            first: code of the first vectors, where a mask is for the last.

        Returns:
            What is carried after the last element.
        """
        if not self.masked:
            return self._in_cases(write, carried)
        start, write_first = 0, first or write
        end: Value = 0
        if self.loops:
            before = self.emitter.linear([(self._vectors_before_last(), self.lanes)])
            end = self.emitter.offset(before, -(self.rest - 1) * self.lanes)
            if first is not None:
                carried = first(self._columns(0, self.group), carried)
                start = self.group * self.lanes
            carried = self._loop(start, end, self.group, write, carried)
            write_first = write
        whole = self._columns(end, self.rest - 1)
        last = self.emitter.offset(end, (self.rest - 1) * self.lanes)
        columns = [*whole, (last, self.last)]
        for at in range(0, self.rest, self.group):
            carried = write_first(columns[at : at + self.group], carried)
            write_first = write
        return carried

    def _in_cases(self, write: Write, carried: Sequence[Value]) -> Sequence[Value]:
        """Loops over groups of vectors, over half as many and so on, then a case for
        each number of elements that remain."""
        start: Value = 0
        for half in range(self.group.bit_length()):
            count = self.group >> half
            group = count * self.lanes
            if max(self.sizes) >= group:
                groups = self.emitter.quotient(self.size, group)
                end = self.emitter.linear([(groups, group)])
                carried = self._loop(start, end, count, write, carried)
                start = end

        def rest(count: int) -> Sequence[Value]:
            return write([(start, count)], carried) if count else carried

        rests = {size % self.lanes for size in self.sizes}
        cases: dict[int, Case] = {n: functools.partial(rest, n) for n in rests}
        after = self.emitter.difference(self.size, start)
        return self.emitter.switch(after, cases, carried)

    def _loop(
        self,
        start: Value,
        end: Value,
        count: int,
        write: Write,
        carried: Sequence[Value],
    ) -> Sequence[Value]:
        """A loop over groups of ``count`` vectors."""

        def step(at: Value, carried: Sequence[Value]) -> Sequence[Value]:
            return write(self._columns(at, count), carried)

        return self.emitter.loop(start, end, count * self.lanes, carried, step)

    def _columns(self, start: Value, count: int) -> Columns:
        """Neighbouring whole vectors."""
        places = (self.emitter.offset(start, i * self.lanes) for i in range(count))
        return [(place, self.lanes) for place in places]

    def _vectors_before_last(self) -> Value:
        return self.emitter.quotient(self.emitter.offset(self.size, -1), self.lanes)


def groups_written(group: int, operations: int) -> int:
    """The most groups of vectors of a row for which there are cases without a loop.

    Args:
        group: the vectors of a group.
        operations: of each vector.
    """
    return max(1, math.isqrt(2 * _WRITTEN // max(1, operations)) // group)


def varying_counts(
    count: Ints,
    lanes: int,
    rows: Ints,
    group: int = 1,
    masked: bool = False,
    groups: int = 1,
    stores: int = 0,
) -> OpCounts:
    """The operations of rows whose length a call says, beside those of a settled one.

    Args:
        count: elements of a row.
        lanes: elements of a vector.
        rows: how many.
        group: see `VaryingRow`.
        masked: see there: then all rows share the comparisons that find their case,
            each as a trip of a loop, and else each row has its own.
        groups: see there.
        stores: those at the end of a row, each of which has a case for each number of
            elements, unless its vector is whole.
    """
    if not masked:
        each = group.bit_length() + lanes.bit_length() - 1
        return OpCounts.of({"scalar": 2 * rows * each})
    once = 2 + (groups * group - 1).bit_length()
    each = stores * (lanes.bit_length() - 1) * tail_of(count, lanes)
    return OpCounts((), kernels=0, trips=once + rows * each)


def takes_masks(isa: Isa, dtypes: Iterable[Dtype]) -> bool:
    """Whether as many elements as a call says are read by one instruction.

    Args:
        isa: the instruction set.
        dtypes: of all operands that have vectors.
    """
    return all(isa.loads_masked(dtype) for dtype in dtypes)
