"""Merge: taps and channels, neighbours in memory, become one dimension.

Before, where both factors have no gaps and the channels follow upon the taps::

    y[f,u,v] += sum(w[f,i,j,c] * x[2*u+i,2*v+j,c])

After::

    y[f,u,v] += sum(w[f,i,k] * z[2*u+i,v,k])     # z is a view of x that overlaps itself

Nothing is copied. A product of matrices has more to sum then: 21 numbers instead of 3
where seven taps read three channels.
"""

import dataclasses
from functools import lru_cache
from typing import ClassVar

from morello.actions.dims.view import View, ViewAction, view_of_part, without_axes
from morello.spec import Spec, SpecKey
from morello.spec.graphs.merging import merged, taps
from morello.spec.index_map import IndexMap
from morello.spec.varying import varying_places


@dataclasses.dataclass(frozen=True, order=True)
class Merge(ViewAction):
    """Merges the dimensions of taps and channels of a convolution into one."""

    name: ClassVar[str] = "merge"
    takes_ranges: ClassVar[bool] = True

    def view(self, key: SpecKey) -> View | str:
        """The key with one dimension for taps and channels, or the reason why none
        has."""
        return _merged(key)

    def passes(self, spec: Spec) -> bool:
        """Whether the strides of taps and channels of the image are settled."""
        graph = spec.kind.as_graph
        pair = None if graph is None else taps(graph)
        if pair is None:
            return True
        dims = [d.dim for d in spec.tensors[pair.image].layout.dims]
        places = varying_places(spec, pair.image)
        return max(places, default=-1) < dims.index(pair.window)


@lru_cache(maxsize=65536)
def _merged(key: SpecKey) -> View | str:
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
    forms = dict(zip(kind.values, key.tensors, strict=True))
    forms[pair.image] = dataclasses.replace(forms[pair.image], contiguous=False)
    tap = graph.axes(pair.weights).index(IndexMap.of(pair.tap))
    forms[pair.weights] = without_axes(forms[pair.weights], frozenset({tap}))
    return view_of_part(key, part, forms, (pair.tap, pair.channel))
