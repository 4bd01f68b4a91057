"""Split: a serial loop over parts of a reduction, each added to the output.

Before::

    matmul_accum(k=600, …)

After ``Split("k", 256)``::

    for i in 0, 1:  matmul_accum(k=256, …)    # main, twice
    matmul_accum(k=88, …)                     # remainder
"""

import dataclasses
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar

from morello.actions.base import Action, Expansion, LoopForm
from morello.actions.loops.base import (
    expand_loop,
    loop_relevant,
    serial_form,
    tile_key,
)
from morello.machine import Target
from morello.spec import SpecKey
from morello.spec.frame import Condition, Frame


@dataclasses.dataclass(frozen=True, order=True)
class Split(Action):
    """A loop over parts of ``size`` of the reduction ``dim``, then the remainder."""

    name: ClassVar[str] = "split"
    turn: ClassVar[int] = 5
    takes_ranges: ClassVar[bool] = True
    dim: str
    """The name of a reduction dimension."""
    size: int
    """The size of a part, smaller than the dimension."""

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Expand into a loop (`expand_loop`): children ``main`` and ``remainder``."""
        kind = frame.key.kind
        legal = [kind.dims[i] for i in kind.reductions]
        if self.dim not in legal:
            reason = (
                f"'{self.dim}' is not a reduction of {kind.label}; "
                f"those are: {', '.join(legal) or 'none'}"
            )
            return Expansion.refused(reason)
        dim = kind.dims.index(self.dim)
        loops = Condition(
            kind.loops(dim),
            lambda: f"{kind.label} overwrites its output: use to_accum first, or peel",
        )
        return expand_loop(frame, dim, self.size, target, (loops,))

    def relevant(self, key: SpecKey, target: Target) -> SpecKey:
        """The part of the key that the loop depends on (`loop_relevant`)."""
        return loop_relevant(key, key.kind.dims.index(self.dim))

    def loop_form(self, key: SpecKey, target: Target) -> LoopForm:
        """The form of the loop (`serial_form`)."""
        return serial_form(key, key.kind.dims.index(self.dim))

    def loop_dim(self, key: SpecKey) -> int | None:
        """The index of the reduction that the loop is over."""
        return key.kind.dims.index(self.dim)

    def loop_key(self, key: SpecKey) -> SpecKey:
        """The key of the tiles."""
        return tile_key(key, key.kind.dims.index(self.dim))

    @classmethod
    def candidates(
        cls, key: SpecKey, axes: tuple[tuple[int, ...], ...], target: Target
    ) -> Iterator["Split"]:
        """Every size that an axis has, but its last, on every reduction."""
        for dim in filter(key.kind.loops, key.kind.reductions):
            yield from _splits(key.kind.dims[dim], axes[dim])


@lru_cache(maxsize=4096)
def _splits(dim: str, axis: tuple[int, ...]) -> tuple[Split, ...]:
    return tuple(Split(dim, size) for size in axis[:-1])
