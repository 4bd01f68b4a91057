"""Matmul on registers: broadcast an element of lhs, multiply-add a row of rhs."""

import dataclasses
from collections.abc import Sequence

from morello.cost.counts import OpCounts
from morello.kernels.broadcast_loop import (
    BroadcastLoop,
    lies_well,
    loop_conditions,
    loop_phase,
    registers_beside,
)
from morello.kernels.emitter import Buffer, Emitter
from morello.kernels.predicates import in_l1, in_registers, is_interleaved
from morello.kernels.template import Kernel, asks
from morello.kernels.vectors import vectors_of
from morello.spec import Dtype, Form, Layout, Matmul, Spec, SpecKey, TensorSpec
from morello.spec.frame import Condition, Frame

_PANELS = {
    0: tuple(Layout.parse(f"[0,1,2,1p{rows}]") for rows in (4, 6)),
    1: tuple(Layout.parse(f"[0,2,1,2p{columns}]") for columns in (16, 24)),
}
_FLOAT_FORMS, _INTEGER_FORMS = (
    {
        operand: tuple(Form(dtype, x) for x in (Layout.row_major(3), *panels))
        for operand, panels in _PANELS.items()
    }
    for dtype in (Dtype.F32, Dtype.S32)
)


@dataclasses.dataclass(frozen=True)
class MatmulBroadcast(Kernel):
    """out[0,m,n] in registers += lhs[0,m,k] · rhs[0,k,n] in L1, over all of k.

    Each of the m · ceil(n/8) accumulators is one register for the whole loop over k.
    A width that is not a multiple of 8 reads the last columns of rhs with a mask.
    Factors that are narrower than out are cast as they are loaded.
    """

    def accepts(self, key: SpecKey) -> bool:
        """Any dtypes; k unpacked, n innermost in rhs, out in registers."""
        if not isinstance(key.kind, Matmul) or not key.kind.accum:
            return False
        lhs, rhs, out = key.tensors
        return in_l1(lhs, rhs) and in_registers(out, self.isa) and lies_well(key)

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Everything that lives in the loop has a register; panels are not crossed."""
        return (
            *loop_conditions(frame, self.isa),
            Condition(
                frame.limits.vrf >= registers_beside(frame, self.isa),
                "needs free registers for a row of rhs and a factor beside out: "
                "take fewer for out",
            ),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """The loop."""
        return OpCounts((loop_phase(frame, self.isa),), kernels=1)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """A loop over k that carries the accumulators; written out for a short one."""
        lhs, rhs, out = operands
        loop = BroadcastLoop(emitter, spec, lhs, rhs)
        vectors = vectors_of(spec.sizes[3], self.isa.lanes(spec.dtypes[2]))
        places = [(0, i, j) for i in range(spec.sizes[1]) for j in range(vectors)]
        sums = loop.run([emitter.load_register(out, at) for at in places])
        for total, place in zip(sums, places, strict=True):
            emitter.store_register(total, out, place)

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """Panels: rows of lhs, columns of rhs, so that the loop reads on and on.

        Narrower floats become f32 there. Those of lhs do in plain rows too; those of
        rhs are cast as they are loaded as well as in a copy that is no better to read.
        """
        if not isinstance(key.kind, Matmul):
            return ()
        out = key.tensors[2].dtype
        if out is Dtype.F32:
            forms = asks(key, operand, _FLOAT_FORMS, _unpacked_in_k)
            narrow = operand == 1 and key.tensors[1].dtype is not out
            return tuple(f for f in forms if f.layout.is_packed or not narrow)
        if set(key.dtypes) == {Dtype.S32}:
            return asks(key, operand, _INTEGER_FORMS, _unpacked_in_k)
        return ()

    def register_operands(self, key: SpecKey) -> tuple[int, ...]:
        """out."""
        return (2,) if isinstance(key.kind, Matmul) else ()


def _unpacked_in_k(operand: int, tensor: TensorSpec) -> bool:
    layout = tensor.layout
    return layout.pack(2 - operand) == 1 and not is_interleaved(layout)
