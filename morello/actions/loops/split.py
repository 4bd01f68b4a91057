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

from morello.actions.base import Action, Axes, Expansion
from morello.actions.loops.base import Loop, expand_loop
from morello.machine import Target
from morello.spec import SpecKey
from morello.spec.frame import Condition, Frame


@dataclasses.dataclass(frozen=True, order=True)
class Split(Loop):
    """A loop over parts of ``size`` of the reduction ``dim``, then the remainder."""

    name: ClassVar[str] = "split"

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

    @classmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator[Action]:
        """Every size that an axis has, but its last, on every reduction."""
        for dim in filter(key.kind.loops, key.kind.reductions):
            yield from _splits(key.kind.dims[dim], axes[dim])


@lru_cache(maxsize=4096)
def _splits(dim: str, axis: tuple[int, ...]) -> tuple[Split, ...]:
    return tuple(Split(dim, size) for size in axis[:-1])
