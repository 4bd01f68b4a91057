"""PackBeside: the first rows are computed while an operand is packed for all others.

Before::

    matmul(m=512, lhs, rhs, out)

After ``PackBeside("matmul_packing", 6, L2)``, where `Move` and `Tile` leave a loop that
copies, and then one that computes::

    matmul_packing(m=6, lhs, rhs, out, packed)      # a kernel: no hole
    for i in 1 until 85:  matmul(m=6, …, packed, …)   # main, 84 times
    matmul(m=2, …, packed, …)                         # remainder

To pack is to wait for lines and to store them; products that are done meanwhile take no
time of their own.
"""

import dataclasses
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar

import numpy as np

from morello.actions.base import Action, Child, Expansion
from morello.actions.crowds import aliased
from morello.actions.loops import expand_loop, tile_key
from morello.actions.move import fits, leaves_room
from morello.actions.traffic import traffic, waited
from morello.errors import ScheduleError
from morello.kernels import KERNELS
from morello.kernels.base import Copied, Kernel
from morello.spec import Level, Matmul, Spec, SpecKey, TensorSpec
from morello.spec.frame import Condition, Frame, Ints
from morello.targets import Target

_M = 1
"""The dimension of rows, which the packed operand does not have."""


@dataclasses.dataclass(frozen=True, order=True)
class PackBeside(Action):
    """Tiles of ``size`` rows: ``kernel`` computes the first and packs rhs into
    ``level``, where those after it and the remainder read it."""

    name: ClassVar[str] = "pack_beside"
    kernel: str
    """A kernel of the target that leaves a copy of rhs."""
    size: int
    """The rows of a tile, fewer than there are."""
    level: Level
    """The cache that the copy is counted in: L2, or L1."""

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Holes ``main`` and ``remainder``.

        cost = that of a loop over all tiles + the slower of the kernel and of the lines
        of rhs + what it takes to store the copy + the lines of lhs and out. Where rows
        fall into the same sets, lines that are under way are in each other's way, and
        products and lines take as long as both.
        """
        key, kernel = frame.key, KERNELS.get(self.kernel)
        copied = None if kernel is None else kernel.copied
        reason = self._refusal(key, kernel, copied, target)
        if reason or kernel is None or copied is None:
            return Expansion((Condition(False, reason),), 0)
        index = copied.operand
        dest = copied.tensor(key, self.level)
        loop = expand_loop(frame, _M, self.size, target)
        main, rest = loop.children
        serial = dataclasses.replace(main.frame.key, serial=True)
        tile = dataclasses.replace(main.frame, key=serial)
        near = dataclasses.replace(tile, key=_near(tile.key, index))
        sizes = frame.operand_sizes(index)
        name = key.kind.operands[index].name
        amount = dest.lines(sizes)
        conditions = (
            *loop.conditions,
            *kernel.conditions(near),
            *fits(frame, name, dest, sizes, amount, target),
            *leaves_room(frame, name, dest, sizes),
        )
        lines: Ints = 0
        for operand, tensor in enumerate(tile.key.tensors):
            if operand != index and tensor.level is not Level.L1:
                to = near.key.tensors[operand]
                lines = lines + traffic(tile, operand, to, target)
        products = kernel.cost(near, target.prices)
        waits = _waits(frame, index, dest, target)
        copy = dest.lines(sizes) * target.cost("store", self.level)
        together = np.maximum(products, waits)
        if aliased(key, index, target):
            together = products + waits
        cost = loop.cost + together + copy + lines
        limits = target.take(frame.limits, self.level, amount)

        def packed(child: Child, times: Ints) -> Child:
            key = tile.key.with_tensor(index, dest)
            below = Frame(key, child.frame.sizes, limits)
            return dataclasses.replace(child, frame=below, times=times, there=times)

        children = (packed(main, main.times - 1), packed(rest, rest.times))
        return Expansion(conditions, cost, children)

    def first(self, spec: Spec) -> tuple[Spec, int, TensorSpec]:
        """What the kernel implements in a Spec that the action applies to; the operand
        that it packs; and the form of the copy.

        Raises:
            ScheduleError: there is no such kernel.
        """
        kernel = KERNELS.get(self.kernel)
        if kernel is None or kernel.copied is None:
            raise ScheduleError(f"'{self.kernel}' is no kernel that leaves a copy")
        index = kernel.copied.operand
        key = dataclasses.replace(_near(tile_key(spec.key, _M), index), serial=True)
        sizes = (*spec.sizes[:_M], self.size, *spec.sizes[_M + 1 :])
        first = dataclasses.replace(spec, tensors=key.tensors, sizes=sizes, serial=True)
        return first, index, kernel.copied.tensor(spec.key, self.level)

    def _refusal(
        self, key: SpecKey, kernel: Kernel | None, copied: Copied | None, target: Target
    ) -> str:
        """Why it applies to no Spec of a key; empty if it may."""
        legal = _packing(key, target)
        if kernel is None or copied is None or self.kernel not in target.kernels:
            return (
                f"'{self.kernel}' is no kernel of the target that leaves a copy of an "
                f"operand; those are: {', '.join(legal) or 'none'}"
            )
        if self.kernel not in legal:
            forms = " ".join(map(str, key.tensors))
            return f"'{self.kernel}' computes no rows of {key.kind.label} {forms}"
        source = key.tensors[copied.operand]
        if self.level not in (Level.L2, Level.L1) or self.level > source.level:
            return f"rhs is in {source.level} and is packed into L2 or L1, no farther"
        return ""

    @classmethod
    def candidates(
        cls, key: SpecKey, axes: tuple[tuple[int, ...], ...], target: Target
    ) -> Iterator["PackBeside"]:
        """As many rows as the kernel takes, into L2.

        A copy in L1 is made again for each panel, from lines that are in L2 by then.
        """
        for name in _packing(key, target) if target.relayouts else ():
            copied = KERNELS[name].copied
            if copied is not None and copied.rows in axes[_M][:-1]:
                yield cls(name, copied.rows, Level.L2)


@lru_cache(maxsize=65536)
def _near(key: SpecKey, operand: int) -> SpecKey:
    """The key with all operands but one in L1."""
    tensors = tuple(
        tensor if index == operand else dataclasses.replace(tensor, level=Level.L1)
        for index, tensor in enumerate(key.tensors)
    )
    return dataclasses.replace(key, tensors=tensors)


@lru_cache(maxsize=65536)
def _packing(key: SpecKey, target: Target) -> tuple[str, ...]:
    """The kernels of a target that pack an operand of a key, and compute rows of it."""
    if not isinstance(key.kind, Matmul):
        return ()
    return tuple(
        name
        for name in target.kernels
        if (copied := KERNELS[name].copied) is not None
        and not any(tensor.level is Level.VRF for tensor in key.tensors)
        and KERNELS[name].accepts(_near(key, copied.operand))
    )


def _waits(frame: Frame, index: int, dest: TensorSpec, target: Target) -> Ints:
    """Millicycles that the lines of rhs take to come, by themselves.

    A row is left after a piece of it, for each panel, and come back to.
    """
    source, sizes = frame.key.tensors[index], frame.operand_sizes(index)
    line = target.cost("line", Level.L2)
    if source.level is Level.GL:
        line += target.cost("line", Level.GL) + target.cost("row", Level.GL)
    if aliased(frame.key, index, target):
        line += target.prices.row_aliased
    return source.lines(sizes) * line + waited(frame, index, dest, target)
