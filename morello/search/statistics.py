"""Statistics of a search: tables, Specs, time and memory."""

import dataclasses
import resource
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any


@dataclasses.dataclass(frozen=True)
class Statistics:
    """Counters of the work of a search."""

    tables: int
    """Tables that were read or solved."""
    specs: int
    """Points of all tables that were solved."""
    seconds: float
    impls: int = 0
    """Implementations whose costs were compared: a first action of a Spec each, with
    the best programs of what it leaves. They stand for all programs of the space."""
    packed: int = 0
    """The number of ``specs`` that are compressed already."""
    boxes: int = 0
    """The boxes of decisions that these were compressed to."""
    cost_boxes: int = 0
    peak_bytes: int = 0
    """The most memory that the process has had by then."""

    read: int = 0
    """How many of ``tables`` were not solved: earlier goals had left them."""
    stored: int = 0
    """How many of ``read`` the database had; the others were in this process."""
    parts: int = 0
    """How many of ``read`` are parts of tables of goals with longer axes."""
    goals: tuple[tuple[str, int], ...] = ()
    """The goals that the tables of ``read`` were solved for, the most tables first."""
    beyond: int = 0
    """Points beside ``specs`` that the same tables have, which no program of the goal
    comes to: they were not solved."""

    @property
    def compression(self) -> float | None:
        """Specs a box, of decisions and of costs together; None of none."""
        boxes = self.boxes + self.cost_boxes
        return self.packed / boxes if boxes else None

    @property
    def compression_decisions(self) -> float | None:
        """Specs a box of decisions; None of none."""
        return self.packed / self.boxes if self.boxes else None

    @classmethod
    def of_all(cls, parts: Sequence["Statistics"]) -> "Statistics":
        """The statistics of several searches, one after another."""
        sums: dict[str, Any] = {
            field.name: sum(getattr(part, field.name) for part in parts)
            for field in dataclasses.fields(cls)
            if field.name not in ("goals", "peak_bytes")
        }
        goals = most_first(goal for part in parts for goal in part.goals)
        most = max((part.peak_bytes for part in parts), default=0)
        return cls(**sums, goals=goals, peak_bytes=most)

    def since(self, before: "Statistics") -> "Statistics":
        """The difference to earlier ones; tables, where they were read, seconds, peak
        memory stay as is."""
        grown = ("specs", "impls", "packed", "boxes", "cost_boxes", "beyond")
        since = {name: getattr(self, name) - getattr(before, name) for name in grown}
        return dataclasses.replace(self, **since)


def most_first(counts: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """Sums of counts by name, the largest first."""
    sums: Counter[str] = Counter()
    for name, count in counts:
        sums[name] += count
    return tuple(sorted(sums.items(), key=lambda item: (-item[1], item[0])))


def peak_bytes() -> int:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
