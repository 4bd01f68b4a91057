"""The dimensions of a group of nodes: which of them are one, and how they divide.

Every node brings the dimensions of its iteration space. What reads another node makes
dimensions of both one; where it reads it in another shape, a dimension is split into
an outer and an inner one.
"""

import dataclasses
from collections.abc import Sequence

from morello.spec.index_map import ONE, IndexMap, plain


class UnfitError(Exception):
    """These nodes are no graph together."""


class Dims:
    """Dimensions with sizes; equal ones have one root."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self._same: list[int] = []
        self._parts: dict[int, tuple[int, int]] = {}
        """The outer and the inner dimension that a root was split into."""

    def new(self, size: int) -> int:
        """A new dimension."""
        self.sizes.append(size)
        self._same.append(len(self._same))
        return len(self._same) - 1

    def _root(self, dim: int) -> int:
        while self._same[dim] != dim:
            dim = self._same[dim]
        return dim

    def leaves(self, dim: int) -> list[int]:
        """The parts that a dimension was split into, outermost first, or itself."""
        dim = self._root(dim)
        if dim not in self._parts:
            return [dim]
        outer, inner = self._parts[dim]
        return [*self.leaves(outer), *self.leaves(inner)]

    def join(self, left: Sequence[int], right: Sequence[int]) -> None:
        """Make the dimensions of two lists, as row-major indices, one.

        Raises:
            UnfitError: they do not divide each other.
        """
        a, b = self._again(left), self._again(right)
        while a and b:
            one, other = a.pop(), b.pop()
            if one == other:
                continue
            if self.sizes[one] < self.sizes[other]:
                b.append(self._split(other, one))
            elif self.sizes[one] > self.sizes[other]:
                a.append(self._split(one, other))
            else:
                self._same[other] = one
            a, b = self._again(a), self._again(b)
        if a or b:
            raise UnfitError

    def _split(self, large: int, inner: int) -> int:
        """Split a dimension, whose inner part is another one; the outer part.

        Raises:
            UnfitError: the other does not divide it.
        """
        if self.sizes[large] % self.sizes[inner]:
            raise UnfitError
        outer = self.new(self.sizes[large] // self.sizes[inner])
        self._parts[large] = outer, inner
        return outer

    def _again(self, dims: Sequence[int]) -> list[int]:
        return [leaf for dim in dims for leaf in self.leaves(dim)]

    def placed(
        self, axes: Sequence[IndexMap], strides: Sequence[int]
    ) -> tuple[tuple[IndexMap, ...], tuple[int, ...]]:
        """Axes by what their dimensions consist of, and the stride of each.

        Axes of one element are left out.

        Raises:
            UnfitError: a dimension is in two of them.
        """
        placed: list[IndexMap] = []
        steps: list[int] = []
        for axis, stride in zip(axes, strides, strict=True):
            if axis.dim is None:
                if axis != ONE:
                    placed.append(self._window(axis))
                    steps.append(stride)
                continue
            leaves = self.leaves(axis.dim)
            placed += plain(*leaves)
            steps += [stride] * len(leaves)
            place = len(placed) - 1
            for leaf in reversed(leaves):
                steps[place] = stride
                stride *= self.sizes[leaf]
                place -= 1
        dims = [d for axis in placed for d in axis.dims]
        if len(set(dims)) < len(dims):
            raise UnfitError
        return tuple(placed), tuple(steps)

    def _window(self, window: IndexMap) -> IndexMap:
        terms: list[tuple[int, int]] = []
        if window.is_divided and len(self.leaves(*window.dims)) > 1:
            raise UnfitError
        for dim, step in window.terms:
            for leaf in reversed(self.leaves(dim)):
                terms.append((leaf, step))
                step *= self.sizes[leaf]
        return dataclasses.replace(window, terms=tuple(terms))


def row_major(shape: Sequence[int]) -> list[int]:
    """The stride of each axis of an array without gaps."""
    strides = [1] * len(shape)
    for place in reversed(range(len(shape) - 1)):
        strides[place] = strides[place + 1] * shape[place + 1]
    return strides
