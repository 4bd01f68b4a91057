"""Matmul: out[b,m,n] = sum over k of lhs[b,m,k] * rhs[b,k,n], or added to out."""

import dataclasses
from typing import ClassVar

import numpy as np

from morello.errors import SpecError
from morello.spec.dtypes import Dtype
from morello.spec.kind import Array, Kind, Operand

_OUTPUTS = (Dtype.F32, Dtype.S16, Dtype.S32)


_OPERANDS = {
    accum: (
        Operand("lhs", (0, 1, 2), is_read=True, is_written=False),
        Operand("rhs", (0, 2, 3), is_read=True, is_written=False),
        Operand("out", (0, 1, 3), is_read=accum, is_written=True),
    )
    for accum in (False, True)
}


@dataclasses.dataclass(frozen=True, order=True)
class Matmul(Kind):
    """Batched matrix multiplication over the dimensions (b, m, k, n).

    Integers wrap around at the width of the output.
    """

    name: ClassVar[str] = "matmul"
    accum: bool = False
    """Whether the product is added to what the output holds."""

    @property
    def label(self) -> str:
        """``matmul`` or ``matmul_accum``."""
        return "matmul_accum" if self.accum else "matmul"

    @property
    def dims(self) -> tuple[str, ...]:
        """Batch, rows, inner, columns."""
        return ("b", "m", "k", "n")

    @property
    def operands(self) -> tuple[Operand, ...]:
        """lhs [b,m,k], rhs [b,k,n], out [b,m,n]."""
        return _OPERANDS[self.accum]

    @property
    def optional_dims(self) -> int:
        """The batch may be left out."""
        return 1

    @property
    def wraps(self) -> bool:
        """Integers do."""
        return True

    def check_dtypes(self, dtypes: tuple[Dtype, ...]) -> None:
        """Factors no wider than the output; floats into f32, integers into s16, s32."""
        *factors, out = dtypes
        legal = out in _OUTPUTS and all(
            dtype.is_float is out.is_float and dtype.itemsize <= out.itemsize
            for dtype in factors
        )
        if not legal:
            raise SpecError(
                f"{self.label} has no product {','.join(map(str, dtypes))}",
                "use f32 or bf16 factors with an output of f32, or integers no wider "
                "than an output of s32 or s16: bf16,bf16,f32; u8,s8,s32",
            )

    def flops(self, sizes: tuple[int, ...]) -> int:
        """A multiplication and an addition for each (b, m, k, n)."""
        b, m, k, n = sizes
        return 2 * b * m * k * n

    def evaluate(self, dtypes: tuple[Dtype, ...], arrays: tuple[Array, ...]) -> Array:
        """The product in f64 or wrapping int64, rounded once to the output's dtype."""
        wide = np.float64 if dtypes[2].is_float else np.int64
        with np.errstate(all="ignore"):
            total = np.matmul(arrays[0].astype(wide), arrays[1].astype(wide))
            if self.accum:
                total = total + arrays[2].astype(wide)
            out: Array = total.astype(dtypes[2].numpy)
        return out
