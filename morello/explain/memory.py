"""The contents of each memory while a node runs: tiles by the model, and free space."""

import dataclasses

from morello.search import Impl
from morello.spec import Limits, Memory


def counted_memories(limits: Limits) -> list[tuple[int, str]]:
    """The free part of each memory, and what it is counted in: 16 ``registers``, 512
    ``lines of L1``, 8192 ``of L2``."""
    words: list[tuple[int, str]] = []
    for memory, free in limits.items():
        if memory.is_registers:
            unit = f"registers of {memory}" if words else "registers"
        else:
            first = not any("lines" in unit for _, unit in words)
            unit = f"{'lines ' if first else ''}of {memory}"
        words.append((free, unit))
    return words


@dataclasses.dataclass(frozen=True)
class Held:
    """A tile that takes part of a memory."""

    level: Memory
    origin: str
    """The operand of the whole Spec that it is a part of; empty for a temporary."""
    shape: tuple[int, ...]
    amount: int
    """Registers or cache lines."""


@dataclasses.dataclass(frozen=True)
class Use:
    """One memory while a node runs, in registers or cache lines."""

    level: Memory
    capacity: int
    """Units of the memory that the whole program may use."""
    held: tuple[Held, ...]
    """Tiles that were brought there above the node."""
    free: int
    """The limit of the node."""
    taken: Held | None
    """Part that the node's action takes."""
    left: int
    """Units that its holes may use. What is left of a cache is rounded down to a class,
    so it may be less than ``free`` without ``taken``."""

    @property
    def rounded(self) -> int:
        """Bytes or registers that neither the tile uses nor the children are
        left."""
        used = sum(h.amount for h in self.held)
        used += self.taken.amount if self.taken else 0
        return max(self.capacity - used - self.left, 0)

    @property
    def unit(self) -> str:
        """The unit of the amounts."""
        return "registers" if self.level.is_registers else "lines"


def uses(
    impl: Impl, capacity: Limits, held: tuple[Held, ...], taken: Held | None
) -> tuple[Use, ...]:
    """Every memory at a node.

    Args:
        capacity: the limits of the whole Spec.
        held: tiles that were brought to any memory above the node.
        taken: the tile that the action of the node takes.
    """
    rows = []
    for level, amount in capacity.items():
        free = int(impl.spec.limits[level])
        holes = [int(b.impl.spec.limits[level]) for b in impl.branches]
        here = tuple(h for h in held if h.level is level)
        moved = taken if taken is not None and taken.level is level else None
        left = min(holes, default=free)
        rows.append(Use(level, int(amount), here, free, moved, left))
    return tuple(rows)
