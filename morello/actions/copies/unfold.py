"""Unfold: an image is copied window by window, so that a convolution is a product.

Before::

    y[f,u,v] = sum(w[f,c,i,j] * x[c,u+i,v+j])

After::

    z[c,i,j,u,v] = x[c,u+i,v+j]                       # copy, of a view of x
    y[f,u,v] = sum(w[f,c,i,j] * z[c,i,j,u,v])         # body

Taps and channels are neighbours in the filters and in z, so that `Collapse` makes them
one dimension: the filters are read where they lie. That is worth the copy where images
are small beside filters.
"""

import dataclasses
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar

from morello.actions.base import Action, Axes, Child, Expansion
from morello.machine import Target
from morello.spec import Layout, Memory, Spec, SpecKey, TensorSpec
from morello.spec import Move as MoveKind
from morello.spec.compose import Compose
from morello.spec.frame import Condition, Frame
from morello.spec.graphs.graph import Part
from morello.spec.graphs.unfolding import Windows, unfolded, windows
from morello.spec.mixes import flushing_as
from morello.spec.varying import varying_places

_CACHES = 2
"""How much the copy may take, in what programs count on of L2: that is half of it."""


@dataclasses.dataclass(frozen=True)
class Unfolded:
    """The parts of an `Unfold`."""

    windows: Windows
    part: Part
    room: TensorSpec
    """The form of the copy."""
    copy: SpecKey
    body: SpecKey


@dataclasses.dataclass(frozen=True, order=True)
class Unfold(Action):
    """The image of a convolution is copied window by window."""

    name: ClassVar[str] = "unfold"
    takes_ranges: ClassVar[bool] = True

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Holes ``copy`` and ``body``; no cost of its own."""
        unfolding = unfolded_key(frame.key)
        if isinstance(unfolding, str):
            return Expansion.refused(unfolding)
        dims = unfolding.windows.dims
        sizes = tuple(frame.sizes[dim] for dim in dims)
        lines = unfolding.room.lines(sizes)
        limits = frame.limits
        conditions = [
            Condition(
                lines <= _CACHES * target.counted_l2_lines,
                "the copy takes more than L2 has",
            )
        ]
        if unfolding.room.level.is_cache:
            reason = f"takes more lines than are free of {unfolding.room.level}"
            conditions.append(Condition(lines <= limits[unfolding.room.level], reason))
            limits = target.take(limits, unfolding.room.level, lines)
        left = unfolding.part.dims
        left_sizes = tuple(frame.sizes[dim] for dim in left)
        children = (
            Child("copy", Frame(unfolding.copy, sizes, limits), 1, dims),
            Child("body", Frame(unfolding.body, left_sizes, limits), 1, left),
        )
        return Expansion(tuple(conditions), 0, children)

    def passes(self, spec: Spec) -> bool:
        """Whether the strides of the image are settled: only its outermost size may
        vary."""
        unfolding = unfolded_key(spec.key)
        return isinstance(unfolding, str) or not any(
            varying_places(spec, unfolding.windows.image)
        )

    def feature(self, key: SpecKey) -> str:
        """The name of the candidate family: windows are copied."""
        return "unfolded"

    @classmethod
    def levels_taken(cls, key: SpecKey, target: Target) -> frozenset[Memory]:
        """The cache that the copied windows are stored in."""
        unfolding = unfolded_key(key)
        if isinstance(unfolding, str) or not unfolding.room.level.is_cache:
            return frozenset()
        return frozenset({unfolding.room.level})

    @classmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator[Action]:
        """One, where an image can be copied, before one operand lies nearer than
        others: each such key leads to tables of products."""
        together = len({tensor.level for tensor in key.tensors}) == 1
        if together and not isinstance(unfolded_key(key), str):
            yield cls()


@lru_cache(maxsize=65536)
def unfolded_key(key: SpecKey) -> Unfolded | str:
    """The Specs that the action leaves, or the reason why it does not apply."""
    kind, graph = key.kind, key.kind.as_graph
    image_windows = None if graph is None else windows(graph)
    if graph is None or image_windows is None:
        return f"{kind.label} is no convolution of images whose rows are innermost"
    if graph.padded_dims:
        return "windows reach beyond the image: pad it first"
    name = kind.operands[image_windows.image].name
    image = key.tensors[image_windows.image]
    if not image.contiguous or not image.layout.is_row_major or image.layout.is_packed:
        return f"'{name}' has gaps, or another layout than its own: pad it first"
    if image.level.is_near:
        return f"'{name}' is in {image.level}: unfold it before it moves there"
    rank = len(image_windows.places)
    part = unfolded(graph, image_windows)
    unfolded_kind = Compose.of(part.graph)
    source = TensorSpec(image.dtype, image.level, image_windows.layout, False)
    room = dataclasses.replace(source, layout=Layout.row_major(rank), contiguous=True)
    forms = dict(zip(kind.values, key.tensors, strict=True))
    forms[image_windows.image] = room
    tensors = tuple(forms[part.values[value]] for value in unfolded_kind.values)
    return Unfolded(
        image_windows,
        part,
        room,
        SpecKey(MoveKind(rank), (source, room), key.serial),
        SpecKey(
            flushing_as(key.kind, unfolded_kind, tuple(t.dtype for t in tensors)),
            tensors,
            key.serial,
        ),
    )
