"""Border: the rows where windows reach beyond an image, and those inside, apart.

Before, with a filter of three taps and one place of zeros on both sides::

    y[u] = sum(w[i] * x[pad(u+i,1,1)])            # u=56, i=3

After ``Border("d0")``, where that is u::

    y[0]    = sum(w[1:] * x[0:2])                 # before:  u=1, i=2
    y[1:55] = sum(w[i] * x[u+i])                  # main:    u=54, i=3
    y[55]   = sum(w[:2] * x[54:])                 # after:   u=1, i=2

Nothing is copied, and inside there is no padding: loops may go along it. Rows that have
other taps inside the image are holes of their own: ``before``, ``before1``, … `Pad`
copies the image instead.
"""

import dataclasses
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import ClassVar

import numpy as np

from morello.actions.base import Action, Axes, Child, Expansion
from morello.actions.copies.move import Move
from morello.cost.of_target import cost_model
from morello.machine import Target
from morello.spec import Memory, SpecKey
from morello.spec.compose import Compose
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.graphs.borders import Border as Borders
from morello.spec.graphs.borders import Strip, border, strips
from morello.spec.mixes import flushing_as
from morello.spec.structure import contractions

SIDES = 3
"""The most strips before what is inside, and after it."""

BEFORE = ("before", "before1", "before2")
AFTER = ("after", "after1", "after2")
ROLES = (*BEFORE, "main", *AFTER)


@dataclasses.dataclass(frozen=True)
class Bordered:
    """A key whose border along a dimension is taken apart."""

    border: Borders
    key: SpecKey
    """The key of the Specs of all strips."""


@dataclasses.dataclass(frozen=True, order=True)
class Strips(Action):
    """Strips along the dimension ``dim`` of the output, each without padding."""

    takes_ranges: ClassVar[bool] = True
    refusal: ClassVar[str]
    """Why sizes have no strips."""
    dim: str

    @abstractmethod
    def parts(self, borders: Borders, sizes: tuple[Ints, ...]) -> dict[str, Strip]:
        """The strips by role; none where there are no such. Neither dimension of the
        border loops, so that each has one size."""

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """A hole for each strip: ``before``, …, ``main``, ``after``, …

        cost = what a loop of no trips costs that has as many remainders
        (`CostModel.loop`), but one.
        """
        bordered = self.bordered(frame.key)
        if isinstance(bordered, str):
            return Expansion.refused(bordered)
        parts = self.parts(bordered.border, frame.sizes)
        children = []
        for role in ROLES:
            strip = parts.get(role)
            sizes, dims = list(frame.sizes), list(range(len(frame.sizes)))
            rows, taps = (1, 1) if strip is None else (strip.rows, strip.taps)
            for dim, size in (
                (bordered.border.rows, rows),
                (bordered.border.taps, taps),
            ):
                sizes[dim], dims[dim] = size, -1 - size
            child = Frame(bordered.key, tuple(sizes), frame.limits)
            children.append(Child(role, child, int(strip is not None), tuple(dims)))
        cost = cost_model(target).loop(0, max(len(parts) - 1, 0))
        return Expansion((Condition(bool(parts), self.refusal),), cost, tuple(children))

    def feature(self, key: SpecKey) -> str:
        """The feature of a program's class: the name of the action and its
        dimension."""
        return f"{self.name} {self.dim}"

    def bordered(self, key: SpecKey) -> Bordered | str:
        """The key of the strips, or the reason why the action does not apply."""
        return _bordered(self.dim, key)

    @classmethod
    def levels_taken(cls, key: SpecKey, target: Target) -> frozenset[Memory]:
        """The caches that operands of the border may move to."""
        keys = (action.bordered(key) for action in cls.first(key))
        return frozenset().union(
            *(
                Move.levels_taken(parts.key, target)
                for parts in keys
                if not isinstance(parts, str)
            )
        )

    @classmethod
    def first(cls, key: SpecKey) -> Iterator["Strips"]:
        """The action along the first dimension with a border."""
        name = _first(key)
        if name is not None:
            yield cls(name)


@dataclasses.dataclass(frozen=True, order=True)
class Border(Strips):
    """Along the dimension ``dim`` of the output, what is inside the image and each
    strip of the border by itself."""

    name: ClassVar[str] = "border"
    refusal: ClassVar[str] = (
        "a row has no tap inside the image, no row has all of them inside, or "
        f"there are more than {SIDES} strips on one side"
    )

    def parts(self, borders: Borders, sizes: tuple[Ints, ...]) -> dict[str, Strip]:
        """Rows with the same taps inside the image; ``main`` has all taps."""
        rows, taps = (int(np.max(sizes[d])) for d in (borders.rows, borders.taps))
        parts = strips(borders, rows, taps)
        if parts is None:
            return {}
        inside = next(i for i, strip in enumerate(parts) if strip.taps == taps)
        return by_role(parts, inside)

    @classmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator[Action]:
        """The first dimension with a border, before any operand has moved and where
        nothing is used again: beside the work of a product of matrices a copy of the
        image is cheap, and its strips would multiply its tables."""
        moved = any(tensor.level is not target.home for tensor in key.tensors)
        if not moved and contractions(key.kind) == 0:
            yield from cls.first(key)


@lru_cache(maxsize=65536)
def _first(key: SpecKey) -> str | None:
    """The first dimension with a border."""
    graph = key.kind.as_graph
    if graph is None or not graph.padded_dims:
        return None
    names = (n for n in key.kind.dims if not isinstance(_bordered(n, key), str))
    return next(names, None)


def by_role(parts: Sequence[Strip], inside: int) -> dict[str, Strip]:
    """Strips by role, ``main`` that of a number; none where there are too many on one
    side."""
    before, after = parts[:inside], parts[inside + 1 :]
    if max(len(before), len(after)) > SIDES:
        return {}
    return {
        **dict(zip(BEFORE, before, strict=False)),
        "main": parts[inside],
        **dict(zip(AFTER, after, strict=False)),
    }


@lru_cache(maxsize=65536)
def _bordered(name: str, key: SpecKey) -> Bordered | str:
    kind, graph = key.kind, key.kind.as_graph
    if graph is None:
        return f"{kind.label} is no graph"
    if name not in kind.dims:
        return f"it has no dimension '{name}'; those are: {', '.join(kind.dims)}"
    edge = border(graph, kind.dims.index(name))
    if edge is None:
        return (
            f"along '{name}' no window reaches beyond an image that is but a factor of "
            "a sum over the taps of a filter"
        )
    tensors = tuple(dataclasses.replace(t, contiguous=False) for t in key.tensors)
    edge_kind = flushing_as(key.kind, Compose.of(edge.graph), key.dtypes)
    inner = SpecKey(edge_kind, tensors, key.serial)
    return Bordered(edge, inner)
