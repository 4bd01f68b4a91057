"""Matmul: out[b,m,n] = sum over k of lhs[b,m,k] * rhs[b,k,n], or added to out."""

import dataclasses
from typing import Any, ClassVar

import numpy as np

from morello.errors import SpecError
from morello.spec.elements.dtypes import FLOAT_NAMES, Dtype
from morello.spec.elements.operations import Elements
from morello.spec.index_map import plain
from morello.spec.kind import Array, Arrays, Dtypes, Kind, Sizes
from morello.spec.operand import Operand

_OUTPUTS = (Dtype.F32, Dtype.S16, Dtype.S32)

_SATURATING = (Dtype.U8, Dtype.S8, Dtype.S16)

_OPERANDS = {
    accum: (
        Operand("lhs", plain(0, 1, 2), is_read=True, is_written=False),
        Operand("rhs", plain(0, 2, 3), is_read=True, is_written=False),
        Operand("out", plain(0, 1, 3), is_read=accum, is_written=True),
    )
    for accum in (False, True)
}


@dataclasses.dataclass(frozen=True, order=True)
class Matmul(Kind):
    """Batched matrix multiplication over the dimensions (b, m, k, n).

    Integers wrap around at the width of the output: the exact result modulo 2^bits. A
    saturating product of u8 and s8 into s16 is another: k is taken in pairs 0 and 1, 2
    and 3, …; the two products of a pair are added and cut off at -32768 and 32767 (an
    odd k leaves one product, which fits); the pairs are added up modulo 2^16, so their
    order means nothing.

    A flushing product of floats may take denormals for zero, in factors and in sums,
    and a sum that is zero may have either sign; of other numbers it is the same
    product.
    """

    name: ClassVar[str] = "matmul"
    example: ClassVar[str] = "matmul:6x4x16:f32"
    optional_dims: ClassVar[int] = 1
    accum: bool = False
    """Whether the product is added to what the output holds."""
    saturating: bool = dataclasses.field(default=False, metadata={"optional": True})
    """Whether pairs of products saturate, as the instruction ``vpmaddubsw`` has it."""
    flushing: bool = dataclasses.field(default=False, metadata={"optional": True})
    """Whether denormals may count as zero, as the instructions ``vdpbf16ps`` and
    ``tdpbf16ps`` have it."""

    dims = ("b", "m", "k", "n")
    """Names of the dimensions: batch, rows, inner dimension, columns."""

    @property
    def operands(self) -> tuple[Operand, ...]:
        """lhs [b,m,k], rhs [b,k,n], out [b,m,n]."""
        return _OPERANDS[self.accum]

    @property
    def wraps(self) -> bool:
        """Integers do, unless pairs of them saturate."""
        return not self.saturating

    def grain(self, dim: int) -> int:
        """Pairs that saturate are not cut."""
        return 2 if self.saturating and self.dims[dim] == "k" else 1

    def check_dtypes(self, dtypes: tuple[Dtype, ...]) -> None:
        """Factors no wider than the output, f32, s16 or s32; integers of at most 16
        bits may be factors of f32."""
        if self.saturating and dtypes != _SATURATING:
            raise SpecError(
                f"{self.label} has no saturating product {','.join(map(str, dtypes))}",
                f"saturating=true goes with {','.join(map(str, _SATURATING))} alone",
            )
        *factors, out = dtypes
        if self.flushing and not out.is_float:
            raise SpecError(
                f"{self.label} has no flushing product {','.join(map(str, dtypes))}",
                "flushing=true goes with floats: bf16,bf16,f32",
            )
        legal = out in _OUTPUTS and all(
            dtype.widens_to(out)
            if dtype.is_float is not out.is_float
            else dtype.itemsize <= out.itemsize
            for dtype in factors
        )
        if not legal:
            raise SpecError(
                f"{self.label} has no product {','.join(map(str, dtypes))}",
                f"use factors of {FLOAT_NAMES} with an output of f32, or integers no "
                "wider than an output of s32 or s16, or of at most 16 bits and f32: "
                "bf16,bf16,f32; u8,s8,s32; f32,s8,f32",
            )

    def as_flushing(self, dtypes: tuple[Dtype, ...]) -> Kind:
        """`Kind.as_flushing`."""
        *factors, out = dtypes
        is_narrow = all(d.is_upper_half for d in factors) and out is Dtype.F32
        return dataclasses.replace(self, flushing=True) if is_narrow else self

    def flops(self, sizes: tuple[int, ...]) -> int:
        """A multiplication and an addition for each (b, m, k, n)."""
        b, m, k, n = sizes
        return 2 * b * m * k * n

    def evaluate(self, sizes: Sizes, dtypes: Dtypes, arrays: Arrays) -> Array:
        """The product in f64 or wrapping int64, rounded once to the output's dtype."""
        if self.saturating:
            return _saturating_sum(arrays)
        wide = np.float64 if dtypes[2].is_float else np.int64
        with np.errstate(all="ignore"):
            lhs, rhs = (d.values(a) for d, a in zip(dtypes[:2], arrays, strict=False))
            total = np.matmul(lhs.astype(wide), rhs.astype(wide))
            if self.accum:
                total = total + arrays[2].astype(wide)
            out: Array = total.astype(dtypes[2].numpy)
        return out

    def element(self, elements: Elements, dtypes: tuple[Dtype, ...]) -> Any:
        """lhs · rhs + out, or of a pair, saturated."""
        if self.saturating:
            return self._saturating_element(elements, dtypes)
        a, b, c = (
            elements.convert(elements.read(operand), dtype, dtypes[2])
            for operand, dtype in enumerate(dtypes)
        )
        return elements.multiply_add(a, b, c)

    def _saturating_element(self, e: Elements, dtypes: tuple[Dtype, ...]) -> Any:
        """The products and their sum in 32 bits, saturated to 16, added to out."""
        wide = Dtype.S32
        total = e.constant(wide, 0)
        for step in range(e.steps):
            a, b = e.read(0, step), e.read(1, step)
            a, b = e.convert(a, dtypes[0], wide), e.convert(b, dtypes[1], wide)
            total = e.multiply_add(a, b, total)
        total = e.maximum(wide, total, e.constant(wide, -(1 << 15)))
        total = e.minimum(wide, total, e.constant(wide, (1 << 15) - 1))
        pair = e.convert(total, wide, dtypes[2])
        return e.add(e.read(2), pair)


def _saturating_sum(arrays: tuple[Array, ...]) -> Array:
    """Pair by pair, each an outer product for every b."""
    lhs, rhs = (a.astype(np.int32) for a in arrays[:2])
    total = np.zeros((*lhs.shape[:2], rhs.shape[2]), np.int32)
    if len(arrays) > 2:
        total += arrays[2]
    for k in range(0, lhs.shape[2], 2):
        pair = np.matmul(lhs[:, :, k : k + 2], rhs[:, k : k + 2])
        total += np.clip(pair, -(1 << 15), (1 << 15) - 1)
    return total.astype(np.int16)
