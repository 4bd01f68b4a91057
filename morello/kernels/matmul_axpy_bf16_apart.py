"""Matmul of one row with narrow panels of bf16, several of which are read at a time."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from morello.kernels.apart import apart, calls_of
from morello.kernels.axpy_columns import Columns, HalvesColumns
from morello.kernels.base import Kernel
from morello.kernels.emitter import Buffer, Emitter, Pack, Value
from morello.kernels.rules import in_l1, line_cost, size_is_one, slowest
from morello.kernels.rules import within_pack as packs
from morello.kernels.vectors import REGISTERS, as_ints, lanes_of, vectors_of
from morello.spec import Dtype, Form, Layout, Level, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.targets.coefficients import Coefficients

COLUMNS = 16
"""Columns of a panel of rhs: a register."""

PANEL = Layout.parse(f"[0,2,1,2p{COLUMNS}]")

_FORMS = {
    0: Form(Dtype.F32, Layout.row_major(3)),
    1: Form(Dtype.BF16, PANEL),
}


@dataclasses.dataclass(frozen=True)
class MatmulAxpyBf16Apart(Kernel):
    """out[0,0,n] = or += lhs[0,0,k] · rhs[0,k,n], in f32, of rhs in panels of bf16.

    Five panels at a time that are far from each other, each from end to end.
    """

    name: ClassVar[str] = "matmul_axpy_bf16_apart"

    def accepts(self, key: SpecKey) -> bool:
        """bf16 or f32 times panels of 16 that are not known to be in a cache."""
        if not isinstance(key.kind, Matmul):
            return False
        lhs, rhs, out = key.tensors
        return (
            rhs.dtype is Dtype.BF16
            and rhs.layout == PANEL
            and rhs.level is Level.GL
            and in_l1(lhs)
            and lhs.layout.pack(2) == 1
            and out.dtype is Dtype.F32
            and out.level is not Level.VRF
            and out.layout.innermost == 2
            and not out.layout.is_packed
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """One row, all registers."""
        return (
            size_is_one(frame, 0),
            size_is_one(frame, 1),
            *packs(frame, 0, 1),
            Condition(frame.limits.vrf >= REGISTERS, "needs all registers"),
        )

    def cost(self, frame: Frame, coefficients: Coefficients) -> Ints:
        """The slowest of instructions, chains and lines."""
        c = coefficients
        _, _, k, n = frame.sizes
        lhs, rhs, out = frame.key.tensors
        vectors = vectors_of(n, lanes_of(Dtype.F32))
        calls = calls_of(vectors_of(n, COLUMNS))
        exchanges = 2 if frame.key.kind.accumulates or out.level is Level.GL else 1
        loop = slowest(
            (c.fma + c.vector_op) * k * vectors,
            calls * (k + 4) * c.fma_latency,
            rhs.lines((1, k, n)) * line_cost(rhs.level, c),
            exchanges * out.lines((1, 1, n)) * line_cost(out.level, c),
        )
        ends = vectors * (2 * c.shuffle + c.vector_op + c.load + c.store)
        narrow = 2 * c.vector_op if lhs.dtype is Dtype.BF16 else 0
        factors = k * (c.load + narrow)
        return as_ints(
            c.kernel_setup + c.run + loop + ends + calls * (factors + c.loop_setup)
        )

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """A loop over panels; the columns of one that is not full as they are."""
        halves = HalvesColumns(emitter, spec, operands)
        whole, rest = divmod(spec.sizes[3], COLUMNS)

        def panels(numbers: Sequence[Value]) -> None:
            halves.beside([(Pack(number, COLUMNS), COLUMNS) for number in numbers])

        apart(emitter, whole, panels)
        if rest:
            Columns(emitter, spec, operands).once(Pack(whole, COLUMNS), rest)

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """lhs in f32, and panels of rhs, where rhs is in bf16."""
        if not isinstance(key.kind, Matmul) or operand not in _FORMS:
            return ()
        _, rhs, out = key.tensors
        if rhs.dtype is not Dtype.BF16 or out.dtype is not Dtype.F32:
            return ()
        return (_FORMS[operand],)
