"""Loops over tiles: what `Tile`, `Split` and `TileParallel` have in common."""

import dataclasses
from functools import lru_cache
from typing import ClassVar

from morello.actions.base import Action, Child, Expansion, LoopForm
from morello.cost.of_target import cost_model
from morello.machine import Target
from morello.spec import Layout, Spec, SpecKey
from morello.spec.frame import Condition, Frame
from morello.spec.structure import is_common


@dataclasses.dataclass(frozen=True, order=True)
class Loop(Action):
    """A loop over tiles of ``size`` along ``dim``, then the remainder."""

    turn: ClassVar[int] = 5
    by_sizes: ClassVar[bool] = True
    takes_ranges: ClassVar[bool] = True
    dim: str
    """The name of a dimension."""
    size: int
    """The size of a tile, smaller than the dimension."""

    def loop_dim(self, key: SpecKey) -> int:
        """The index of the dimension that the loop is over."""
        return key.kind.dims.index(self.dim)

    def is_unbounded(self, spec: Spec) -> bool:
        """True: it makes more trips."""
        return True

    def loop_key(self, key: SpecKey) -> SpecKey:
        """The key of the tiles."""
        return tile_key(key, self.loop_dim(key))

    def loop_form(self, key: SpecKey, target: Target) -> LoopForm:
        """The form of a serial loop (`serial_form`)."""
        return serial_form(key, self.loop_dim(key))


def expand_loop(
    frame: Frame, dim: int, size: int, target: Target, extra: tuple[Condition, ...] = ()
) -> Expansion:
    """A loop over tiles of ``size`` along ``dim``, and what remains after it.

    cost = trips · main + remainder + what the loop costs by itself (`CostModel.loop`).
    """
    extent = frame.sizes[dim]
    name = frame.key.kind.dims[dim]
    step = max(size, 1)
    trips = extent // step
    rest = extent % step
    has_rest = (rest != 0) * 1
    key = tile_key(frame.key, dim)
    conditions = (
        *extra,
        Condition(size >= 1, lambda: f"size {size} is not positive"),
        Condition(
            size < extent,
            lambda: f"size {size} is not smaller than {name} = {extent}",
            is_of_settled=True,
        ),
        *_pack_conditions(frame.key, dim, size),
        *_block_conditions(frame, dim, size),
        Condition(
            size % (grain := frame.key.kind.grain(dim)) == 0,
            lambda: (
                f"size {size} cuts groups of {grain} neighbours of {name}, which "
                f"{frame.key.kind.label} takes together"
            ),
        ),
    )
    cost = cost_model(target).loop(trips, has_rest)
    dims = tuple(range(len(frame.sizes)))
    main = Child("main", _resized(frame, key, dim, size), trips, dims)
    remainder = Child("remainder", _resized(frame, key, dim, rest), has_rest, dims)
    return Expansion(conditions, cost, (main, remainder))


@lru_cache(maxsize=65536)
def tile_key(key: SpecKey, dim: int) -> SpecKey:
    """The key of tiles along ``dim``: operands that have it are tiles from now on.

    Of a graph all operands are, since what each of them is would make many keys; but
    one of several that have nothing in common, as heads of attention, is as the whole
    was, where it is outermost in all operands.
    """
    if not key.kind.has_element:
        if is_common(key.kind, dim) and all(
            tensor.stays_gapless(operand.axis(dim))
            for operand, tensor in zip(key.kind.operands, key.tensors, strict=True)
            if dim in operand.dims
        ):
            return key
        tiles = (
            dataclasses.replace(t, contiguous=False) if t.contiguous else t
            for t in key.tensors
        )
        return SpecKey(key.kind, tuple(tiles), key.serial)
    tensors = tuple(
        tensor.tiled(operand.axis(dim)) if dim in operand.dims else tensor
        for operand, tensor in zip(key.kind.operands, key.tensors, strict=True)
    )
    return SpecKey(key.kind, tensors, key.serial)


@lru_cache(maxsize=65536)
def serial_form(key: SpecKey, dim: int) -> LoopForm:
    """The form of serial loops along a dimension: tiles that would cut groups, packs or
    blocks of it are refused."""
    kind = key.kind
    packs = tuple((pack, odd_even) for _, _, pack, odd_even in _packs_along(key, dim))
    blocks = tuple(
        axis
        for operand in kind.operands
        if dim in operand.dims and (axis := operand.map(dim)).is_divided
    )
    return LoopForm((kind.grain(dim), packs, blocks), key)


def registers_hold(key: SpecKey, dim: int) -> bool:
    """Whether an operand in registers has the dimension: then it cannot be tiled."""
    return any(
        tensor.level.is_registers and dim in operand.dims
        for operand, tensor in zip(key.kind.operands, key.tensors, strict=True)
    )


def _pack_conditions(key: SpecKey, dim: int, size: int) -> tuple[Condition, ...]:
    conditions = []
    for operand, layout, pack, odd_even in _packs_along(key, dim):
        fits = size % pack == 0 or (size == 1 if odd_even else pack % size == 0)
        if not fits:
            conditions.append(
                Condition(
                    False,
                    f"size {size} is neither a multiple nor a divisor of the pack of "
                    f"{pack} in the layout {layout} of '{operand}'",
                )
            )
    return tuple(conditions)


def _block_conditions(frame: Frame, dim: int, size: int) -> tuple[Condition, ...]:
    """Conditions that tiles neither cut nor shift the blocks of a divided axis."""
    kind, extent = frame.key.kind, frame.sizes[dim]
    return tuple(
        Condition(
            axis.keeps(size, extent),
            f"size {size} is neither a multiple nor a divisor of the {axis.divisor} "
            f"{kind.dims[dim]} for which '{operand.name}' has one element",
        )
        for operand in kind.operands
        if dim in operand.dims and (axis := operand.map(dim)).is_divided
    )


@lru_cache(maxsize=65536)
def _packs_along(key: SpecKey, dim: int) -> tuple[tuple[str, Layout, int, bool], ...]:
    """The packs of a dimension: operand, its layout, how many of the dimension, whether
    odd-even."""
    packs = []
    for operand, tensor in zip(key.kind.operands, key.tensors, strict=True):
        if dim in operand.dims:
            axis, layout = operand.axis(dim), tensor.layout
            odd_even = any(d.odd_even and d.dim == axis for d in layout.dims)
            if layout.pack(axis) != 1:
                pack = layout.pack(axis) * operand.map(dim).divisor
                packs.append((operand.name, layout, pack, odd_even))
    return tuple(packs)


def _resized(frame: Frame, key: SpecKey, dim: int, size: object) -> Frame:
    sizes = (*frame.sizes[:dim], size, *frame.sizes[dim + 1 :])
    return Frame(key, sizes, frame.limits)
