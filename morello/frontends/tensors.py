"""A program as a DAG of tensors: what is given, computed, or seen in another shape.

A tensor is known by its number. One that is computed (`Node`) is a reduction of one
expression, or a map, over an iteration space of its own; it reads others by `Access`,
which says for each axis of the tensor what indexes it. Transposes, broadcasts and
zero padding are accesses, and are never computed.
"""

import dataclasses
from typing import Any

import numpy as np

from morello.spec.dtypes import Dtype
from morello.spec.graphs.expression import Expression
from morello.spec.operand import Axis, Window

Array = np.ndarray[Any, np.dtype[Any]]

ONE = Window(())
"""The index of an axis of one element: 0."""


@dataclasses.dataclass(frozen=True)
class Access:
    """How a tensor is read: the index of each of its axes."""

    tensor: int
    axes: tuple[Axis, ...]


@dataclasses.dataclass(frozen=True)
class Given:
    """An argument of the function, or a constant."""

    name: str
    shape: tuple[int, ...]
    dtype: Dtype
    argument: int = -1
    """Which argument; -1 for a constant."""
    array: Array | None = None


@dataclasses.dataclass(frozen=True)
class Node:
    """A tensor that is computed."""

    extents: tuple[int, ...]
    """Of each dimension of its iteration space."""
    axes: tuple[Axis, ...]
    """The dimension that each of its axes is, or `ONE`."""
    reduction: str
    """``map``, or the reduction over the dimensions that it lacks."""
    expression: Expression
    """A `Reference` is to one of ``reads``."""
    reads: tuple[Access, ...]
    dtype: Dtype
    """Of its elements in memory."""
    place: str
    """Where the program has it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis."""
        return tuple(self.extents[a] if isinstance(a, int) else 1 for a in self.axes)

    @property
    def kept(self) -> frozenset[int]:
        """The dimensions that it has."""
        return frozenset(axis for axis in self.axes if isinstance(axis, int))

    @property
    def reduced(self) -> frozenset[int]:
        """The dimensions that it reduces, of more than one element."""
        gone = frozenset(range(len(self.extents))) - self.kept
        return frozenset(d for d in gone if self.extents[d] > 1)


@dataclasses.dataclass(frozen=True)
class View:
    """A tensor in another shape: the same elements in the same order."""

    tensor: int
    shape: tuple[int, ...]


Tensor = Given | Node | View


@dataclasses.dataclass
class Tensors:
    """The tensors of a function, each after those that it reads, and its results."""

    name: str
    all: list[Tensor] = dataclasses.field(default_factory=list)
    results: list[int] = dataclasses.field(default_factory=list)
    names: list[str] = dataclasses.field(default_factory=list)
    """Of the arguments."""

    def add(self, tensor: Tensor) -> int:
        """A tensor, and its number."""
        self.all.append(tensor)
        return len(self.all) - 1

    def root(self, tensor: int) -> int:
        """The tensor whose elements a view has."""
        found = self.all[tensor]
        while isinstance(found, View):
            tensor = found.tensor
            found = self.all[tensor]
        return tensor

    def dtype(self, tensor: int) -> Dtype:
        """Of its elements in memory."""
        found = self.all[self.root(tensor)]
        assert not isinstance(found, View)
        return found.dtype

    def node(self, tensor: int) -> Node | None:
        """The node whose elements a tensor has; None for what is given."""
        found = self.all[self.root(tensor)]
        return found if isinstance(found, Node) else None


def substituted(
    axes: tuple[Axis, ...],
    inner: tuple[Axis, ...],
    extents: tuple[int, ...],
    shape: tuple[int, ...],
) -> tuple[Axis, ...] | None:
    """The axes of a tensor that is read through another's.

    Args:
        axes: of the tensor, by the axes of what reads it.
        inner: of what reads it, by dimensions of an iteration space.
        extents: of these dimensions.
        shape: of the tensor.

    Returns:
        The axes by these dimensions; None where an index is none that a Spec has.
    """
    found = []
    for axis, extent in zip(axes, shape, strict=True):
        if isinstance(axis, int):
            made: Axis | None = inner[axis]
        else:
            made = _through(axis, inner, extents, extent)
        if made is None:
            return None
        found.append(made)
    return tuple(found)


def _through(
    window: Window, inner: tuple[Axis, ...], extents: tuple[int, ...], extent: int
) -> Axis | None:
    """A window over axes that are themselves indexed by dimensions."""
    terms: dict[int, int] = {}
    before = window.before
    for axis, step in window.terms:
        within = inner[axis]
        if isinstance(within, int):
            parts: tuple[tuple[int, int], ...] = ((within, 1),)
        else:
            parts = within.terms
            before += step * within.before
        for dim, own in parts:
            terms[dim] = terms.get(dim, 0) + step * own
    return window_of(terms, before, extents, extent)


def window_of(
    terms: dict[int, int], before: int, extents: tuple[int, ...], extent: int
) -> Axis | None:
    """The axis that is indexed by a sum, less ``before``; None where it has to be
    read from a place inside of it on."""
    terms = {dim: step for dim, step in terms.items() if extents[dim] > 1 and step}
    if before < 0 or any(step < 0 for step in terms.values()):
        return None
    reach = 1 + sum(step * (extents[dim] - 1) for dim, step in terms.items())
    after = reach - before - extent
    if len(terms) == 1 and not before and not after and 1 in terms.values():
        return next(iter(terms))
    return Window(tuple(sorted(terms.items())), before, after)
