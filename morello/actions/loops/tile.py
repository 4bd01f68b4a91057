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

from morello.actions.base import Action, Axes, Expansion
from morello.actions.loops.base import Loop, expand_loop, registers_hold
from morello.machine import Target
from morello.spec import SpecKey
from morello.spec.frame import Frame


@dataclasses.dataclass(frozen=True, order=True)
class Tile(Loop):
    """A loop over tiles of ``size`` along ``dim``, then the remainder by itself."""

    name: ClassVar[str] = "tile"

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

    @classmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator[Action]:
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
