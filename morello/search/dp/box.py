"""Boxes of points: the coordinates along each axis of a table, or of a part of one."""

import dataclasses
import math
from functools import lru_cache
from typing import Any

import numpy as np

from morello.lazy import cached_property
from morello.spec.hashing import Interned

Axis = tuple[int, ...]
"""Ascending coordinates."""

ANY = -1
"""The one coordinate of an axis that does not matter, or follows from the others."""


@dataclasses.dataclass(frozen=True)
class Box(Interned):
    """The coordinates of one table: the sizes of each dimension, then the limits."""

    sizes: tuple[Axis, ...]
    limits: tuple[Axis, ...]
    """The values that are left of each memory: registers first, then caches."""
    caches: int
    """How many of the limits, the last, are those of caches."""

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """Every axis, in the order of the table's dimensions."""
        return (*self.sizes, *self.limits)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the table's arrays."""
        return tuple(len(axis) for axis in self.axes)

    @cached_property
    def size(self) -> int:
        """Number of points of the box."""
        return math.prod(self.shape)

    @cached_property
    def points(self) -> tuple[int, ...]:
        """The shape without the caches: sizes, and what is left of registers."""
        return self.shape[: len(self.shape) - self.caches]

    @cached_property
    def classes(self) -> tuple[int, int]:
        """How many combinations of what is left of all caches but the farthest there
        are, and how many classes of what is left of that one."""
        *near, far = (1, *map(len, self.limits[len(self.limits) - self.caches :]))
        return math.prod(near), far

    @cached_property
    def mesh(self) -> tuple[Any, ...]:
        """The coordinates along each axis, to be read: together they broadcast to the
        shape."""
        return mesh_of(self.axes)


def mesh_of(axes: tuple[Axis, ...]) -> tuple[Any, ...]:
    """An open mesh of the axes, like ``np.ix_``, which takes twice as long."""
    rank = len(axes)
    return tuple(
        np.asarray(axis, np.int64).reshape((1,) * dim + (-1,) + (1,) * (rank - dim - 1))
        for dim, axis in enumerate(axes)
    )


Spans = tuple[tuple[int, int], ...]
"""On each axis of a box the first position of a part of it, and the one after the last;
nothing for no points."""


@lru_cache(maxsize=65536)
def part_of(whole: Box, spans: Spans) -> Box:
    """The box of some neighbours on each axis of another."""
    if not spans:
        return dataclasses.replace(whole, sizes=((),) * len(whole.sizes))
    axes = [axis[a:b] for axis, (a, b) in zip(whole.axes, spans, strict=True)]
    count = len(whole.sizes)
    return Box(tuple(axes[:count]), tuple(axes[count:]), whole.caches)


@lru_cache(maxsize=65536)
def spans_in(whole: Box, box: Box) -> Spans | None:
    """The positions of a box in another, whose part it is; None if it is no part."""
    if not box.size:
        return ()
    spans = []
    for axis, some in zip(whole.axes, box.axes, strict=True):
        if some[0] not in axis:
            return None
        first = axis.index(some[0])
        if axis[first : first + len(some)] != some:
            return None
        spans.append((first, first + len(some)))
    return tuple(spans)


def all_of(box: Box) -> Spans:
    """The spans of all points of a box."""
    return tuple((0, length) for length in box.shape) if box.size else ()


def is_within(some: Spans, spans: Spans) -> bool:
    """Whether positions are among others."""
    if not some or not spans:
        return not some
    return all(a >= c and b <= d for (a, b), (c, d) in zip(some, spans, strict=True))


def united(one: Spans, other: Spans) -> Spans:
    """The least spans that have those of both."""
    if not one or not other:
        return one or other
    return tuple(
        (min(a, c), max(b, d)) for (a, b), (c, d) in zip(one, other, strict=True)
    )
