"""Rewrites into one Spec on views of the operands: `ViewAction`, and what it leaves."""

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np

from morello.actions.base import Action, Axes, Child, Expansion
from morello.actions.graphs.parts import followed
from morello.machine import Target
from morello.spec import Kind, Layout, SpecKey, TensorSpec
from morello.spec.compose import Compose
from morello.spec.embedding import ONE
from morello.spec.frame import Condition, Frame
from morello.spec.graphs.graph import Part
from morello.spec.mixes import flushing_as


@dataclasses.dataclass(frozen=True)
class View:
    """The key of Specs on views of the operands of others.

    Args:
        key: of the Specs.
        dims: for each of their dimensions that of the others; `ONE` for none.
        operands: for each of their operands the one that it is a view of.
        joined: two dimensions of the others that are one here, under the second's
            number in ``dims``.
    """

    key: SpecKey
    dims: tuple[int, ...]
    operands: tuple[int, ...]
    joined: tuple[int, ...] = ()

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Conditions that dimensions which vanish have one element."""
        remaining = {*self.dims, *self.joined}
        names = zip(frame.key.kind.dims, frame.sizes, strict=True)
        return tuple(
            Condition(size == 1, f"needs {name} = 1: tile or split it to 1")
            for dim, (name, size) in enumerate(names)
            if dim not in remaining
        )

    def child(self, frame: Frame) -> Child:
        """The child Specs of the Specs of a frame."""
        last = self.joined[-1:]
        both = math.prod(frame.sizes[dim] for dim in self.joined)
        sizes = tuple(
            1 if dim == ONE else both if dim in last else frame.sizes[dim]
            for dim in self.dims
        )
        most = int(np.max(both))
        dims = tuple(-1 - most if dim in last else dim for dim in self.dims)
        return Child("body", Frame(self.key, sizes, frame.limits), 1, dims)


class ViewAction(Action):
    """An action that copies nothing and leaves one Spec, at no cost of its own."""

    @abstractmethod
    def view(self, key: SpecKey) -> View | str:
        """The Specs that it leaves, or the reason why it does not apply."""

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Hole ``body``; no cost of its own."""
        view = self.view(frame.key)
        if isinstance(view, str):
            return Expansion.refused(view)
        return Expansion(view.conditions(frame), 0, (view.child(frame),))

    @classmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator[Action]:
        """One, where it applies; for actions without parameters."""
        if not isinstance(cls().view(key), str):
            yield cls()


def view_of_part(
    key: SpecKey,
    part: Part,
    forms: Mapping[int, TensorSpec],
    joined: tuple[int, ...] = (),
) -> View:
    """The view that a graph in other dimensions is.

    Args:
        key: of the graph that it is made of.
        part: the other graph.
        forms: the views of the operands, by the values of the first graph.
        joined: as of `View`.
    """
    kind: Kind = Compose.of(part.graph)
    values = tuple(part.values[value] for value in kind.values)
    tensors = followed(kind, tuple(forms[value] for value in values))
    kind = flushing_as(key.kind, kind, tuple(tensor.dtype for tensor in tensors))
    operands = tuple(map(key.kind.values.index, values))
    return View(SpecKey(kind, tensors, key.serial), part.dims, operands, joined)


@lru_cache(maxsize=4096)
def without_axes(tensor: TensorSpec, gone: frozenset[int]) -> TensorSpec:
    """The form of a tensor without some of its axes."""
    place = [axis for axis in range(tensor.rank) if axis not in gone]
    dims = tuple(
        dataclasses.replace(d, dim=place.index(d.dim))
        for d in tensor.layout.dims
        if d.dim not in gone
    )
    return dataclasses.replace(tensor, layout=Layout(dims))
