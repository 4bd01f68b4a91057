"""Slices and integers as indices of the axes of an array."""

import dataclasses
import operator
from typing import Any

import numpy as np

from morello.frontends.nodes.tensors import window_of
from morello.spec.index_map import IndexMap
from morello.tracing.refusals import refusal

Shape = tuple[int, ...]


def is_integer(value: Any) -> bool:
    """Whether it is a whole number."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def each_of(numbers: Any) -> list[Any]:
    """One number or several, as a list."""
    return [numbers] if is_integer(numbers) else [*numbers]


@dataclasses.dataclass
class Cut:
    """An index of one axis: the elements of it that are left."""

    places: range
    size: int
    """The extent of the axis before slicing."""
    is_one: bool = False
    """Whether it is an integer, which leaves no axis."""
    axis: int = 0
    """The axis that is left."""

    @staticmethod
    def of(part: Any, size: int) -> "Cut":
        """A slice or an integer.

        Raises:
            MorelloError: it is neither, or leaves no elements.
        """
        if is_integer(part):
            place = operator.index(part)
            if not -size <= place < size:
                raise refusal(f"the index {place} of an axis of {size} elements")
            return Cut(range(place % size, place % size + 1), size, True)
        if not isinstance(part, slice):
            is_array = isinstance(part, np.ndarray)  # a traced one
            shown = part if isinstance(part, str) else type(part).__name__
            shown = "an array that is computed" if is_array else shown
            raise refusal(
                f"an index of {shown} is not traced",
                "use integers, slices, lists, None or ...; np.where chooses by element",
            )
        places = range(*part.indices(size))
        if not places:
            start, stop, step = part.indices(size)
            raise refusal(f"the slice {start}:{stop}:{step} of {size} is empty")
        return Cut(places, size)

    @property
    def is_backwards(self) -> bool:
        """Whether the index selects several elements in reverse order."""
        return self.places.step < 0 and len(self.places) > 1

    @property
    def turned(self) -> "Cut":
        """Cut that selects the same elements when the axis is reversed."""
        first, last = (self.size - 1 - self.places[i] for i in (0, -1))
        places = range(first, last + 1, -self.places.step)
        return dataclasses.replace(self, places=places)

    def index(self, shape: Shape) -> IndexMap:
        """Index map of the axis, in terms of the axes of the array that is left."""
        terms = {} if self.is_one else {self.axis: abs(self.places.step)}
        return window_of(terms, -self.places[0], shape, self.size)


def cuts_of(parts: tuple[Any, ...], extents: Shape) -> tuple[list[Cut], Shape]:
    """Resolve an index: the elements of each axis that are left, and the resulting
    shape.

    Args:
        parts: of an index: integers, slices, new axes (``None``) and ``...``.
        extents: of the array.
    """
    rank = len(extents)
    indices = sum(part is not None and part is not Ellipsis for part in parts)
    if indices > rank:
        raise refusal(f"{indices} indices of an array of {rank} axes")
    if all(part is not Ellipsis for part in parts):
        parts = (*parts, Ellipsis)
    cuts: list[Cut] = []
    shape: list[int] = []
    for part in parts:
        if part is None:
            shape.append(1)
            continue
        whole = part is Ellipsis
        for one in [slice(None)] * (rank - indices) if whole else [part]:
            cut = Cut.of(one, extents[len(cuts)])
            cuts.append(cut)
            if not cut.is_one:
                cut.axis = len(shape)
                shape.append(len(cut.places))
    return cuts, tuple(shape)


def axes_of(rank: int, axis: Any) -> tuple[int, ...]:
    """Places of axes in order: of one axis, of several, or with None of all."""
    return tuple(sorted(ordered_axes(rank, range(rank) if axis is None else axis)))


def ordered_axes(rank: int, axes: Any) -> tuple[int, ...]:
    """Places of one axis or several, in the order in which they are written."""
    every = each_of(axes)
    for place in every:
        if not is_integer(place) or not -rank <= place < rank:
            raise refusal(f"axis {place} of an array of {rank} axes")
    places = tuple(int(place) % rank for place in every)
    if len(set(places)) < len(places):
        raise refusal(f"axis={axes} has an axis twice", "leave one out")
    return places


def axis_of(rank: int, axis: Any) -> int:
    """Place of an axis that is one number, as NumPy asks for where it takes no more."""
    if not is_integer(axis):
        raise refusal(f"axis={axis} is no axis", "give one number")
    return axes_of(rank, axis)[0]
