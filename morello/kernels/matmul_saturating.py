"""The saturating matmul of u8 and s8 into s16: pairs, and the single pair."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from morello.cost.counts import OpCounts
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.matmul_pairs import MatmulPairs, pair_forms
from morello.kernels.predicates import PAIR, in_l1
from morello.kernels.template import Kernel
from morello.spec import Dtype, Form, Layout, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame

_WIDE = 64
"""Columns of a wide panel."""


@dataclasses.dataclass(frozen=True)
class MatmulSaturatingPairs(MatmulPairs):
    """out[0,m,n] in registers += lhs[0,m,k] · rhs[0,k,n] in L1; pairs saturate to s16.

    One instruction multiplies and adds the pairs, and cuts the sums off.
    """

    kind: ClassVar[Matmul] = Matmul(accum=True, saturating=True)
    dtypes: ClassVar[tuple[Dtype, ...]] = (Dtype.U8, Dtype.S8, Dtype.S16)
    asked: ClassVar[dict[int, tuple[Form, ...]]] = pair_forms(
        Dtype.U8, Dtype.S8, (16, 32)
    )

    def product(self, emitter: Emitter, lhs: Value, rhs: Value) -> Value:
        """The products of pairs, each two added and cut off."""
        return emitter.multiply_pairs_saturating(lhs, rhs)


@dataclasses.dataclass(frozen=True)
class MatmulSaturatingPairsWide(MatmulSaturatingPairs):
    """`matmul_saturating_pairs` in panels of 64 columns: few pairs of lhs to spread.

    For cores that spread a pair of bytes on a port that sums want: tiles of 2x64 take
    18 instructions on three ports for 8 vectors of products, those of 6x32 30 for 12.
    """

    asked: ClassVar[dict[int, tuple[Form, ...]]] = pair_forms(
        Dtype.U8, Dtype.S8, (_WIDE,)
    )

    def accepts(self, key: SpecKey) -> bool:
        """The same, of panels so wide."""
        return super().accepts(key) and key.tensors[1].layout.pack(2) == _WIDE


@dataclasses.dataclass(frozen=True)
class MatmulSaturatingScalar(Kernel):
    """out += lhs · rhs, one pair along k or a single one, in L1, in any layout."""

    def accepts(self, key: SpecKey) -> bool:
        """The saturating kind, everything in L1."""
        return key.kind == MatmulSaturatingPairs.kind and in_l1(*key.tensors)

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
