"""Transformations of an array before a kernel reads it: no numbers change."""

import dataclasses
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

Slice = tuple[int, int | None, int]
"""Where elements of an axis begin and end, and how far they are apart."""

WHOLE: Slice = (0, None, 1)


@dataclasses.dataclass(frozen=True)
class Part:
    """Some elements along each axis."""

    slices: tuple[Slice, ...]

    def of(self, array: Array) -> Array:
        """A view of an array."""
        return array[tuple(slice(*each) for each in self.slices)]


@dataclasses.dataclass(frozen=True)
class Reshape:
    """Axes in another order, then other extents."""

    order: tuple[int, ...]
    shape: tuple[int, ...]

    def of(self, array: Array) -> Array:
        """A view of an array; a copy where none can be."""
        return array.transpose(self.order).reshape(self.shape)


@dataclasses.dataclass(frozen=True)
class Padding:
    """More places around an array, which hold a number."""

    widths: tuple[tuple[int, int], ...]
    """How many before and after, for each axis."""
    number: float

    def of(self, array: Array) -> Array:
        """A copy of an array."""
        return np.pad(array, self.widths, constant_values=self.number)


View = Part | Reshape | Padding
