"""Max: out[m] = max over n of src[m,n], or of that and out[m]."""

import dataclasses
from typing import Any, ClassVar

import numpy as np

from morello.spec.dtypes import Dtype
from morello.spec.elements import Elements
from morello.spec.kind import Array
from morello.spec.reduction import RowReduction


@dataclasses.dataclass(frozen=True, order=True)
class Max(RowReduction):
    """The greatest element of each row (IEEE 754 ``maximum``).

    A NaN in a row gives NaN; of zeros, +0 is the greater.
    """

    name: ClassVar[str] = "max"
    example: ClassVar[str] = "max:8x33:f32"

    @property
    def neutral(self) -> str:
        """-inf, or the least integer."""
        return "lowest"

    @property
    def idempotent(self) -> bool:
        """The maximum of an element and itself is the element."""
        return True

    def element(self, elements: Elements, dtypes: tuple[Dtype, ...]) -> Any:
        """The greater of out and src."""
        new = elements.read(0)
        return elements.maximum(dtypes[0], elements.read(1), new)

    def evaluate(
        self,
        sizes: tuple[int, ...],
        dtypes: tuple[Dtype, ...],
        arrays: tuple[Array, ...],
    ) -> Array:
        """The maximum of each row; zeros are compared by sign."""
        rows = arrays[0]
        if self.accum:
            rows = np.concatenate([rows, arrays[1][:, None]], axis=1)
        with np.errstate(invalid="ignore"):
            best: Array = np.max(rows, axis=1)
        if dtypes[0].is_float:
            positive = np.any((rows == 0) & ~np.signbit(rows), axis=1)
            best = np.where((best == 0) & positive, dtypes[0].numpy.type(0), best)
        return best
