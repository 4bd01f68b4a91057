"""Whether all elements of an operand are in the range of a smaller dtype.

This is no kernel: its result is a truth value, which a program branches on.
"""

import dataclasses
import functools
from collections.abc import Sequence

from morello.cost.counts import OpCounts, Phase
from morello.kernels.code.vectors import overlapping, overlapping_count
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.predicates import product
from morello.kernels.reduce import reduce_lanes
from morello.machine.isa import Isa
from morello.spec import Dtype, TensorSpec
from morello.spec.frame import Ints

_TOGETHER = 4
"""Vectors of a row that are looked at side by side."""


def range_check_counts(
    source: TensorSpec, sizes: tuple[Ints, ...], isa: Isa
) -> OpCounts:
    """The look at an operand whose lines are there: two operations a vector.

    Args:
        source: its form, with no packs.
        sizes: its logical sizes.
        isa: what it is written in.
    """
    inner = source.layout.innermost
    rows = product(tuple(s for d, s in enumerate(sizes) if d != inner))
    vectors = rows * overlapping_count(sizes[inner], isa.lanes(source.dtype))
    look = Phase({"load": vectors, "vector_op": 2 * vectors})
    sums = Phase({"shuffle": 6})
    return OpCounts((look, sums), kernels=1, loops=2, trips=2 * rows)


def write_range_check(emitter: Emitter, buffer: Buffer, part: Dtype) -> Value:
    """The greatest element, counted from the least one of ``part``, as a u8.

    It is below the number of values of ``part`` if all elements are of it.

    Args:
        emitter: where it is written.
        buffer: the operand, of bytes, unpacked.
        part: a dtype that has some of the values of the operand's.
    """
    look = _Look(emitter, buffer, part)
    zero = emitter.constant(Dtype.U8, 0, look.width)
    first, *others = look.rows(look.outer, {}, [zero] * look.together)
    for other in others:
        first = emitter.maximum(Dtype.U8, first, other)
    greatest = functools.partial(emitter.maximum, Dtype.U8)
    return reduce_lanes(emitter, greatest, first, look.width)


@dataclasses.dataclass(frozen=True)
class _Look:
    """The greatest elements of an operand, lane by lane, in a few vectors."""

    emitter: Emitter
    buffer: Buffer
    part: Dtype

    @property
    def inner(self) -> int:
        """The dimension along which a row lies."""
        return self.buffer.tensor.layout.innermost

    @property
    def outer(self) -> list[int]:
        """The dimensions other than the row's, outermost first."""
        return [d.dim for d in self.buffer.tensor.layout.dims if d.dim != self.inner]

    @property
    def runs(self) -> list[tuple[int, int]]:
        """The vectors of a row; the last may overlap the one before."""
        lanes = self.emitter.isa.lanes(self.buffer.tensor.dtype)
        return overlapping(self.buffer.sizes[self.inner], lanes)

    @property
    def width(self) -> int:
        """Elements of each."""
        return self.runs[0][1]

    @property
    def together(self) -> int:
        """Number of vectors that are checked side by side."""
        return min(len(self.runs), _TOGETHER)

    def rows(
        self, dims: list[int], index: dict[int, Value], extremes: Sequence[Value]
    ) -> Sequence[Value]:
        """The greatest of all rows along some dimensions, and of ``extremes``."""
        if not dims:
            return self._row(index, extremes)
        dim, *rest = dims
        size = self.buffer.sizes[dim]
        if size == 1:
            return self.rows(rest, {**index, dim: 0}, extremes)

        def below(at: Value, carried: tuple[Value, ...]) -> Sequence[Value]:
            return self.rows(rest, {**index, dim: at}, carried)

        return self.emitter.loop(0, size, 1, tuple(extremes), below)

    def _row(
        self, index: dict[int, Value], greatest: Sequence[Value]
    ) -> Sequence[Value]:
        starts = [start for start, _ in self.runs]
        size, step = self.buffer.sizes[self.inner], self.together * self.width
        whole = size // step * step
        if whole > step:

            def group(at: Value, carried: tuple[Value, ...]) -> list[Value]:
                offsets = range(0, step, self.width)
                places = [self.emitter.offset(at, by) for by in offsets]
                return self._greatest(index, places, carried)

            greatest = self.emitter.loop(0, whole, step, tuple(greatest), group)
            starts = [start for start in starts if start + self.width > whole]
        for first in range(0, len(starts), self.together):
            places = starts[first : first + self.together]
            greatest = self._greatest(index, places, greatest)
        return greatest

    def _greatest(
        self,
        index: dict[int, Value],
        starts: Sequence[Value],
        extremes: Sequence[Value],
    ) -> list[Value]:
        least = self.emitter.constant(Dtype.U8, -int(self.part.lowest), self.width)
        after = list(extremes)
        for place, start in enumerate(starts):
            at = {**index, self.inner: start}
            where = tuple(at[dim] for dim in sorted(at))
            vector = self.emitter.load(self.buffer, where, self.width)
            raised = self.emitter.add(vector, least)
            after[place] = self.emitter.maximum(Dtype.U8, after[place], raised)
        return after
