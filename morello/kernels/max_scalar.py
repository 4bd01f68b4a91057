"""Max of single elements: what makes the space complete."""

import dataclasses
from collections.abc import Sequence

from morello.cost.counts import OpCounts
from morello.kernels.emitter import Buffer, Emitter
from morello.kernels.predicates import all_one, in_l1
from morello.kernels.template import Kernel
from morello.spec import Max, Spec, SpecKey
from morello.spec.frame import Condition, Frame


@dataclasses.dataclass(frozen=True)
class MaxScalar(Kernel):
    """out = max(out, src), one element each, in L1, in any layout."""

    def accepts(self, key: SpecKey) -> bool:
        """f32 or s32, everything in L1."""
        return key.kind == Max(accum=True) and in_l1(*key.tensors)

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Every size is 1."""
        return (all_one(frame),)

    def op_counts(self, frame: Frame) -> OpCounts:
        """Three elements moved or computed."""
        return OpCounts.of({"scalar": 3})

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Load two, compare, store one."""
        src, out = operands
        new = emitter.load_element(src, (0, 0))
        held = emitter.load_element(out, (0,))
        best = emitter.maximum(out.tensor.dtype, held, new)
        emitter.store_element(best, out, (0,))
