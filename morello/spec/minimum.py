"""Min: out[m] = min over n of src[m,n], or of that and out[m]."""

import dataclasses
from typing import Any, ClassVar

import numpy as np

from morello.spec.dtypes import Dtype
from morello.spec.elements import Elements
from morello.spec.kind import Array
from morello.spec.maximum import Max


@dataclasses.dataclass(frozen=True, order=True)
class Min(Max):
    """The least element of each row (IEEE 754 ``minimum``).

    A NaN in a row gives NaN; of zeros, -0 is the lesser.
    """

    name: ClassVar[str] = "min"
    example: ClassVar[str] = "min:8x33:f32"

    @property
    def neutral(self) -> str:
        """inf, or the greatest integer."""
        return "highest"

    def element(self, elements: Elements, dtypes: tuple[Dtype, ...]) -> Any:
        """The lesser of out and src."""
        new = elements.read(0)
        return elements.minimum(dtypes[0], elements.read(1), new)

    def evaluate(
        self,
        sizes: tuple[int, ...],
        dtypes: tuple[Dtype, ...],
        arrays: tuple[Array, ...],
    ) -> Array:
        """The minimum of each row: of floats the negative of the negatives' maximum."""
        if dtypes[0].is_float:
            return -super().evaluate(sizes, dtypes, tuple(-array for array in arrays))
        rows = arrays[0]
        if self.accum:
            rows = np.concatenate([rows, arrays[1][:, None]], axis=1)
        return np.asarray(np.min(rows, axis=1))
