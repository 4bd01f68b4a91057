"""Tiles of each operand: which one lies in which memory, from the whole to a node.

An operand of the whole Spec is followed down the tree: a loop makes its tile smaller, a
move adds a stage. A copy's own Spec (`move`) has the tile before and after it.
"""

import dataclasses

from morello.actions import Move
from morello.actions.copies.move import copies, held
from morello.machine import Target
from morello.search import Branch, Impl
from morello.spec import Layout, Memory, Spec, TensorSpec


@dataclasses.dataclass(frozen=True)
class Stage:
    """A tile of an operand where it was brought, or where it lay at first."""

    level: Memory
    layout: Layout
    shape: tuple[int, ...]
    """In logical order."""
    amount: int
    """Registers or cache lines that it takes there; 0 in MEM and of an argument."""
    is_copy: bool
    """Whether the tile is copied to a buffer, or only counts as held by a cache."""


@dataclasses.dataclass(frozen=True)
class Tiles:
    """The tiles of one operand of a node."""

    name: str
    """The operand, as the node's Spec calls it."""
    origin: str
    """The operand of the whole Spec that it is a part of."""
    dims: tuple[str, ...]
    """The names of its dimensions in the whole Spec."""
    stages: tuple[Stage, ...]
    """The farthest first; in the last, the node's tile lies."""
    shape: tuple[int, ...]
    """The tile that the node works on."""

    @property
    def level(self) -> Memory:
        """Memory in which the node finds the operand."""
        return self.stages[-1].level


def whole(spec: Spec) -> tuple[Tiles, ...]:
    """The operands of a whole Spec, each in one piece."""
    operands = []
    for index in range(len(spec.kind.operands)):
        operands.append(_first(spec, index, _axis_names(spec, index)))
    return tuple(operands)


def moved(impl: Impl, tiles: tuple[Tiles, ...], target: Target) -> Tiles | None:
    """Tiles of the operand that a program's first action moves; None if it
    moves none."""
    action = impl.action
    if not isinstance(action, Move):
        return None
    index = [t.name for t in tiles].index(action.operand)
    before = tiles[index]
    source = impl.spec.tensors[index]
    dest = action.destination(source, target)
    stage = Stage(
        action.level,
        action.layout,
        before.shape,
        amount(held(source, dest), before.shape),
        copies(source, dest),
    )
    return dataclasses.replace(before, stages=(*before.stages, stage))


def amount(tensor: TensorSpec, shape: tuple[int, ...]) -> int:
    """The registers or cache lines that a tile takes; 0 in main memory."""
    return 0 if tensor.level.is_main else int(tensor.amount(shape))


def below(
    impl: Impl, branch: Branch, tiles: tuple[Tiles, ...], after: Tiles | None
) -> tuple[Tiles, ...]:
    """Tiles of the operands of a child.

    Args:
        tiles: those of the Impl, by operand.
        after: those of the operand that its action moved.
    """
    spec = branch.impl.spec
    known = {t.name: t for t in tiles}
    if after is not None:
        before, known[after.name] = known[after.name], after
        if branch.role in ("prologue", "epilogue"):
            ends = (before, after) if branch.role == "prologue" else (after, before)
            known = dict(zip((o.name for o in spec.kind.operands), ends, strict=True))
    operands = []
    for index, operand in enumerate(spec.kind.operands):
        tile = known.get(operand.name)
        if tile is None:
            operands.append(_first(spec, index, _axis_names(spec, index)))
        else:
            shape = spec.shape(index)
            if len(shape) != len(tile.shape):
                tile = _seen(tile, spec, index)
            operands.append(dataclasses.replace(tile, name=operand.name, shape=shape))
    return tuple(operands)


def _seen(tile: Tiles, spec: Spec, index: int) -> Tiles:
    """A tile seen through a view, as `collapse` and `drop` leave it."""
    *before, last = tile.stages
    layout, shape = spec.tensors[index].layout, spec.shape(index)
    last = dataclasses.replace(last, layout=layout, shape=shape)
    dims = _axis_names(spec, index)
    return dataclasses.replace(tile, dims=dims, stages=(*before, last))


def _axis_names(spec: Spec, index: int) -> tuple[str, ...]:
    """Name each axis of an operand: ``n``; a window ``oh+kh``; ``k//32``."""
    operand, names = spec.kind.operands[index], spec.kind.dims
    sums = ("+".join(names[dim] for dim in axis.dims) or "1" for axis in operand.axes)
    divisors = (f"//{a.divisor}" if a.is_divided else "" for a in operand.axes)
    return tuple(map("".join, zip(sums, divisors, strict=True)))


def _first(spec: Spec, index: int, dims: tuple[str, ...]) -> Tiles:
    tensor, shape = spec.tensors[index], spec.shape(index)
    name = spec.kind.operands[index].name
    stage = Stage(tensor.level, tensor.layout, shape, 0, is_copy=False)
    return Tiles(name, name, dims, (stage,), shape)
