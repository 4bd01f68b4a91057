"""Pad: an input is copied into a buffer in a memory and a layout, with zeros around it
where windows reach beyond.

Before::

    y[f,u,v] = sum(w[f,c,i,j] * x[c,pad(u+i,1,1),pad(v+j,1,1)])

After ``Pad("x1", "MEM", [0,1,2])``::

    room = 0                                                   # fill
    room[c,1:,1:] = x                                          # copy
    y[f,u,v] = sum(w[f,c,i,j] * room[c,u+i,v+j])               # body

Unlike the buffer of a `Move` this one may be read through windows, and it is known to
have no gaps, so that `Merge` applies to it. Axes within the last one that has zeros, as
channels that come last, are copied with it as one: rows without gaps on both sides. A
buffer in L1 is filled, copied into and read there, and no line of it is paid for.
"""

import dataclasses
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar, TypeVar

import numpy as np

from morello.actions.base import Action, Axes, Child, Expansion
from morello.actions.dims.view import without_axes
from morello.machine import Target
from morello.spec import Fill, Kind, Layout, Memory, Spec, SpecKey, TensorSpec
from morello.spec import Move as MoveKind
from morello.spec.compose import Compose
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.graphs.borders import copied, padded
from morello.spec.graphs.merging import taps
from morello.spec.index_map import IndexMap
from morello.spec.mixes import flushing_as
from morello.spec.structure import contractions, followers, leader, products
from morello.spec.varying import varying_places

_T = TypeVar("_T")


@dataclasses.dataclass(frozen=True)
class Padded:
    """The parts of a `Pad`."""

    operand: int
    room: TensorSpec
    """The form of the buffer."""
    fill: SpecKey | None
    """None where no window reaches beyond."""
    copy: SpecKey
    body: SpecKey
    run: tuple[int, ...]
    """The axes, outermost first, along which what is copied has no gaps on either side:
    one dimension of the copy, in the last one's place."""

    def joined(self, values: tuple[_T, ...], row: _T) -> tuple[_T, ...]:
        """Values of the dimensions of the copy, from those of the axes and that of the
        run."""
        return tuple(
            row if axis in self.run else value
            for axis, value in enumerate(values)
            if axis not in self.run[:-1]
        )


