"""The saturating matmul of u8 and s8 into s16: pairs, and the single pair."""

import dataclasses
from collections.abc import Sequence

from morello.cost.counts import OpCounts
from morello.kernels.emitter import Buffer, Emitter
from morello.kernels.predicates import PAIR, in_l1
from morello.kernels.template import Kernel
from morello.spec import Dtype, Form, Layout, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame


@dataclasses.dataclass(frozen=True)
class MatmulSaturatingScalar(Kernel):
    """out += lhs · rhs, one pair along k or a single one, in L1, in any layout."""

    def accepts(self, key: SpecKey) -> bool:
        """The saturating kind, everything in L1."""
        return key.kind == Matmul(accum=True, saturating=True) and in_l1(*key.tensors)

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """Row-major, where no loop gets down to pairs because packs cut them."""
        if not (isinstance(key.kind, Matmul) and key.kind.saturating):
            return ()
        tensor = key.tensors[operand]
        if operand not in _K or not _cuts_pairs(tensor.layout, _K[operand]):
            return ()
        return (Form(tensor.dtype, Layout.row_major(tensor.rank)),)

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """k is a pair or one; every other size is 1."""
        b, m, k, n = frame.sizes
        return (
            Condition(
                (b == 1) & (m == 1) & (n == 1) & (k <= PAIR),
                "takes one pair: tile k to 2, every other dimension to 1",
            ),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """Two elements moved; two more and a product for each k; the cut."""
        return OpCounts.of({"scalar": 4 + 2 * frame.sizes[2]})

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """The products and their sum in 32 bits, cut off, added to out."""
        lhs, rhs, out = operands
        total = emitter.constant(Dtype.S32, 0)
        for k in range(spec.sizes[2]):
            a = emitter.load_element(lhs, (0, 0, k))
            b = emitter.load_element(rhs, (0, k, 0))
            total = emitter.multiply_add(
                emitter.convert(a, lhs.tensor.dtype, Dtype.S32),
                emitter.convert(b, rhs.tensor.dtype, Dtype.S32),
                total,
            )
        low, high = -(1 << 15), (1 << 15) - 1
        total = emitter.maximum(Dtype.S32, total, emitter.constant(Dtype.S32, low))
        total = emitter.minimum(Dtype.S32, total, emitter.constant(Dtype.S32, high))
        pair = emitter.convert(total, Dtype.S32, out.tensor.dtype)
        at = (0, 0, 0)
        emitter.store_element(emitter.add(emitter.load_element(out, at), pair), out, at)


_K = {0: 2, 1: 1}
"""Where lhs and rhs have k."""


def _cuts_pairs(layout: Layout, dim: int) -> bool:
    """Whether tiles of two along a dimension are none of a layout."""
    odd_even = any(d.odd_even and d.dim == dim for d in layout.dims)
    return odd_even or (layout.pack(dim) > 1 and layout.pack(dim) % PAIR != 0)
