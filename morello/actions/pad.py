"""Pad: an input that windows reach beyond is copied into zeros.

Before::

    y[f,u,v] = sum(w[f,c,i,j] * x[c,pad(u+i,1,1),pad(v+j,1,1)])

After ``Pad("x1")``::

    room = 0                                                   # fill
    room[c,1:,1:] = x                                          # copy
    y[f,u,v] = sum(w[f,c,i,j] * room[c,u+i,v+j])               # body
"""

import dataclasses
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar

import numpy as np

from morello.actions.base import Action, Child, Expansion
from morello.machine import Target
from morello.spec import Fill, Kind, Layout, Level, SpecKey, TensorSpec, Window
from morello.spec import Move as MoveKind
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.graphs.padding import copied, padded
from morello.spec.operand import Axis


@dataclasses.dataclass(frozen=True)
class Padded:
    """The parts of a `Pad`."""

    operand: int
    room: TensorSpec
    """The form of the buffer."""
    fill: SpecKey
    copy: SpecKey
    body: SpecKey


@dataclasses.dataclass(frozen=True, order=True)
class Pad(Action):
    """The input called ``operand`` gets zeros around it, in a buffer of its own."""

    name: ClassVar[str] = "pad"
    operand: str

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Holes ``fill``, ``copy`` and ``body``; no cost of its own."""
        found = self.padded(frame.key)
        if isinstance(found, str):
            return Expansion((Condition(False, found),), 0)
        axes = frame.key.kind.operands[found.operand].axes
        room = found.body.operand_sizes(found.operand, frame.sizes)
        inside = tuple(copied(axis, frame.sizes) for axis in axes)
        limits = frame.limits
        conditions: tuple[Condition, ...] = ()
        if found.room.level.is_cache:
            lines = found.room.lines(room)
            reason = f"takes more lines than are free of {found.room.level}"
            conditions = (Condition(lines <= limits[found.room.level], reason),)
            limits = target.take(limits, found.room.level, lines)
        every = tuple(range(len(frame.sizes)))
        return Expansion(
            conditions,
            0,
            (
                Child("fill", Frame(found.fill, room, limits), 1, _dims(axes, room)),
                Child(
                    "copy", Frame(found.copy, inside, limits), 1, _dims(axes, inside)
                ),
                Child("body", Frame(found.body, frame.sizes, limits), 1, every),
            ),
        )

    def feature(self, key: SpecKey) -> str:
        """The operand."""
        return f"{self.operand} padded"

    def padded(self, key: SpecKey) -> Padded | str:
        """The parts; or why there are none."""
        return _padded(self.operand, key)

    @classmethod
    def levels_taken(cls, key: SpecKey, target: Target) -> frozenset[Level]:
        """Those where a buffer may be made."""
        found = (cls(o.name).padded(key) for o in key.kind.operands)
        return frozenset(
            p.room.level
            for p in found
            if not isinstance(p, str) and p.room.level.is_cache
        )

    @classmethod
    def candidates(
        cls, key: SpecKey, axes: tuple[tuple[int, ...], ...], target: Target
    ) -> Iterator["Pad"]:
        """Each input that windows reach beyond."""
        for operand in key.kind.operands:
            action = cls(operand.name)
            if not isinstance(action.padded(key), str):
                yield action


def _dims(axes: tuple[Axis, ...], sizes: tuple[Ints, ...]) -> tuple[int, ...]:
    """The dimension that an axis is a part of; for a window, which has one size, minus
    that and one more (`Child.dims`)."""
    return tuple(
        -1 - int(np.max(size)) if isinstance(axis, Window) else axis
        for axis, size in zip(axes, sizes, strict=True)
    )


@lru_cache(maxsize=65536)
def _padded(name: str, key: SpecKey) -> Padded | str:
    kind = key.kind
    names = [operand.name for operand in kind.operands]
    if name not in names:
        return f"it has no operand '{name}'; those are: {', '.join(names)}"
    operand, graph = names.index(name), kind.as_graph
    tensor = key.tensors[operand]
    made = None if graph is None else padded(graph, operand)
    if made is None:
        return f"no window of {kind.label} reaches beyond '{name}'"
    if tensor.level < Level.L2:
        return f"'{name}' is in {tensor.level}: pad it before it moves there"
    return _parts(key, operand, kind.with_graph(made))


def _parts(key: SpecKey, operand: int, kind: Kind) -> Padded:
    source = key.tensors[operand]
    rank = source.rank
    room = TensorSpec(source.dtype, source.level, Layout.row_major(rank), True)
    inside = dataclasses.replace(room, contiguous=False)
    source = dataclasses.replace(source, contiguous=False)
    tensors = (*key.tensors[:operand], room, *key.tensors[operand + 1 :])
    return Padded(
        operand,
        room,
        SpecKey(Fill(rank, "zero"), (room,), key.serial),
        SpecKey(MoveKind(rank), (source, inside), key.serial),
        SpecKey(kind, tensors, key.serial),
    )
