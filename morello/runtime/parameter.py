"""What an argument of a native function must be."""

import dataclasses
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Parameter:
    """An array that a native function reads or writes.

    Args:
        name: as errors and keywords have it.
        dtype: of the elements, in the machine's byte order.
        shape: of the array, row-major.
        alternatives: other shapes of the same elements in the same order that are
            taken too, e.g. without a leading batch of 1. The first is that of a new
            output when every input that has an alternative came in one.
        is_output: the function writes it; else it only reads it.
        accumulates: an output that the function reads first, so that it must be given.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    alternatives: tuple[tuple[int, ...], ...] = ()
    is_output: bool = False
    accumulates: bool = False

    def __post_init__(self) -> None:
        size = np.prod(self.shape, dtype=int)
        if any(np.prod(shape, dtype=int) != size for shape in self.alternatives):
            raise ValueError(f"{self.name}: an alternative to {self.shape} differs")
        if self.accumulates and not self.is_output:
            raise ValueError(f"{self.name}: only an output accumulates")
        if not self.dtype.isnative:
            raise ValueError(f"{self.name}: {self.dtype} is of the other byte order")

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Every shape that is taken, the full one first."""
        return (self.shape, *self.alternatives)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return int(np.prod(self.shape, dtype=int)) * self.dtype.itemsize

    @property
    def role(self) -> str:
        """``input 'a'`` or ``output 'c'``, as errors begin."""
        return f"{'output' if self.is_output else 'input'} '{self.name}'"
