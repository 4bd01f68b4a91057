"""Drop: a dimension of one element goes.

Before, where d2 has size 1::

    y[f,u] = sum(w[f,c,i] * x[c,2*u+i])

After ``Drop("d3")``, which is i::

    y[f,u] = sum(w[f,c] * x[c,2*u])          # views

Nothing is copied. The search drops whatever it can before anything else.
"""

import dataclasses
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar

from morello.actions.base import Action, Axes
from morello.actions.dims.view import View, ViewAction, view_of_part, without_axes
from morello.machine import Target
from morello.spec import Kind, SpecKey, TensorSpec
from morello.spec.graphs.collapsing import dropped, dropped_axes


@dataclasses.dataclass(frozen=True, order=True)
class Drop(ViewAction):
    """The dimension ``dim``, of size 1, goes."""

    name: ClassVar[str] = "drop"
    by_sizes: ClassVar[bool] = True
    takes_ranges: ClassVar[bool] = True
    dim: str

    def view(self, key: SpecKey) -> View | str:
        """The key without the dimension, or the reason why it has to stay."""
        return _dropped(self.dim, key)

    @classmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator[Action]:
        """The first dimension that is 1 in every Spec of the key, and can go."""
        if key.kind.as_graph is None:
            return
        for name, sizes in zip(key.kind.dims, axes, strict=True):
            if sizes == (1,) and not isinstance(cls(name).view(key), str):
                yield cls(name)
                return


def may_drop(kind: Kind, axes: Axes) -> tuple[int, ...]:
    """The dimensions of a graph that are 1 on all of an axis, and can go."""
    graph = kind.as_graph
    if graph is None:
        return ()
    ones = [dim for dim, axis in enumerate(axes) if axis == (1,)]
    return tuple(dim for dim in ones if dropped(graph, dim) is not None)


@lru_cache(maxsize=65536)
def _dropped(name: str, key: SpecKey) -> View | str:
    kind, graph = key.kind, key.kind.as_graph
    if graph is None:
        return f"{kind.label} is no graph"
    if name not in kind.dims:
        return f"it has no dimension '{name}'; those are: {', '.join(kind.dims)}"
    dim = kind.dims.index(name)
    part = dropped(graph, dim)
    if part is None:
        return f"a value has no other dimension than {name}, or reduces no other"
    forms = {}
    for value, operand, tensor in zip(
        kind.values, kind.operands, key.tensors, strict=True
    ):
        form = _without(tensor, dropped_axes(operand.axes, dim))
        if form is None:
            return (
                f"'{operand.name}' is packed along {name}, or in registers, or what "
                f"would be neighbours without {name} need not be"
            )
        forms[value] = form
    return view_of_part(key, part, forms)


def _without(tensor: TensorSpec, gone: frozenset[int]) -> TensorSpec | None:
    """The form without some axes of one element; None where there is none.

    Where one is innermost, the next axis has neighbours only if there are no gaps: a
    tile of one element of a row is followed by the rest of the row.
    """
    if not gone:
        return tensor
    if tensor.layout.innermost in gone and not tensor.contiguous:
        return None
    packed = any(d.pack for d in tensor.layout.dims if d.dim in gone)
    if packed or tensor.vector_width:
        return None
    return without_axes(tensor, gone)
