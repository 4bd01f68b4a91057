"""How much of each memory a Spec may use.

Registers are counted one by one. Caches are counted in lines, and what remains of one
after something is taken is snapped down to one of a few classes, so that Specs that
differ by a line are one Spec.
"""

import bisect
import dataclasses
import re
from functools import lru_cache
from typing import Any

import numpy as np

from morello.errors import SpecError
from morello.spec.tensors.memories import Memory, bounded_memories

_PART = re.compile(r"(\w{1,16})=(\d{1,9})", re.ASCII)


@dataclasses.dataclass(frozen=True, order=True)
class Limits:
    """The free part of each memory that a machine counts; of others nothing is free.

    Args:
        memories: those memories, in the order of `MEMORIES`.
        free: the registers or cache lines that are free of each. Each may also be an
            integer array: the search treats many Specs at once.
    """

    memories: tuple[Memory, ...] = ()
    free: tuple[Any, ...] = ()

    @classmethod
    def of(cls, **free: Any) -> "Limits":
        """The limits with these names: ``Limits.of(vrf=16, l1=512, l2=8192)``."""
        bounded = bounded_memories()
        return cls(tuple(bounded[name] for name in free), tuple(free.values()))

    @classmethod
    def parse(cls, text: str) -> "Limits":
        """The limits written ``vrf=16,l1=512,l2=8192``.

        Raises:
            SpecError: the text is not a set of limits.
        """
        parts = [_PART.fullmatch(part) for part in text.strip().split(",")]
        free = {part[1]: int(part[2]) for part in parts if part}
        bounded = bounded_memories()
        needed = {name for name, memory in bounded.items() if not memory.feature}
        in_order = list(free) == [name for name in bounded if name in free]
        if not in_order or len(free) < len(parts) or not needed <= free.keys():
            raise SpecError(
                f"'{text}' is not a set of limits", "write vrf=16,l1=512,l2=8192"
            )
        return cls.of(**free)

    def __str__(self) -> str:
        return ",".join(f"{memory.limit}={free}" for memory, free in self.items())

    def items(self) -> tuple[tuple[Memory, Any], ...]:
        """Each memory, and what is free of it."""
        return tuple(zip(self.memories, self.free, strict=True))

    def __getitem__(self, memory: Memory) -> Any:
        if memory in self.memories:
            return self.free[self.memories.index(memory)]
        if memory.is_main:
            raise KeyError(memory)
        return 0

    def replace(self, memory: Memory, value: Any) -> "Limits":
        """The limits with another amount of one memory.

        Raises:
            KeyError: they do not count it.
        """
        if memory not in self.memories:
            raise KeyError(memory)
        place = self.memories.index(memory)
        free = (*self.free[:place], value, *self.free[place + 1 :])
        return Limits(self.memories, free)


@lru_cache(maxsize=1024)
def cache_classes(capacity: int, classes: int) -> tuple[int, ...]:
    """Classes of the lines that may remain of a cache of ``capacity`` lines, ascending.

    Zero, and ``classes`` more or as many as there are: the capacity, its half, …
    """
    parts = (capacity >> i for i in reversed(range(classes)))
    return (0, *(part for part in parts if part))


def snap_down(remaining: Any, classes: tuple[int, ...]) -> Any:
    """The greatest class that is no more than ``remaining`` (not negative)."""
    if np.ndim(remaining) == 0:
        return classes[max(bisect.bisect_right(classes, remaining) - 1, 0)]
    ladder = np.asarray(classes)
    place = np.searchsorted(ladder, remaining, side="right") - 1
    return ladder.take(np.maximum(place, 0))
