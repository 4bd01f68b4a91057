"""Element rows of what instructions widen to f32 in its order: narrow floats, bytes."""

import dataclasses
from typing import ClassVar

from morello.cost.counts import Op, Ops, Phase, add, times
from morello.kernels.code.casts import cast_ops
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.gemv.elements import Dtypes, Whole
from morello.spec import Dtype
from morello.spec.elements.dtypes import NARROW_FLOATS
from morello.spec.frame import Frame, Ints


@dataclasses.dataclass(frozen=True)
class Narrow(Whole):
    """Narrow floats of 16 bits, such as f16: each vector of sums is widened from half
    a register, on its way from memory."""

    narrow: ClassVar[tuple[Dtype, ...]] = tuple(
        d for d in NARROW_FLOATS if not d.is_upper_half
    )
    """The dtypes that are widened."""
    vectors: ClassVar[int] = 2
    working: ClassVar[int] = 2
    many: ClassVar[dict[int, tuple[int, ...]]] = {16: (0, 4, 2), 32: (0, 8, 8, 6, 4)}

    @property
    def mixes(self) -> tuple[tuple[Dtype, ...], ...]:
        """f32 or the narrow dtype times the narrow dtype."""
        return tuple((a, d, Dtype.F32) for d in self.narrow for a in (Dtype.F32, d))

    def takes(self, dtypes: Dtypes) -> bool:
        """A narrow dtype times another, or f32, on either side."""
        factors = (Dtype.F32, *self.narrow)
        narrow = any(d in self.narrow for d in dtypes[:2])
        return (
            dtypes[2] is Dtype.F32 and narrow and all(d in factors for d in dtypes[:2])
        )

    def widens(self, dtypes: Dtypes) -> bool:
        """Whether lhs is converted to f32 before the product: faster where rhs is
        narrow."""
        return dtypes[1] in self.narrow

    @property
    def units(self) -> int:
        """Units of a step: a line of rhs."""
        return 2 * self.isa.line_vectors

    @property
    def run(self) -> int:
        """Two vectors of sums."""
        return 2 * self.lanes

    @property
    def end(self) -> int:
        """A vector of sums."""
        return self.lanes

    def sum_of(self, buffer: Buffer) -> Dtype:
        """The dtype that elements of an operand are multiplied and added in: f32."""
        return Dtype.F32

    def read(
        self, emitter: Emitter, rhs: Buffer, row: Value, start: Value, count: int
    ) -> tuple[Value, ...]:
        """A vector of columns, widened."""
        return super().along(emitter, rhs, (0, row, start), count)

    def along(
        self, emitter: Emitter, buffer: Buffer, index: tuple[Value, ...], count: int
    ) -> tuple[Value, ...]:
        """Two vectors, or the end of a row, widened."""
        if count < self.run:
            return super().along(emitter, buffer, index, count)
        place = buffer.tensor.layout.innermost
        second = emitter.offset(index[place], self.lanes)
        behind = (*index[:place], second, *index[place + 1 :])
        return (
            *super().along(emitter, buffer, index, self.lanes),
            *super().along(emitter, buffer, behind, self.lanes),
        )

    def widening_ops(self, dtypes: Dtypes, operand: int) -> Ops:
        """The second load of a register, and its two conversions."""
        if dtypes[operand] not in self.narrow:
            return {}
        return add({"load": 1}, times(cast_ops((dtypes[operand], Dtype.F32)), 2))

    def widening_of_sums(self, frame: Frame, vectors: Ints) -> Ops:
        """A conversion each."""
        return times(cast_ops((frame.key.dtypes[1], Dtype.F32)), vectors)

    def passes_of(
        self, frame: Frame, columns: Ints, streams: int, ahead: bool
    ) -> tuple[Phase, ...]:
        """The phases of passes, and of factors that are widened."""
        phases = super().passes_of(frame, columns, streams, ahead)
        return (*phases, *self._factors(frame, columns // self.step))

    def once_of(self, frame: Frame, columns: Ints, ahead: bool) -> tuple[Phase, ...]:
        """The phases of columns once, and of factors that are widened."""
        return (*super().once_of(frame, columns, ahead), *self._factors(frame, 1))

    def _factors(self, frame: Frame, steps: Ints) -> tuple[Phase, ...]:
        """The factors, which are widened for each step where there are several rows."""
        lhs = frame.key.dtypes[0]
        if lhs not in self.narrow:
            return ()
        _, m, k, _ = frame.sizes
        often: Ints = m * k * (1 + (m > 1) * (steps - 1))
        ops: dict[Op, Ints] = dict(cast_ops((lhs, Dtype.F32)))
        return (Phase(times(ops, often)),)


@dataclasses.dataclass(frozen=True)
class NarrowIntegers(Narrow):
    """Integers of 8 bits that are multiplied with f32, as f32."""

    narrow: ClassVar[tuple[Dtype, ...]] = (Dtype.S8, Dtype.U8)
