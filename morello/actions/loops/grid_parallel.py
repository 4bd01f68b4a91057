"""GridParallel: tiles of two dimensions at once, one for each thread.

Before::

    matmul(m=100, n=100, …)

After ``GridParallel("m", 64, "n", 64)`` on four threads, at the same time::

    matmul(m=64, n=64, …)    # main
    matmul(m=64, n=36, …)    # right
    matmul(m=36, n=64, …)    # below
    matmul(m=36, n=36, …)    # corner

Threads that share one dimension alone each read all of an operand that lacks it; those
of a grid read a part of every operand.
"""

import dataclasses
from collections.abc import Iterator
from typing import ClassVar

from morello.actions.base import Action, Axes, Child, Expansion
from morello.actions.loops.base import expand_loop
from morello.actions.loops.tile import tiled_dims
from morello.actions.loops.tile_parallel import parallel_refusal
from morello.cost.of_target import cost_model
from morello.machine import Target
from morello.spec import Spec, SpecKey
from morello.spec.frame import Condition, Frame
from morello.spec.shares import share_of


@dataclasses.dataclass(frozen=True, order=True)
class GridParallel(Action):
    """Tiles of ``row_size`` along ``rows`` and ``column_size`` along ``columns``.

    It stands outside of every private memory, and what it leaves is serial.
    """

    name: ClassVar[str] = "grid_parallel"
    by_sizes: ClassVar[bool] = True
    turn: ClassVar[int] = 5
    takes_ranges: ClassVar[bool] = True
    forks: ClassVar[bool] = True
    rows: str
    """A dimension's name, one that the output has."""
    row_size: int
    """The size of a tile along it, smaller than the dimension."""
    columns: str
    """Another dimension of the output."""
    column_size: int

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Holes ``main``, ``right``, ``below`` and ``corner``: whole tiles and others.

        cost = main + 2 loop + fork: a thread has one tile, and no tile
        takes longer than a whole one.
        """
        refusal = self._refusal(frame.key, target)
        if refusal:
            return Expansion.refused(refusal)
        rows, columns = map(frame.key.kind.dims.index, (self.rows, self.columns))
        down = expand_loop(frame, rows, self.row_size, target)
        strip, rest = down.children
        across = expand_loop(strip.frame, columns, self.column_size, target)
        beside = expand_loop(rest.frame, columns, self.column_size, target)
        main, right = across.children
        below, corner = beside.children
        tiles = (strip.times + rest.times) * (main.times + right.times)
        both = rest.times * right.times
        threads = target.threads
        conditions = (
            *down.conditions,
            *across.conditions,
            Condition(
                tiles <= threads,
                lambda: f"{tiles} tiles are more than the {threads} threads",
            ),
        )
        cost = cost_model(target).parallel(1, 0)
        return Expansion(
            conditions,
            cost,
            (
                _serial(main, "main", 1, 1),
                _serial(right, "right", 0, right.times),
                _serial(below, "below", 0, rest.times),
                _serial(corner, "corner", 0, both),
            ),
        )

    def _refusal(self, key: SpecKey, target: Target) -> str:
        """Why no size is legal; empty if some may be."""
        if self.rows == self.columns:
            return f"'{self.rows}' is both rows and columns of the grid"
        return parallel_refusal(key, self.rows, target) or parallel_refusal(
            key, self.columns, target
        )

    def passes(self, spec: Spec) -> bool:
        """Whether both dimensions of the grid are settled."""
        varying = {spec.kind.dims[dim] for one in spec.ranges for dim in one.dims}
        return not varying & {self.rows, self.columns}

    def is_unbounded(self, spec: Spec) -> bool:
        """True: both dimensions are settled."""
        return True

    def team_runs(self, spec: Spec) -> dict[str, int]:
        """Every tile."""
        size = dict(zip(spec.kind.dims, spec.sizes, strict=True))
        down, below = divmod(size[self.rows], self.row_size)
        across, right = divmod(size[self.columns], self.column_size)
        return {
            "main": down * across,
            "right": down * int(right > 0),
            "below": across * int(below > 0),
            "corner": int(below > 0 and right > 0),
        }

    def feature(self, key: SpecKey) -> str:
        """The dimensions that threads share."""
        return f"parallel {self.rows}x{self.columns}"

    @classmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator[Action]:
        """For each pair of dimensions, every grid with a tile for each thread."""
        dims = tiled_dims(key)
        if not dims or parallel_refusal(key, dims[0], target):
            return
        whole = {name: axes[key.kind.dims.index(name)][-1] for name in dims}
        for first, rows in enumerate(dims):
            for columns in dims[first + 1 :]:
                for down in range(2, target.threads // 2 + 1):
                    if target.threads % down:
                        continue
                    row_size = share_of(whole[rows], down)
                    column_size = share_of(whole[columns], target.threads // down)
                    if row_size < whole[rows] and column_size < whole[columns]:
                        yield cls(rows, row_size, columns, column_size)


def _serial(child: Child, role: str, times: object, there: object) -> Child:
    """A child Spec that one thread computes alone."""
    key = dataclasses.replace(child.frame.key, serial=True)
    frame = dataclasses.replace(child.frame, key=key)
    return Child(role, frame, times, child.dims, there)
