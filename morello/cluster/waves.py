"""The order of jobs: two waves, so that related Specs share tables.

Jobs that run at the same time do not see what the others solve. So the largest Spec of
each family goes first, and the rest of its family begins when that has come, with its
tables. Workers that would have nothing to do are given the next largest.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from morello.spec import OpenSpec

Item = TypeVar("Item")


class Waves(Generic[Item]):
    """Jobs that wait, and what sets them free.

    Args:
        jobs: each with its family, the largest first.
    """

    def __init__(self, jobs: Sequence[tuple[Item, object]]) -> None:
        self._waiting = list(jobs)
        self._open: set[object] = set()
        """Families whose largest has come."""
        self._heads: set[object] = set()
        """Families whose largest has been handed out."""

    def ready(self, idle: int, most: int | None = None) -> Iterator[Item]:
        """Hand out what may begin now.

        Args:
            idle: the number of workers for which there is nothing.
            most: at most so many; None for all that may begin.
        """
        most = len(self._waiting) if most is None else most
        rest: list[tuple[Item, object]] = []
        for item, family in self._waiting:
            if most > 0 and (family in self._open or family not in self._heads):
                self._heads.add(family)
                idle, most = idle - 1, most - 1
                yield item
            else:
                rest.append((item, family))
        fill = max(0, min(idle, most))
        for item, family in rest[:fill]:
            self._heads.add(family)
            yield item
        self._waiting = rest[fill:]

    def came(self, family: object) -> None:
        """A job of this family has ended: the rest of it may begin."""
        self._open.add(family)


def volume(goal: OpenSpec) -> int:
    """The product of the sizes: what takes longest to search, more or less."""
    product = 1
    for size in goal.spec.sizes:
        product *= size
    return product


def largest_first(goals: Mapping[str, OpenSpec]) -> list[str]:
    """The texts of Specs in the order of their searches."""
    return sorted(goals, key=lambda text: -volume(goals[text]))
