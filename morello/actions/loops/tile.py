"""Tile: a serial loop over tiles of one dimension that the output has.

Before::

    matmul(m=100, …)

After ``Tile("m", 48)``::

    for i in 0, 48:  matmul(m=48, …)    # main, twice
    matmul(m=4, …)                      # remainder
"""

import dataclasses
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar

from morello.actions.base import Action, Expansion, LoopForm
from morello.actions.loops.base import (
    expand_loop,
    loop_relevant,
    registers_hold,
    serial_form,
    tile_key,
)
from morello.machine import Target
from morello.spec import SpecKey
from morello.spec.frame import Frame


@dataclasses.dataclass(frozen=True, order=True)
class Tile(Action):
    """A loop over tiles of ``size`` along ``dim``, then the remainder by itself."""

    name: ClassVar[str] = "tile"
    turn: ClassVar[int] = 5
    takes_ranges: ClassVar[bool] = True
    dim: str
    """The dimension's name, one that the output has."""
    size: int
    """The size of a tile, smaller than the dimension."""

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Expand into a loop (`expand_loop`): children ``main`` and ``remainder``."""
        kind = frame.key.kind
        legal = tiled_dims(frame.key)
        if self.dim not in legal:
            reason = (
                f"'{self.dim}' is not a dimension of the output of {kind.label} "
                f"outside registers; those are: {', '.join(legal) or 'none'}"
            )
            if self.dim in kind.dims and kind.dims.index(self.dim) in kind.reductions:
                reason = f"'{self.dim}' is a reduction: use split"
            return Expansion.refused(reason)
        return expand_loop(frame, kind.dims.index(self.dim), self.size, target)

    def relevant(self, key: SpecKey, target: Target) -> SpecKey:
        """The part of the key that the loop depends on (`loop_relevant`)."""
        return loop_relevant(key, key.kind.dims.index(self.dim))

    def loop_form(self, key: SpecKey, target: Target) -> LoopForm:
        """The form of the loop (`serial_form`)."""
        return serial_form(key, key.kind.dims.index(self.dim))

    def loop_dim(self, key: SpecKey) -> int | None:
        """The index of the dimension that the loop is over."""
        return key.kind.dims.index(self.dim)

    def loop_key(self, key: SpecKey) -> SpecKey:
        """The key of the tiles."""
        return tile_key(key, key.kind.dims.index(self.dim))

    @classmethod
    def candidates(
        cls, key: SpecKey, axes: tuple[tuple[int, ...], ...], target: Target
    ) -> Iterator["Tile"]:
        """Every size that an axis has, but its last, on every legal dimension."""
        for dim in tiled_dims(key):
            yield from _tiles(dim, axes[key.kind.dims.index(dim)])


@lru_cache(maxsize=4096)
def _tiles(dim: str, axis: tuple[int, ...]) -> tuple[Tile, ...]:
    return tuple(Tile(dim, size) for size in axis[:-1])


@lru_cache(maxsize=65536)
def tiled_dims(key: SpecKey) -> tuple[str, ...]:
    """The dimensions that tiles can be made of: of the output, outside registers."""
    return tuple(
        name
        for i, name in enumerate(key.kind.dims)
        if i not in key.kind.reductions
        and key.kind.loops(i)
        and not registers_hold(key, i)
    )
