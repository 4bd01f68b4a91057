"""Arguments of a native function: the dtype, shape and strides that each must have."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from morello.lazy import cached_property


@dataclasses.dataclass(frozen=True)
class SizeAxis:
    """The dimensions of an array whose size each call says.

    Args:
        name: as errors have it.
        axes: of the full shape, ascending.
        sizes: those that are taken.
        number: of the size among those that a call says.
        is_open: whether ``sizes`` end only where no array is as long.
    """

    name: str
    axes: tuple[int, ...]
    sizes: range
    number: int = 0
    is_open: bool = False

    def __str__(self) -> str:
        step = f" in steps of {self.sizes.step}" if self.sizes.step > 1 else ""
        end = "or more" if self.is_open else f"to {self.sizes[-1]}"
        return f"{self.sizes[0]} {end}{step}"


@dataclasses.dataclass(frozen=True)
class Parameter:
    """An array that a native function reads or writes.

    Args:
        name: as errors and keywords have it.
        dtype: of the elements, in the machine's byte order.
        shape: of the array.
        alternatives: other shapes of the same elements in the same order that are
            taken too, e.g. without a leading batch of 1. The first is that of a new
            output when every input that has an alternative came in one.
        is_output: the function writes it; else it only reads it.
        accumulates: an output that the function reads first, so that it must be given.
        strides: the elements from one index to the next along each dimension; empty
            for a row-major array without gaps.
        views: other shapes with their strides, in elements, that are the same memory,
            e.g. the transpose of an operand that lies column-major.
        any_row: the rows may be any distance apart, which the native function is told:
            ``strides`` and ``views`` have the strides for this number of elements from
            row to row, which is more than a row. 0 if the distance is fixed.
        sizes: the dimensions of which each call says the sizes: the shapes have the
            greatest. Such an array is row-major, without gaps. None for settled shapes.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    alternatives: tuple[tuple[int, ...], ...] = ()
    is_output: bool = False
    accumulates: bool = False
    strides: tuple[int, ...] = ()
    views: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()
    any_row: int = 0
    sizes: tuple[SizeAxis, ...] = ()

    def __post_init__(self) -> None:
        size = np.prod(self.shape, dtype=int)
        if any(np.prod(shape, dtype=int) != size for shape in self.alternatives):
            raise ValueError(f"{self.name}: an alternative to {self.shape} differs")
        if self.strides and len(self.strides) != len(self.shape):
            raise ValueError(f"{self.name}: {self.shape} has strides {self.strides}")
        if self.accumulates and not self.is_output:
            raise ValueError(f"{self.name}: only an output accumulates")
        if not self.dtype.isnative:
            raise ValueError(f"{self.name}: {self.dtype} is of the other byte order")

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Every shape that is taken, the full one first."""
        return (self.shape, *self.alternatives)

    @property
    def is_open(self) -> bool:
        """Whether it may have any number of elements."""
        return any(axis.is_open for axis in self.sizes)

    @property
    def nbytes(self) -> int:
        """Bytes from the first element to the last, gaps included; without gaps where
        a call says how far rows are apart."""
        if not self.strides or self.any_row:
            return int(np.prod(self.shape, dtype=int)) * self.dtype.itemsize
        pairs = zip(self.shape, self.strides, strict=True)
        reach = sum((extent - 1) * step for extent, step in pairs)
        return (reach + 1) * self.dtype.itemsize

    @cached_property
    def forms(self) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
        """Every shape that is taken with its strides, in bytes, the full one first."""
        strides = self.strides or _gapless(self.shape)
        whole = len(self.shape)
        unscaled = [(s, strides[whole - len(s) :]) for s in self.shapes]
        size = self.dtype.itemsize
        return tuple(
            (shape, tuple(step * size for step in steps))
            for shape, steps in (*unscaled, *self.views)
        )

    @cached_property
    def shorter(self) -> tuple[tuple[int, ...], ...]:
        """The shapes that are taken and have fewer dimensions than the full one."""
        views = [shape for shape, _ in self.views if len(shape) < len(self.shape)]
        return (*self.alternatives, *views)

    def lies_as_one(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
        """Whether an array of this shape and these strides, in bytes, is taken.

        The stride of a dimension of 1 says nothing.
        """
        if self.any_row:
            return self.row_of(shape, strides) is not None
        return any(
            shape == form_shape
            and all(
                extent == 1 or have == want
                for extent, have, want in zip(shape, strides, wanted, strict=True)
            )
            for form_shape, wanted in self.forms
        )

    def row_of(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> int | None:
        """The elements from row to row of an array, where they may be any number.

        None if no distance of rows makes an array of this shape and these strides, in
        bytes; that of a row where there is one.
        """
        for form_shape, wanted in self.forms:
            row = self._row_in(wanted, shape, strides) if shape == form_shape else None
            if row is not None:
                return row
        return None

    def at(self, *sizes: int) -> "Parameter":
        """The parameter in a call that says these sizes."""
        if not self.sizes:
            return self
        shape, *others = (self.resized(shape, sizes) for shape in self.shapes)
        return dataclasses.replace(
            self, shape=shape, alternatives=tuple(others), sizes=()
        )

    def resized(self, shape: tuple[int, ...], sizes: Sequence[int]) -> tuple[int, ...]:
        """A shape of the greatest sizes in a call that says these."""
        places = self._places[len(shape)]
        return tuple(
            sizes[places[i]] if i in places else n for i, n in enumerate(shape)
        )

    def places_in(self, shape: tuple[int, ...]) -> dict[int, int]:
        """The places of the dimensions that vary in a shape, each with the number of
        its size; none where the shape is none of the parameter's."""
        return self._places.get(len(shape), {})

    @cached_property
    def _places(self) -> dict[int, dict[int, int]]:
        """The places of the dimensions that vary in a shape of so many."""
        axes = {axis: size.number for size in self.sizes for axis in size.axes}
        dropped = {len(shape): len(self.shape) - len(shape) for shape in self.shapes}
        return {
            rank: {axis - less: axes[axis] for axis in sorted(axes)}
            for rank, less in dropped.items()
        }

    @property
    def size_bytes(self) -> int:
        """The bytes of the array in a call that says 1 for every size; 0 where none
        varies."""
        last = max((size.number for size in self.sizes), default=0)
        return self.at(*[1] * (last + 1)).nbytes if self.sizes else 0

    def with_row(self, row: int) -> "Parameter":
        """The parameter with rows so many elements apart, where any number is taken."""

        def scaled(strides: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(
                stride if stride == 1 else stride // self.any_row * row
                for stride in strides
            )

        views = tuple((shape, scaled(strides)) for shape, strides in self.views)
        return dataclasses.replace(
            self, strides=scaled(self.strides), views=views, any_row=0
        )

    def _row_in(
        self, wanted: tuple[int, ...], shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> int | None:
        """Find the distance of rows for one form, whose strides are wanted for
        ``any_row``."""
        size, whole = self.dtype.itemsize, self.shape[-1]
        rows = set()
        for extent, have, want in zip(shape, strides, wanted, strict=True):
            if extent > 1 and want == size:  # within a row
                if have != size:
                    return None
            elif extent > 1:
                row, rest = divmod(have * self.any_row, want)
                if rest or row < whole:
                    return None
                rows.add(row)
        return rows.pop() if len(rows) == 1 else None if rows else whole

    @property
    def row(self) -> tuple[int, int]:
        """The bytes of a row and from row to row; equal where there are no gaps."""
        size = self.dtype.itemsize
        if not self.strides:
            return self.nbytes, self.nbytes
        return self.shape[-1] * size, self.strides[-2] * size

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return int(np.prod(self.shape[:-1], dtype=int))

    @property
    def role(self) -> str:
        """``input 'a'`` or ``output 'c'``, as errors begin."""
        return f"{'output' if self.is_output else 'input'} '{self.name}'"


def _gapless(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of a row-major array without gaps."""
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.append(strides[-1] * extent)
    return tuple(reversed(strides[: len(shape)]))


def may_interleave(one: Parameter, other: Parameter) -> int:
    """The bytes from row to row of two arrays whose rows may lie in each other's gaps;
    0 where they cannot, or a call says it."""
    if one.any_row or other.any_row:
        return 0
    (row, apart), (other_row, other_apart) = one.row, other.row
    fits = one.strides and other.strides and row + other_row <= apart
    return apart if fits and apart == other_apart else 0
