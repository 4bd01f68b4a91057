"""Merge: taps and channels, neighbours in memory, become one dimension.

Before, where both factors have no gaps and the channels follow upon the taps::

    y[f,u,v] += sum(w[f,i,j,c] * x[2*u+i,2*v+j,c])

After::

    y[f,u,v] += sum(w[f,i,k] * z[2*u+i,v,k])     # z is a view of x that overlaps itself

Nothing is copied. A product of matrices has more to sum then: 21 numbers instead of 3
where seven taps read three channels.
"""

import dataclasses
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar

import numpy as np

from morello.actions.base import Action, Child, Expansion
from morello.machine import Target
from morello.spec import Layout, SpecKey, TensorSpec
from morello.spec.compose import Compose
from morello.spec.frame import Frame
from morello.spec.graphs.graph import Part
from morello.spec.graphs.merging import Taps, merged, taps
from morello.spec.index_map import IndexMap


@dataclasses.dataclass(frozen=True)
class Merged:
    """The result of merging taps and channels: the new key and its mapping."""

    taps: Taps
    part: Part
    key: SpecKey


@dataclasses.dataclass(frozen=True, order=True)
class Merge(Action):
    """Merges the dimensions of taps and channels of a convolution into one."""

    name: ClassVar[str] = "merge"

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Hole ``body``; no cost of its own."""
        merging = merged_key(frame.key)
        if isinstance(merging, str):
            return Expansion.refused(merging)
        own = merging.taps
        terms = frame.sizes[own.tap] * frame.sizes[own.channel]
        sizes = [
            terms if dim == own.channel else frame.sizes[dim]
            for dim in merging.part.dims
        ]
        dims = tuple(
            -1 - int(np.max(terms)) if dim == own.channel else dim
            for dim in merging.part.dims
        )
        body = Frame(merging.key, tuple(sizes), frame.limits)
        return Expansion((), 0, (Child("body", body, 1, dims),))

    @classmethod
    def candidates(
        cls, key: SpecKey, axes: tuple[tuple[int, ...], ...], target: Target
    ) -> Iterator["Merge"]:
        """One, where taps can be merged."""
        if not isinstance(merged_key(key), str):
            yield cls()


@lru_cache(maxsize=65536)
def merged_key(key: SpecKey) -> Merged | str:
    """The key with one dimension for taps and channels; or why there is none."""
    kind, graph = key.kind, key.kind.as_graph
    pair = None if graph is None else taps(graph)
    if graph is None or pair is None:
        return f"{kind.label} is no convolution whose taps and channels are summed"
    if graph.padded_dims:
        return "windows reach beyond the image: pad it first"
    for value in (pair.image, pair.weights):
        name, tensor = kind.operands[value].name, key.tensors[value]
        if not tensor.contiguous or not pair.is_ready(graph, value, tensor.layout):
            return (
                f"channels of '{name}' do not follow upon its taps without gaps: bring "
                f"it to the layout {pair.layout(graph, value)} first (pad)"
            )
    part = merged(graph, pair)
    made = Compose.of(part.graph)
    forms = dict(zip(kind.values, key.tensors, strict=True))
    forms[pair.image] = dataclasses.replace(forms[pair.image], contiguous=False)
    forms[pair.weights] = _without(
        forms[pair.weights], graph.axes(pair.weights).index(IndexMap.of(pair.tap))
    )
    tensors = tuple(forms[part.values[value]] for value in made.values)
    return Merged(pair, part, SpecKey(made, tensors, key.serial))


def _without(tensor: TensorSpec, axis: int) -> TensorSpec:
    """The form without an axis, which the next one has taken in."""
    dims = tuple(
        dataclasses.replace(d, dim=d.dim - (d.dim > axis))
        for d in tensor.layout.dims
        if d.dim != axis
    )
    return dataclasses.replace(tensor, layout=Layout(dims))
