"""The actions that the search tries on a key."""

import itertools
import math
from collections.abc import Iterator
from functools import lru_cache

from morello.actions.base import Action, Axes
from morello.actions.copies.move import Move
from morello.actions.copies.pad import Pad
from morello.actions.copies.unfold import Unfold
from morello.actions.dims.collapse import Collapse
from morello.actions.dims.drop import Drop
from morello.actions.dims.merge import Merge
from morello.actions.dims.squeeze import Squeeze
from morello.actions.graphs.cut import Cut
from morello.actions.graphs.cut_in_place import CutInPlace
from morello.actions.graphs.online import Online
from morello.actions.loops.border import Border
from morello.actions.loops.grid_parallel import GridParallel
from morello.actions.loops.peel import Peel
from morello.actions.loops.split import Split
from morello.actions.loops.split_parallel import SplitParallel
from morello.actions.loops.taps import Taps
from morello.actions.loops.tile import Tile
from morello.actions.loops.tile_parallel import TileParallel
from morello.actions.select import Select
from morello.actions.sizes.range import Range
from morello.actions.specialize_range import SpecializeRange
from morello.actions.to_accum import ToAccum
from morello.machine import Target
from morello.spec import SpecKey
from morello.spec.graphs.collapsing import dropped
from morello.spec.graphs.products import normal
from morello.spec.structure import is_common, leader
from morello.spec.tensors.layout import LINE_BYTES

ACTIONS: tuple[type[Action], ...] = (
    Tile,
    TileParallel,
    GridParallel,
    Split,
    SplitParallel,
    Peel,
    Move,
    SpecializeRange,
    ToAccum,
    CutInPlace,
    Cut,
    Online,
    Squeeze,
    Pad,
    Border,
    Taps,
    Merge,
    Unfold,
    Collapse,
    Drop,
    Range,
    Select,
)


def candidates(key: SpecKey, axes: Axes, target: Target) -> tuple[Action, ...]:
    """Every action that the search tries, in the order in which equal costs decide.

    Where a dimension can go, or two can be one, or a graph is but a product of
    matrices, that is what becomes of it first. What one thread does with elements that
    have nothing in common, it does with one after another. Where the operands of the
    goal stay in L2 from call to call, one that is counted in memory is there: it comes
    to L2 before anything else, in the form that it has. After the taps along one
    dimension come those along the next.

    Args:
        key: of the Specs.
        axes: the sizes that each dimension takes, ascending.
        target: the machine.
    """
    simpler = _simpler(key, axes, target)
    if simpler is not None:
        return (simpler,)
    apart = _one_by_one(key, axes, target)
    if apart:
        return apart
    following = Taps.following(key, target)
    if following:
        return following
    arrival = _arrival(key, target)
    if arrival is not None:
        return arrival, *SpecializeRange.candidates(key, axes, target)
    actions: list[Action] = [*_without_products(key, axes)]
    for by_sizes, kinds in _TOGETHER:
        if not by_sizes:
            actions += _of_key(kinds, key, target)
            continue
        for kind in kinds:
            actions += kind.candidates(key, axes, target)
    return tuple(actions)


_TOGETHER = tuple(
    (by_sizes, tuple(kinds))
    for by_sizes, kinds in itertools.groupby(ACTIONS, lambda kind: kind.by_sizes)
)
"""The actions in their order, in groups: whether their candidates depend on sizes."""


@lru_cache(maxsize=65536)
def _of_key(
    kinds: tuple[type[Action], ...], key: SpecKey, target: Target
) -> tuple[Action, ...]:
    """The candidates of some actions, whatever the sizes."""
    return tuple([a for kind in kinds for a in kind.candidates(key, (), target)])


def _simpler(key: SpecKey, axes: Axes, target: Target) -> Action | None:
    """An action that removes a dimension or simplifies the kind at no cost; None if no
    such action applies."""
    graph = key.kind.as_graph
    if graph is None:
        return next(Collapse.candidates(key, axes, target), None)
    simpler: Iterator[Action] = itertools.chain(
        Drop.candidates(key, axes, target),
        Collapse.candidates(key, axes, target),
        Squeeze.candidates(key, axes, target) if normal(graph) is not None else (),
    )
    return next(simpler, None)


def _one_by_one(key: SpecKey, axes: Axes, target: Target) -> tuple[Action, ...]:
    """The loop over a dimension of which two elements share nothing, such as heads of
    attention, and what is left of one of them: no other order is better, and all that
    follows is as if there were one alone. What they all read, as a mask of scores, may
    come nearer before, whole or in tiles.

    Not where two of them share lines of an operand, so that it would be read twice.
    """
    if not key.serial:
        return ()
    for dim, name in enumerate(key.kind.dims):
        if axes[dim][0] != 1 or len(axes[dim]) < 2 or not is_common(key.kind, dim):
            continue
        loop, drop = Tile(name, 1), Drop(name)
        left = drop.view(loop.loop_key(key))
        if not isinstance(left, str) and _has_lines(key, axes, dim):
            return *_of_shared(key, axes, dim, target), loop, drop
    return ()


def _of_shared(key: SpecKey, axes: Axes, dim: int, target: Target) -> Iterator[Action]:
    """The moves of the inputs that all elements of a dimension read, and tiles along
    their dimensions."""
    kind = key.kind
    shared = [o for o in kind.operands if o.rank > 1 and dim not in o.dims]
    names = {o.name for o in shared}
    dims = {kind.dims[d] for o in shared for d in o.dims}
    for action in Tile.candidates(key, axes, target):
        if isinstance(action, Tile) and action.dim in dims:
            yield action
    for action in Move.candidates(key, axes, target):
        if isinstance(action, Move) and action.operand in names:
            yield action


def _without_products(key: SpecKey, axes: Axes) -> Iterator[Drop]:
    """The rest of one column where vectors can go along a dimension that all values
    have, as the groups of a convolution: a sum of rows, and no product of matrices."""
    graph = key.kind.as_graph
    if graph is None or not graph.contractions:
        return
    pairs = zip(key.kind.operands, key.tensors, strict=True)
    inner = {o.axes[t.layout.innermost].dim for o, t in pairs if o.rank}
    if len(inner) > 1 or not all(d and is_common(key.kind, d) for d in inner):
        return
    for dim, name in enumerate(key.kind.dims):
        if axes[dim][0] == 1 and dim not in inner:
            part, drop = dropped(graph, dim), Drop(name)
            is_product = part is None or part.graph.contractions
            if not is_product and not isinstance(drop.view(key), str):
                yield drop


def _has_lines(key: SpecKey, axes: Axes, dim: int) -> bool:
    """Whether what an operand has of one element of a dimension is lines of its own."""
    for operand, tensor in zip(key.kind.operands, key.tensors, strict=True):
        if dim not in operand.dims:
            continue
        order = [d.dim for d in tensor.layout.dims]
        place = order.index(operand.axis(dim))
        inside = {*order[place + 1 :]}
        extents = [axes[d][-1] for a in inside for d in operand.axes[a].dims]
        if place and math.prod(extents) * tensor.dtype.itemsize < LINE_BYTES:
            return False
    return True


def _arrival(key: SpecKey, target: Target) -> Move | None:
    """The move of the first operand that is in L2 though it is counted in memory."""
    if not (key.serial and target.operand_context.near):
        return None
    for i, (operand, tensor) in enumerate(
        zip(key.kind.operands, key.tensors, strict=True)
    ):
        if tensor.level.is_main and leader(key.kind, i) == i:
            return Move(operand.name, target.caches[-1], tensor.layout)
    return None
