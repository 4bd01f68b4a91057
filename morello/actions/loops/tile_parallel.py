"""TileParallel: tiles of one dimension, shared out among the threads.

Before::

    matmul(m=100, …)

After ``TileParallel("m", 24)`` on two threads::

    for each thread, at the same time:
        for its two tiles:  matmul(m=24, …)    # main
        if it is the last:  matmul(m=4, …)     # remainder

Each thread gets neighbouring tiles, as many as any other or one less, and the remainder
is one of them. So the remainder counts only where the last thread alone has one more
than the others; else another thread has a whole tile to do in that time.
"""

import dataclasses
from collections.abc import Iterator
from typing import ClassVar

from morello.actions.base import Action, Axes, Expansion, LoopForm
from morello.actions.loops.base import Loop, expand_loop
from morello.actions.loops.tile import tiled_dims
from morello.cost.of_target import cost_model
from morello.machine import Target
from morello.spec import Spec, SpecKey
from morello.spec.frame import Frame


@dataclasses.dataclass(frozen=True, order=True)
class TileParallel(Loop):
    """A parallel loop over tiles of ``size`` along ``dim``, then the remainder.

    It stands outside of every private memory, and what it leaves is serial.
    """

    name: ClassVar[str] = "tile_parallel"
    forks: ClassVar[bool] = True

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Holes ``main``, as often as the busiest thread runs it, and ``remainder``.

        With ``items`` tiles, the remainder one of them: cost = ceil(items / threads) ·
        main + `CostModel.parallel`; the last main is the remainder if items mod
        threads = 1.
        """
        kind = frame.key.kind
        refusal = parallel_refusal(frame.key, self.dim, target)
        if refusal:
            return Expansion.refused(refusal)
        dim = kind.dims.index(self.dim)
        serial = expand_loop(frame, dim, self.size, target)
        main, remainder = (
            dataclasses.replace(
                child,
                frame=dataclasses.replace(child.frame, key=self.loop_key(frame.key)),
            )
            for child in serial.children
        )
        trips, has_rest = main.times, remainder.times
        items = trips + has_rest
        rounds = -(-items // target.threads)
        alone = has_rest * (items % target.threads == 1)
        shared = dataclasses.replace(main, times=rounds - alone)
        beside = dataclasses.replace(remainder, times=alone, there=has_rest)
        cost = cost_model(target).parallel(rounds, has_rest)
        return Expansion(serial.conditions, cost, (shared, beside))

    def team_runs(self, spec: Spec) -> dict[str, int]:
        """Every tile."""
        whole, rest = divmod(spec.sizes[self.loop_dim(spec.key)], self.size)
        return {"main": whole, "remainder": int(rest > 0)}

    def loop_key(self, key: SpecKey) -> SpecKey:
        """The key of the tiles, which are serial."""
        return dataclasses.replace(super().loop_key(key), serial=True)

    def loop_form(self, key: SpecKey, target: Target) -> LoopForm:
        """The form is the key: packs and blocks count, and who runs the remainder."""
        return LoopForm(key, key)

    def feature(self, key: SpecKey) -> str:
        """The dimension that threads share."""
        return f"parallel {self.dim}"

    @classmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator[Action]:
        """Every size that an axis has, but its last, on every legal dimension."""
        for dim in tiled_dims(key):
            if parallel_refusal(key, dim, target):
                continue
            for size in axes[key.kind.dims.index(dim)][:-1]:
                yield cls(dim, size)


def parallel_refusal(key: SpecKey, dim: str, target: Target) -> str:
    """Why no parallel loop along ``dim`` is legal; empty if one may be."""
    if key.serial:
        return "the Spec is serial: parallel loops are forbidden in it"
    if target.threads < 2:
        return "the target has one thread"
    if any(not tensor.level.is_main for tensor in key.tensors):
        return "an operand is in a memory of one core: loop over threads before"
    legal = tiled_dims(key)
    if dim not in legal:
        return (
            f"'{dim}' is not a dimension of the output of {key.kind.label}; "
            f"those are: {', '.join(legal) or 'none'}"
        )
    return ""
