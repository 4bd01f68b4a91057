"""How much of each memory a Spec may use.

Registers are counted one by one. Caches are counted in lines, and what remains of one
after something is taken is snapped down to one of a few classes, so that Specs that
differ by a line are one Spec.
"""

import bisect
import dataclasses
import re
from typing import Any

import numpy as np

from morello.errors import SpecError
from morello.spec.tensor import Level

_TEXT = re.compile(r"vrf=(\d{1,9}),l1=(\d{1,9}),l2=(\d{1,9})", re.ASCII)


@dataclasses.dataclass(frozen=True, order=True)
class Limits:
    """The free part of each memory.

    Each field may also be an integer array: the search treats many Specs at once.
    """

    vrf: Any
    """Vector registers."""
    l1: Any
    """Lines of the first-level cache."""
    l2: Any
    """Lines of the second-level cache."""

    @classmethod
    def parse(cls, text: str) -> "Limits":
        """The limits written ``vrf=16,l1=512,l2=8192``.

        Raises:
            SpecError: the text is not a set of limits.
        """
        match = _TEXT.fullmatch(text.strip())
        if match is None:
            raise SpecError(
                f"'{text}' is not a set of limits", "write vrf=16,l1=512,l2=8192"
            )
        return cls(*map(int, match.groups()))

    def __str__(self) -> str:
        return f"vrf={self.vrf},l1={self.l1},l2={self.l2}"

    def __getitem__(self, level: Level) -> Any:
        match level:
            case Level.VRF:
                return self.vrf
            case Level.L1:
                return self.l1
            case Level.L2:
                return self.l2
        raise KeyError(level)

    def replace(self, level: Level, value: Any) -> "Limits":
        """The same limits but for one level."""
        match level:
            case Level.VRF:
                return Limits(value, self.l1, self.l2)
            case Level.L1:
                return Limits(self.vrf, value, self.l2)
            case Level.L2:
                return Limits(self.vrf, self.l1, value)
        raise KeyError(level)


def cache_classes(capacity: int, classes: int) -> tuple[int, ...]:
    """What may remain of a cache of ``capacity`` lines, ascending.

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
    return ladder[np.maximum(place, 0)]
