"""Matmul of single elements: what makes the space complete."""

import dataclasses
from collections.abc import Sequence

from morello.cost.counts import OpCounts
from morello.kernels.emitter import Buffer, Emitter
from morello.kernels.predicates import all_one, in_l1
from morello.kernels.template import Kernel
from morello.spec import Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame


@dataclasses.dataclass(frozen=True)
class MatmulScalar(Kernel):
    """out += lhs · rhs, one element each, in L1, in any layout."""

    def accepts(self, key: SpecKey) -> bool:
        """Any dtypes, everything in L1."""
        return key.kind == Matmul(accum=True) and in_l1(*key.tensors)

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Every size is 1."""
        return (all_one(frame),)

    def op_counts(self, frame: Frame) -> OpCounts:
        """Four elements moved or computed."""
        return OpCounts.of({"scalar": 4})

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Load three, cast to the output's dtype, multiply and add, store one."""
        at = (0, 0, 0)
        dtype = operands[2].tensor.dtype
        a, b, c = (
            emitter.convert(emitter.load_element(o, at), o.tensor.dtype, dtype)
            for o in operands
        )
        emitter.store_element(emitter.multiply_add(a, b, c), operands[2], at)
