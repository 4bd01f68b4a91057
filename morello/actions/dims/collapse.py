"""Collapse: two dimensions that are neighbours in memory become one.

Before, where no operand has gaps::

    y[b,t,n] = sum(x[b,t,k] * w[k,n])

After ``Collapse("d0", "d1")``::

    y[r,n] = sum(x[r,k] * w[k,n])        # views: r is b and t

Graphs are collapsed, and kinds whose operands all have every dimension. Nothing is
copied. The search collapses whatever it can before anything else; of such kinds, what
is the outermost dimension of each operand stays where loops may have split it.
"""

import dataclasses
import itertools
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar

from morello.actions.base import Action, Axes
from morello.actions.dims.view import View, ViewAction, view_of_part, without_axes
from morello.machine import Target
from morello.spec import Kind, Layout, SpecKey, TensorSpec, argument_tensor
from morello.spec.graphs.collapsing import collapsed, come_together


@dataclasses.dataclass(frozen=True, order=True)
class Collapse(ViewAction):
    """The dimensions ``outer`` and ``inner`` become one."""

    name: ClassVar[str] = "collapse"
    takes_ranges: ClassVar[bool] = True
    outer: str
    inner: str

    def view(self, key: SpecKey) -> View | str:
        """The key with one dimension for both, or the reason why none has."""
        return _collapsed(self, key)

    @classmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator[Action]:
        """The first pair that can be one dimension."""
        action = _first(key)
        if action is not None:
            yield action


def may_collapse(kind: Kind) -> bool:
    """Whether a kind has a form with a dimension less."""
    return kind.as_graph is not None or (kind.moves_data and len(kind.dims) > 1)


@lru_cache(maxsize=65536)
def _first(key: SpecKey) -> Collapse | None:
    if not may_collapse(key.kind):
        return None
    names = key.kind.dims
    for operand, tensor in zip(key.kind.operands, key.tensors, strict=True):
        order = [operand.axes[d.dim].dim for d in tensor.layout.dims]
        for outer, inner in itertools.pairwise(order):
            if outer is not None and inner is not None and outer != inner:
                if key.kind.as_graph is None and _may_be_tiled(key, outer):
                    continue
                action = Collapse(names[outer], names[inner])
                if not isinstance(action.view(key), str):
                    return action
    return None


def _may_be_tiled(key: SpecKey, dim: int) -> bool:
    """Whether a loop may have split a dimension of gapless operands.

    Sizes of a share times another are on no ladder: such a pair stays as it is. Of maps
    whose operands are all as arguments are, no loop has: they collapse first.
    """
    arguments = (
        tensor == argument_tensor(tensor.dtype, Layout.row_major(tensor.rank))
        for tensor in key.tensors
    )
    if not key.kind.moves_data and all(arguments):
        return False
    return all(
        operand.axis(dim) == tensor.layout.dims[0].dim
        for operand, tensor in zip(key.kind.operands, key.tensors, strict=True)
    )


@lru_cache(maxsize=65536)
def _collapsed(action: Collapse, key: SpecKey) -> View | str:
    kind, graph = key.kind, key.kind.as_graph
    if not may_collapse(kind):
        return f"{kind.label} is no graph, and not every operand has all its dimensions"
    for name in (action.outer, action.inner):
        if name not in kind.dims:
            return f"it has no dimension '{name}'; those are: {', '.join(kind.dims)}"
    outer, inner = map(kind.dims.index, (action.outer, action.inner))
    if outer == inner or (graph is not None and not come_together(graph, outer, inner)):
        return f"a value has, or reduces, {action.outer} without {action.inner}"
    tensors = []
    for operand, tensor in zip(kind.operands, key.tensors, strict=True):
        if outer not in operand.dims:
            tensors.append(tensor)
            continue
        form = _joined(tensor, operand.axis(outer), operand.axis(inner))
        if form is None:
            return (
                f"'{operand.name}' has gaps, or {action.inner} does not follow upon "
                f"{action.outer} in it"
            )
        tensors.append(form)
    if graph is None:
        fewer = dataclasses.replace(kind, **{"rank": len(kind.dims) - 1})
        dims = tuple(dim for dim in range(len(kind.dims)) if dim != outer)
        every = tuple(range(len(tensors)))
        collapsed_key = SpecKey(fewer, tuple(tensors), key.serial)
        return View(collapsed_key, dims, every, (outer, inner))
    part = collapsed(graph, outer, inner)
    forms = dict(zip(kind.values, tensors, strict=True))
    return view_of_part(key, part, forms, (outer, inner))


def _joined(tensor: TensorSpec, outer: int, inner: int) -> TensorSpec | None:
    """The form with one axis for two neighbours; None where they are none."""
    order = [d.dim for d in tensor.layout.dims]
    if tensor.layout.is_packed or not tensor.contiguous or tensor.vector_width:
        return None
    if order.index(inner) != order.index(outer) + 1:
        return None
    return without_axes(tensor, frozenset({outer}))
