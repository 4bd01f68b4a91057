"""Matmul of bytes on registers: quads, where no pair of them leaves 16 bits."""

import dataclasses
from typing import ClassVar

from morello.cost.counts import OpCounts, Phase
from morello.kernels.emitter import Emitter, Value
from morello.kernels.matmul_pairs import MatmulPairs, takes_lhs
from morello.kernels.predicates import QUAD
from morello.kernels.template import asks
from morello.kernels.vectors import vectors_of
from morello.spec import Dtype, Form, Layout, SpecKey
from morello.spec.frame import Frame


@dataclasses.dataclass(frozen=True)
class MatmulQuads(MatmulPairs):
    """out[0,m,n] in registers += lhs[0,m,k] · rhs[0,k,n] in L1, of u8 and s7 into s32.

    One instruction multiplies 32 bytes and adds pairs in 16 bits: with a factor from
    -64 to 63 they are at most 2 · 255 · 64 = 32640, and nothing is cut off. Another
    adds each two of them in 32 bits, where sums wrap as the Spec has it. The last of a
    number of k that is no multiple of 4 is filled with zeros.
    """

    dtypes: ClassVar[tuple[Dtype, ...]] = (Dtype.U8, Dtype.S7, Dtype.S32)
    group: ClassVar[int] = QUAD
    beside: ClassVar[int] = 3
    """A quad of lhs, a product, and the ones that pairs are multiplied by."""
    asked: ClassVar[dict[int, tuple[Form, ...]]] = {
        1: (Form(Dtype.S7, Layout.parse(f"[0,2,1,2p16,1p{QUAD}]")),)
    }

    def op_counts(self, frame: Frame) -> OpCounts:
        """For each quad two instructions of the multipliers, a sum, and loads."""
        _, m, k, n = frame.sizes
        vectors = vectors_of(n, self.isa.lanes(self.dtypes[2]))
        step = Phase(
            {
                "fma": 2 * m * vectors,
                "vector_op": m * vectors,
                "load": m + vectors,
            },
            {"multiply_add_int": 1},
            times=(k + QUAD - 1) // QUAD,
        )
        return OpCounts((step,), kernels=1)

    def rows_beside(self, vectors: int) -> int:
        """Two of one vector: a sum after each product takes a multiplier's port."""
        return 2 if vectors == 1 else 1

    def product(self, emitter: Emitter, lhs: Value, rhs: Value) -> Value:
        """Pairs, added in 16 bits, and each two of them in 32."""
        pairs = emitter.multiply_pairs_saturating(lhs, rhs)
        ones = emitter.constant(Dtype.S16, 1, self.isa.lanes(Dtype.S16))
        return emitter.multiply_pairs(pairs, ones)

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """Panels of quads, where the other operands are what it takes."""
        lhs, _, out = key.tensors if self._computes(key) else (None, None, None)
        if lhs is None or out is None or (lhs.dtype, out.dtype) != self.dtypes[::2]:
            return ()
        if not takes_lhs(lhs.layout, QUAD):
            return ()
        return asks(key, operand, self.asked)
