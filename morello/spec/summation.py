"""Sum: out[m] = sum over n of src[m,n], or added to out."""

import dataclasses
from typing import Any, ClassVar

import numpy as np

from morello.errors import SpecError
from morello.spec.dtypes import Dtype
from morello.spec.elements import Elements
from morello.spec.kind import Array, Kind, require_equal
from morello.spec.operand import Operand

_OPERANDS = {
    accum: (
        Operand("src", (0, 1), is_read=True, is_written=False),
        Operand("out", (0,), is_read=accum, is_written=True),
    )
    for accum in (False, True)
}


@dataclasses.dataclass(frozen=True, order=True)
class Sum(Kind):
    """The sum of each row, in any order; integers wrap around."""

    name: ClassVar[str] = "sum"
    example: ClassVar[str] = "sum:8x33:f32"
    accum: bool = False
    """Whether the sum is added to what the output holds."""

    @property
    def dims(self) -> tuple[str, ...]:
        """Rows, columns."""
        return ("m", "n")

    @property
    def operands(self) -> tuple[Operand, ...]:
        """src [m,n], out [m]."""
        return _OPERANDS[self.accum]

    def check_dtypes(self, dtypes: tuple[Dtype, ...]) -> None:
        """Both operands have one dtype, f32 or s32."""
        require_equal(self.label, dtypes)
        if dtypes[0] not in (Dtype.F32, Dtype.S32):
            also = "" if self.accum or dtypes[0] is not Dtype.BF16 else ", or bf16,f32"
            raise SpecError(
                f"{self.label} has no dtype {dtypes[0]}", f"use f32 or s32{also}"
            )

    def flops(self, sizes: tuple[int, ...]) -> int:
        """An addition for each element."""
        return sizes[0] * sizes[1]

    def rounded_terms(self, sizes: tuple[int, ...]) -> int:
        """One for each column; adding to an initial output is one more."""
        return sizes[1] + self.accum

    def in_f64(self, sizes: tuple[int, ...], arrays: tuple[Array, ...]) -> Array:
        """The sums, and what they are added to: 0 where nothing is, so never -0."""
        src, *initial = arrays
        total: Array = np.add.reduce(src, axis=1, initial=-0.0)
        return total + (initial[0] if initial else 0.0)

    def element(self, elements: Elements, dtypes: tuple[Dtype, ...]) -> Any:
        """out and src added."""
        new = elements.read(0)
        return elements.add(elements.read(1), new)

    def evaluate(
        self,
        sizes: tuple[int, ...],
        dtypes: tuple[Dtype, ...],
        arrays: tuple[Array, ...],
    ) -> Array:
        """The sums in f64 or wrapping int64, rounded once to the output's dtype."""
        out = dtypes[1]
        with np.errstate(all="ignore"):
            if out.is_float:
                wide = tuple(array.astype(np.float64) for array in arrays)
                return self.in_f64(sizes, wide).astype(out.numpy)
            src, *initial = (array.astype(np.int64) for array in arrays)
            return sum(initial, src.sum(axis=1)).astype(out.numpy)
