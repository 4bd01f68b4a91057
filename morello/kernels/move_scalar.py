"""Move of one element, between any layouts and dtypes."""

import dataclasses
from collections.abc import Sequence

from morello.cost.counts import OpCounts
from morello.kernels.emitter import Buffer, Emitter
from morello.kernels.predicates import all_one, in_l1
from morello.kernels.template import Kernel
from morello.spec import Move, Spec, SpecKey
from morello.spec.frame import Condition, Frame


@dataclasses.dataclass(frozen=True)
class MoveScalar(Kernel):
    """dst = src, one element, in L1."""

    def accepts(self, key: SpecKey) -> bool:
        """Both in L1; any dtypes, any layouts."""
        return isinstance(key.kind, Move) and in_l1(*key.tensors)

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Every size is 1."""
        return (all_one(frame),)

    def op_counts(self, frame: Frame) -> OpCounts:
        """One element moved."""
        return OpCounts.of({"scalar": 1})

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Load, cast, store."""
        src, dst = operands
        at = (0,) * len(spec.sizes)
        element = emitter.load_element(src, at)
        element = emitter.convert(element, src.tensor.dtype, dst.tensor.dtype)
        emitter.store_element(element, dst, at)
