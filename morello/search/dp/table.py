"""All Specs of one key under one goal: their costs and decisions."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from morello.actions import Action
from morello.lazy import cached_property
from morello.search.compiled.words import address
from morello.search.dp.axes import Free, registers_taken
from morello.search.dp.box import ANY, Axis, Box
from morello.spec import Memory, SpecKey
from morello.spec.frame import Frame
from morello.spec.hashing import Interned
from morello.spec.tensors.limits import Limits

Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]

COST_BOUND = 1 << 53
"""Costs are integers below this, which a float64 holds exactly; infinity marks Specs
that have no program."""

NO_ACTION = -1


@dataclasses.dataclass(frozen=True)
class TableId(Interned):
    """The identity of a table: its key, the sizes of the goal and the free limits."""

    key: SpecKey
    sizes: tuple[Axis, ...]
    """The axes of the goal for each dimension, before they are cut for the key."""
    free: Free


@dataclasses.dataclass(frozen=True)
class Costs:
    """The costs alone: what other tables are solved from.

    Most limits do not decide, so each slice over the limits is kept once.

    Args:
        box: the points.
        slices: the sizes, then an index for each distinct slice; without gaps.
        place: the slice of each combination of limits, the last limit fastest.
    """

    box: Box
    slices: Floats
    place: Integers

    @classmethod
    def of(cls, box: Box, costs: Floats) -> "Costs":
        """The costs of all points, as an array of the shape of the box."""
        count = math.prod(map(len, box.limits))
        slices = costs.reshape(*map(len, box.sizes), count)
        return cls(box, slices, np.arange(count))

    @cached_property
    def words(self) -> tuple[int, int, int, int]:
        """The addresses of the arrays, the number of slices, and the index of the slice
        with the greatest limits, which is that of the last combination."""
        most = int(self.place[-1]) if len(self.place) else 0
        arrays = address(self.slices), address(self.place)
        return *arrays, self.slices.shape[-1], most

    @property
    def dense(self) -> Floats:
        """The costs of all points, as an array of the shape of the box."""
        costs = self.slices
        if costs.shape[-1] < len(self.place):
            costs = costs.take(self.place, axis=-1)
        return costs.reshape(self.box.shape)


@dataclasses.dataclass(frozen=True)
class Table:
    """Costs and decisions at every point of a box."""

    id: TableId
    box: Box
    actions: Mapping[int, Action]
    """The actions of decisions: all candidates, by their place among them, or those of
    them that are chosen somewhere."""
    cost_slices: Costs
    decisions: np.ndarray[Any, np.dtype[np.int32]]
    """The number of the best action; `NO_ACTION` where there is none."""

    @cached_property
    def costs(self) -> Floats:
        """Millicycles of every point; infinite where no program exists."""
        return self.cost_slices.dense

    def point(self, sizes: tuple[int, ...], limits: Limits) -> tuple[int, ...] | None:
        """The indices of a Spec; None if it is outside the box."""
        return position(self.box, sizes, limits)

    def decision(self, sizes: tuple[int, ...], limits: Limits) -> Action | None:
        """The decision for a Spec; None where it has no program."""
        point = self.point(sizes, limits)
        if point is None or self.decisions[point] == NO_ACTION:
            return None
        return self.actions[int(self.decisions[point])]


def position(
    box: Box, sizes: tuple[int, ...], limits: Limits
) -> tuple[int, ...] | None:
    """The indices of a Spec in a box; None if it is outside.

    What is left of the registers is not looked at where an operand occupies them.
    """
    values = (*sizes, *limits.free)
    indices = []
    for axis, value in zip(box.axes, values, strict=True):
        if axis == (ANY,):
            indices.append(0)
        elif value in axis:
            indices.append(axis.index(value))
        else:
            return None
    return tuple(indices)


def spec_at(
    key: SpecKey, box: Box, point: tuple[int, ...], limits: Limits
) -> tuple[tuple[int, ...], Limits]:
    """The sizes and limits of a point: what `position` maps to it.

    A limit that does not matter is that of ``limits``; what operands in registers leave
    of those follows from their sizes.
    """
    values = [axis[i] for axis, i in zip(box.axes, point, strict=True)]
    sizes = tuple(values[: len(box.sizes)])
    known = (
        int(_unless_taken(key, sizes, memory, limit)) if value == ANY else value
        for (memory, limit), value in zip(
            limits.items(), values[len(sizes) :], strict=True
        )
    )
    return sizes, Limits(limits.memories, tuple(known))


def frame_of(key: SpecKey, box: Box, limits: Limits) -> Frame:
    """The frame of all Specs of a box, as arrays that broadcast to its shape.

    A limit that does not matter is that of ``limits``; what operands in registers leave
    of those follows from their sizes.
    """
    mesh = box.mesh
    count = len(box.sizes)
    sizes = tuple(mesh[:count])
    left = (
        _unless_taken(key, sizes, memory, limit) if axis == (ANY,) else values
        for (memory, limit), axis, values in zip(
            limits.items(), box.limits, mesh[count:], strict=True
        )
    )
    return Frame(key, sizes, Limits(limits.memories, tuple(left)))


def _unless_taken(
    key: SpecKey, sizes: tuple[Any, ...], memory: Memory, limit: int
) -> Any:
    """Amount that remains of a memory without an axis: its limit, less the registers
    that operands occupy."""
    if not memory.is_registers:
        return limit
    return np.maximum(limit - registers_taken(key, sizes, memory), 0)
