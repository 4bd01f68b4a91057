"""Element row of GEMV for upper halves of f32: `Halves`."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from morello.cost.counts import OpCounts, Ops
from morello.kernels.code.deinterleave import deinterleave, interleave
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.gemv.elements import Dtypes, Element, Whole
from morello.spec import Dtype
from morello.spec.frame import Frame, Ints
from morello.spec.tensors.layout import ceil_div


@dataclasses.dataclass(frozen=True)
class Halves(Element):
    """Upper halves of f32: even and odd ones are widened by a shift and a mask.

    That is cheaper than to widen them in their order. Sums are of even columns and of
    odd ones, from zero on: when they are put together again they are added to out.
    """

    parts: ClassVar[int] = 2
    vectors: ClassVar[int] = 2
    working: ClassVar[int] = 4
    many: ClassVar[dict[int, tuple[int, ...]]] = {16: (0, 4, 2), 32: (0, 8, 8, 6, 4)}

    mixes = tuple((lhs, Dtype.BF16, Dtype.F32) for lhs in (Dtype.F32, Dtype.BF16))

    def widens(self, dtypes: Dtypes) -> bool:
        """Whether lhs is converted to f32 before the product, which is faster then."""
        return tuple(dtypes[1:]) == (Dtype.BF16, Dtype.F32)

    def takes(self, dtypes: Dtypes) -> bool:
        """An upper half times another, or f32."""
        halves = [dtype.is_upper_half for dtype in dtypes[:2]]
        fits = all(d.is_upper_half or d is Dtype.F32 for d in dtypes[:2])
        return dtypes[2] is Dtype.F32 and any(halves) and fits

    @property
    def unit(self) -> int:
        """Elements of rhs in one vector register."""
        return self.isa.lanes(Dtype.BF16)

    @property
    def end(self) -> int:
        """A vector of sums: fewer elements are widened in their order."""
        return self.lanes

    @property
    def tail(self) -> Element:
        """Elements widened in their order."""
        return Whole(self.isa)

    def read(
        self, emitter: Emitter, rhs: Buffer, row: Value, start: Value, count: int
    ) -> tuple[Value, ...]:
        """Load one register of rhs."""
        return (emitter.load(rhs, (0, row, start), self.unit),)

    def widen(self, emitter: Emitter, loaded: Sequence[Value]) -> Sequence[Value]:
        """Even and odd columns."""
        return emitter.split_bf16(loaded[0])

    def ordered(self, emitter: Emitter, sums: Sequence[Value]) -> Sequence[Value]:
        """Even and odd columns in turns."""
        return interleave(emitter, *sums)

    def along(
        self, emitter: Emitter, buffer: Buffer, index: tuple[Value, ...], count: int
    ) -> tuple[Value, ...]:
        """Even and odd elements; fewer than a run in their order."""
        if count < self.run:
            return super().along(emitter, buffer, index, count)
        if buffer.tensor.dtype.is_upper_half:
            return emitter.split_bf16(emitter.load(buffer, index, self.run))
        along = buffer.tensor.layout.innermost
        second = emitter.offset(index[along], self.lanes)
        next_index = (*index[:along], second, *index[along + 1 :])
        return deinterleave(
            emitter,
            emitter.load(buffer, index, self.lanes),
            emitter.load(buffer, next_index, self.lanes),
        )

    def widening_ops(self, dtypes: Dtypes, operand: int) -> Ops:
        """A shift and a mask of halves, shuffles of others."""
        return {"vector_op": 2} if dtypes[operand].is_upper_half else {"shuffle": 4}

    ends: ClassVar[Ops] = {"shuffle": 2, "vector_op": 1, "load": 1, "store": 1}
    """Halves are put together and added to out in each pass."""

    def widening_of_sums(self, frame: Frame, vectors: Ints) -> Ops:
        """A shift or a mask."""
        return {"vector_op": vectors}

    def widening_of_lhs(self, frame: Frame, count: Ints) -> Ops:
        """Two instructions for a half."""
        return {"vector_op": 2 * count * frame.key.dtypes[0].is_upper_half}

    def counts(self, frame: Frame, streams: int, ahead: bool) -> OpCounts:
        """All columns in passes over out; those of a panel in one."""
        k = frame.sizes[2]
        packed = frame.key.tensors[1].layout.is_packed
        passes = 1 if packed else ceil_div(k, streams)
        phases = self.phases(frame, passes, k + 4 * passes, 1, ahead)
        return OpCounts(phases, kernels=1, loops=passes)
