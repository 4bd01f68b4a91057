"""The memories that machines have, as rows: what each is counted in, and what fills it.

A new memory is a row of `MEMORIES`. Its name is what forms, limits and actions say; the
targets that have its CPU feature have it, and count on as much of it as
`Target.capacity` says.
"""

import dataclasses
import functools

from morello.errors import SpecError
from morello.lazy import cached_property
from morello.suggestions import did_you_mean


@functools.total_ordering
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Memory:
    """A memory: registers, a cache, or main memory. Nearer ones come first in order."""

    name: str
    source: "Memory | None" = None
    """The memory that it is filled from; None for main memory."""
    rows: int = 0
    """Rows of a register; 0 for what is no register file but counted in lines."""
    row_bytes: int = 0
    """Bytes of such a row; 0 where it is a vector of the instruction set."""
    count: int = 0
    """Units of it that each machine has; 0 where the target says how many."""
    feature: str = ""
    """The CPU feature of machines that have it; empty if all do."""
    limit: str = dataclasses.field(init=False)
    """The name of the memory's limit in the text of a Spec."""
    path: tuple["Memory", ...] = dataclasses.field(init=False)
    """The memories that it is filled through, the nearest first."""

    def __post_init__(self) -> None:
        source = self.source
        object.__setattr__(self, "limit", self.name.lower())
        object.__setattr__(self, "path", (source, *source.path) if source else ())

    @staticmethod
    def parse(text: str) -> "Memory":
        """The memory called ``text``.

        Raises:
            SpecError: no memory has this name.
        """
        names = [memory.name for memory in MEMORIES]
        if text not in names:
            raise SpecError(
                f"unknown memory level '{text}'",
                f"use one of {', '.join(names)}{did_you_mean(text, names)}",
            )
        return MEMORIES[names.index(text)]

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Memory.parse, (self.name,)

    @cached_property
    def _place(self) -> tuple[int, str]:
        return -len(self.path), self.name

    def __lt__(self, other: "Memory") -> bool:
        return self._place < other._place

    def __gt__(self, other: "Memory") -> bool:  # half as long as with `total_ordering`
        return self._place > other._place

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__

    def is_beyond(self, other: "Memory") -> bool:
        """Whether the other memory is filled from it, at once or through others."""
        return self in other.path

    @cached_property
    def is_registers(self) -> bool:
        """Whether the program, not the hardware, decides what it holds."""
        return self.rows > 0

    @cached_property
    def is_main(self) -> bool:
        """Whether it is main memory, of which nothing is counted."""
        return self.source is None

    @cached_property
    def is_near(self) -> bool:
        """Whether it is the first-level cache, or nearer: gaps between the rows of a
        tile decide nothing any more there, since it has paid for its lines."""
        return not self.is_beyond(L1)

    @cached_property
    def is_cache(self) -> bool:
        """Whether it is counted in lines, and the hardware decides what it holds."""
        return not self.is_registers and not self.is_main

    @property
    def distance(self) -> int:
        """How far it is from the arithmetic: 0 for the nearest memories."""
        return max(len(memory.path) for memory in MEMORIES) - len(self.path)

    @property
    def backing(self) -> "Memory":
        """Itself; for registers the memory that fills them."""
        return self.source if self.source and self.is_registers else self

    @property
    def units(self) -> str:
        """The plural of what it is counted in."""
        return "registers" if self.is_registers else "cache lines"


MEM = Memory("MEM")
"""Everything beyond the caches that are counted: the last-level cache and DRAM."""

L2 = Memory("L2", MEM)
"""Second-level cache."""

L1 = Memory("L1", L2)
"""First-level data cache."""

VRF = Memory("VRF", L1, rows=1)
"""Vector registers."""

MEMORIES = (VRF, L1, L2, MEM)
"""Every memory: register files first, then caches, the nearest first, main memory
last."""


def memories_of(features: tuple[str, ...]) -> tuple[Memory, ...]:
    """The memories of a machine with these CPU features."""
    return tuple(m for m in MEMORIES if not m.feature or m.feature in features)


def bounded_memories() -> dict[str, Memory]:
    """Every memory that is counted, by its name among limits."""
    return {memory.limit: memory for memory in MEMORIES if not memory.is_main}


def register_files() -> str:
    """The names of all register files."""
    return " or ".join(memory.name for memory in MEMORIES if memory.is_registers)
