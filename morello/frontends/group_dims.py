"""The dimensions of a group of nodes: which of them are one, and how they divide.

Every node brings the dimensions of its iteration space. What reads another node makes
dimensions of both one; where it reads it in another shape, a dimension is split into
an outer and an inner one. In the end neighbours that are never apart become one again.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence

from morello.spec.operand import Axis, Window


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
        """What a dimension consists of by now, the outermost first."""
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
        a = [leaf for dim in left for leaf in self.leaves(dim)]
        b = [leaf for dim in right for leaf in self.leaves(dim)]
        while a and b:
            one, other = a.pop(), b.pop()
            if one == other:
                continue
            small, large = sorted((one, other), key=lambda d: self.sizes[d])
            if self.sizes[large] % self.sizes[small]:
                raise UnfitError
            if self.sizes[large] == self.sizes[small]:
                self._same[other] = one
                a, b = self._again(a), self._again(b)
                continue
            outer, inner = (
                self.new(self.sizes[large] // self.sizes[small]),
                self.new(self.sizes[small]),
            )
            self._parts[large] = outer, inner
            self._same[inner] = small
            rest = a if one == large else b
            rest.append(outer)
            a, b = self._again(a), self._again(b)
        if a or b:
            raise UnfitError

    def _again(self, dims: list[int]) -> list[int]:
        return [leaf for dim in dims for leaf in self.leaves(dim)]

    def axes(self, axes: Iterable[Axis]) -> tuple[Axis, ...]:
        """Axes by what their dimensions consist of; those of one element are left out.

        Raises:
            UnfitError: a dimension is in two of them.
        """
        found: list[Axis] = []
        for axis in axes:
            if isinstance(axis, int):
                found += self.leaves(axis)
            elif axis.terms or axis.before or axis.after:
                found.append(self._window(axis))
        dims = [d for axis in found for d in dims_of(axis)]
        if len(set(dims)) < len(dims):
            raise UnfitError
        return tuple(found)

    def _window(self, window: Window) -> Window:
        terms: list[tuple[int, int]] = []
        for dim, step in window.terms:
            for leaf in reversed(self.leaves(dim)):
                terms.append((leaf, step))
                step *= self.sizes[leaf]
        return dataclasses.replace(window, terms=tuple(sorted(terms)))


def dims_of(axis: Axis) -> tuple[int, ...]:
    """The dimensions of an axis."""
    return (axis,) if isinstance(axis, int) else tuple(d for d, _ in axis.terms)


def merged(
    every: list[tuple[Axis, ...]], reduced: list[frozenset[int]], sizes: dict[int, int]
) -> dict[int, int]:
    """Neighbours that are never apart, as one.

    Args:
        every: the axes of all values.
        reduced: the dimensions that each node reduces.
        sizes: of the dimensions; that of the outer one of a pair becomes that of both.

    Returns:
        For each dimension that vanishes the one that it is a part of.
    """
    gone: dict[int, int] = {}
    found = True
    while found:
        found = False
        pairs = {
            (a, b)
            for axes in every
            for a, b in itertools.pairwise(axes)
            if isinstance(a, int) and isinstance(b, int)
        }
        for outer, inner in sorted(pairs):
            if not _inseparable(outer, inner, every, reduced):
                continue
            sizes[outer] *= sizes[inner]
            gone[inner] = outer
            every[:] = [tuple(x for x in axes if x != inner) for axes in every]
            reduced[:] = [dims - {inner} for dims in reduced]
            found = True
            break
    return gone


def _inseparable(
    outer: int,
    inner: int,
    every: list[tuple[Axis, ...]],
    reduced: list[frozenset[int]],
) -> bool:
    for axes in every:
        has = [d for axis in axes for d in dims_of(axis) if d in (outer, inner)]
        if not has:
            continue
        places = [i for i, axis in enumerate(axes) if axis in (outer, inner)]
        if len(places) != 2 or axes[places[0]] != outer or places[1] != places[0] + 1:
            return False
    return all((outer in dims) == (inner in dims) for dims in reduced)


def size_of(shape: Sequence[int]) -> int:
    """The elements of a shape."""
    return math.prod(shape)
