"""Sum: out[m] = sum over n of src[m,n], or added to out."""

import dataclasses
from typing import Any, ClassVar

import numpy as np

from morello.spec.dtypes import Dtype
from morello.spec.elements import Elements
from morello.spec.kind import Array
from morello.spec.reduction import RowReduction


@dataclasses.dataclass(frozen=True, order=True)
class Sum(RowReduction):
    """The sum of each row, in any order; integers wrap around."""

    name: ClassVar[str] = "sum"
    example: ClassVar[str] = "sum:8x33:f32"

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