@dataclasses.dataclass(frozen=True, order=True)
class Pad(Action):
    """The input called ``operand`` is copied into a buffer in ``level`` and ``layout``,
    with zeros around it where windows reach beyond."""

    name: ClassVar[str] = "pad"
    takes_ranges: ClassVar[bool] = True
    operand: str
    level: Memory
    """The memory of the buffer: that of the input, or a nearer cache."""
    layout: Layout

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Holes ``fill``, ``copy`` and ``body``; no cost of its own."""
        padded = self.padded(frame.key)
        if isinstance(padded, str):
            return Expansion.refused(padded)
        axes = frame.key.kind.operands[padded.operand].axes
        room = padded.body.operand_sizes(padded.operand, frame.sizes)
        inside = tuple(copied(axis, frame.sizes) for axis in axes)
        limits = frame.limits
        conditions: tuple[Condition, ...] = ()
        if padded.room.level.is_cache:
            lines = dataclasses.replace(padded.room, contiguous=True).lines(room)
            reason = f"takes more lines than are free of {padded.room.level}"
            conditions = (Condition(lines <= limits[padded.room.level], reason),)
            limits = target.take(limits, padded.room.level, lines)
        every = tuple(range(len(frame.sizes)))
        row: Ints = math.prod(inside[axis] for axis in padded.run)
        sizes = padded.joined(inside, row)
        dims = padded.joined(_dims(axes, inside), -1 - int(np.max(row)))
        children = [
            Child("copy", Frame(padded.copy, sizes, limits), 1, dims),
            Child("body", Frame(padded.body, frame.sizes, limits), 1, every),
        ]
        if padded.fill is not None:
            zeros = Frame(padded.fill, room, limits)
            children.insert(0, Child("fill", zeros, 1, _dims(axes, room)))
        return Expansion(conditions, 0, tuple(children))

    def feature(self, key: SpecKey) -> str:
        """The operand."""
        return f"{self.operand} padded"

    def passes(self, spec: Spec) -> bool:
        """Whether all that is copied as one has settled sizes."""
        padded = self.padded(spec.key)
        return isinstance(padded, str) or not any(
            spec.tensors[padded.operand].layout.dims[place].dim in padded.run
            for place in varying_places(spec, padded.operand)
        )

    def padded(self, key: SpecKey) -> Padded | str:
        """The Specs that the action leaves, or the reason why it does not apply."""
        return _padded(self.operand, self.level, self.layout, key)

    @classmethod
    def levels_taken(cls, key: SpecKey, target: Target) -> frozenset[Memory]:
        """The caches that the padded buffer may be allocated in."""
        paddings = (action.padded(key) for action in _tried(key, target.caches[0]))
        return frozenset(
            p.room.level
            for p in paddings
            if not isinstance(p, str) and p.room.level.is_cache
        )

    @classmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator[Action]:
        """A padded copy of each input that windows reach beyond, row-major and in the
        layouts that products ask for; and one of each other input in the layouts that
        products or `Merge` ask for. Copies are where the inputs are; where nothing is a
        product, padded ones are in L1, too, where kernels read them."""
        for action in _tried(key, target.caches[0]):
            if not isinstance(action.padded(key), str):
                yield action


@lru_cache(maxsize=4096)
def _tried(key: SpecKey, nearest: Memory) -> tuple[Pad, ...]:
    graph = key.kind.as_graph
    if graph is None:
        return ()
    actions: dict[Pad, None] = {}
    for index, operand in enumerate(key.kind.operands[: len(graph.inputs)]):
        padded = any(axis.is_padded for axis in operand.axes)
        natural = Layout.row_major(operand.rank)
        layouts = [natural] if padded else []
        # From there only, so that no program goes round in circles; and before one
        # operand lies nearer than others, since each such key is a table.
        together = len({tensor.level for tensor in key.tensors}) == 1
        if key.tensors[index].layout == natural and together:
            layouts += asked_layouts(key, index)
        level = key.tensors[index].level
        actions |= {Pad(operand.name, level, layout): None for layout in layouts}
        if padded and not contractions(key.kind):
            actions[Pad(operand.name, nearest, natural)] = None
    return tuple(actions)


def asked_layouts(key: SpecKey, index: int) -> Iterator[Layout]:
    """Layouts of an input that lets a product read it along other axes, or taps and
    channels be merged."""
    graph, source = key.kind.as_graph, key.tensors[index]
    assert graph is not None
    rank = source.rank
    if not key.kind.operands[index].is_plain:
        for inner, place in products(key.kind, index):
            row_major = Layout.row_major(inner.kind.operands[place].rank)
            layout = inner.outward(place, row_major, rank)
            if layout is not None and layout != source.layout:
                yield layout
    pair = taps(graph)
    if pair is None or pair.is_ready(graph, index, source.layout):
        return
    image = key.tensors[pair.image]
    if index == pair.image or (
        not graph.padded_dims and pair.is_ready(graph, pair.image, image.layout)
    ):
        layout = pair.layout(graph, index)
        if layout is not None:
            yield layout


def _dims(axes: tuple[IndexMap, ...], sizes: tuple[Ints, ...]) -> tuple[int, ...]:
    """The dimension that an axis is a part of; for a window, which has one size, minus
    that and one more (`Child.dims`)."""
    return tuple(
        -1 - int(np.max(size)) if axis.dim is None else axis.dim
        for axis, size in zip(axes, sizes, strict=True)
    )


@lru_cache(maxsize=65536)
def _padded(name: str, level: Memory, layout: Layout, key: SpecKey) -> Padded | str:
    kind = key.kind
    names = [operand.name for operand in kind.operands]
    if name not in names:
        return f"it has no operand '{name}'; those are: {', '.join(names)}"
    operand, graph = names.index(name), kind.as_graph
    tensor = key.tensors[operand]
    padded_graph = None if graph is None else padded(graph, operand)
    if padded_graph is None:
        return f"'{name}' is no input of a graph"
    if tensor.level.is_near:
        return f"'{name}' is in {tensor.level}: pad it before it moves there"
    if level is not tensor.level:
        refusal = _level_refusal(key, operand, level)
        if refusal:
            return refusal
    if layout.rank != tensor.rank:
        return f"the layout {layout} has {layout.rank} dimensions, not {tensor.rank}"
    if layout.is_packed or tensor.layout.is_packed:
        return f"'{name}' is packed, or would be: move it to a packed layout afterwards"
    if padded_graph == graph and layout == tensor.layout:
        return (
            f"no window of {kind.label} reaches beyond '{name}', and its layout is "
            f"{layout} already"
        )
    padded_kind = flushing_as(key.kind, Compose.of(padded_graph), key.dtypes)
    return _parts(key, operand, level, layout, padded_kind)


def _level_refusal(key: SpecKey, operand: int, level: Memory) -> str:
    """Why the buffer cannot be in another memory than the input; empty if it can."""
    name, source = key.kind.operands[operand].name, key.tensors[operand].level
    if not (level.is_cache and source.is_beyond(level)):
        return f"{level} is no cache nearer than {source}, where '{name}' is"
    if leader(key.kind, operand) != operand or followers(key.kind, operand):
        return f"'{name}' and others are in one memory: pad it there"
    return ""


def _parts(
    key: SpecKey, operand: int, level: Memory, layout: Layout, kind: Kind
) -> Padded:
    source = key.tensors[operand]
    rank = source.rank
    axes = key.kind.operands[operand].axes
    zeros = any(axis.has_zeros for axis in axes)
    room = TensorSpec(source.dtype, level, layout, not level.is_near)
    serial = key.serial or not level.is_main
    # What is copied is a part of the buffer, and of an input that is not all read.
    if any(axis.is_padded for axis in axes):
        source = dataclasses.replace(source, contiguous=False)
    inside = dataclasses.replace(room, contiguous=room.contiguous and not zeros)
    run = _run(key, operand, layout)
    copied = tuple(without_axes(form, frozenset(run[:-1])) for form in (source, inside))
    tensors = (*key.tensors[:operand], room, *key.tensors[operand + 1 :])
    return Padded(
        operand,
        room,
        SpecKey(Fill(rank, "zero"), (room,), serial) if zeros else None,
        SpecKey(MoveKind(copied[0].rank), copied, serial),
        SpecKey(kind, tensors, serial),
        run,
    )


def _run(key: SpecKey, operand: int, layout: Layout) -> tuple[int, ...]:
    """The axes of a gapless input that stay neighbours in the buffer: the last one with
    something around it, or of which a part is read, and those within it."""
    source, axes = key.tensors[operand], key.kind.operands[operand].axes
    order = [d.dim for d in layout.dims]
    padded = [place for place, axis in enumerate(order) if axes[axis].is_padded]
    if not source.contiguous or layout != source.layout or not padded:
        return ()
    run = order[padded[-1] :]
    return tuple(run) if len(run) > 1 else ()
