"""Tables of earlier goals in memory, by their keys: those of this process.

A table is found by all that its contents depend on but the axes of its goal and the
memories that may have been taken from. One for the same axes is taken as it is, a
larger one is cut. Where there are too many points, tables are let go of that were not
read for long, and large ones sooner: one takes the room of many small ones, and not the
time of as many to be solved again.
"""

import dataclasses
import heapq
import itertools
import threading
from collections.abc import Callable, Hashable, Iterator

import numpy as np

from morello.processes.forks import defer_forks
from morello.search.dp.box import Box, spans_in
from morello.search.dp.table import Costs, Table, TableId

SHELF_POINTS = 1 << 25
"""How many points are kept: each takes a byte or two, and few more for costs; 12 bytes
where all of the table was read."""


class Once:
    """A table that is made when it is first asked for, in any thread.

    Args:
        make: gives it, once.
    """

    def __init__(self, make: Callable[[], Table]) -> None:
        self._make: Callable[[], Table] | None = make
        self._table: Table | None = None
        self._lock = threading.Lock()

    def __call__(self) -> Table:
        """The table."""
        with defer_forks(), self._lock:
            if self._make is not None:
                self._table, self._make = self._make(), None
            assert self._table is not None
            return self._table


@dataclasses.dataclass(frozen=True)
class Shelved:
    """A solved table, and the goal that it was solved for."""

    identity: TableId
    costs: Costs
    table: Callable[[], Table]
    """Returns the whole table."""
    goal: str
    """Text of the Spec."""

    @property
    def points(self) -> int:
        """How many Specs it has."""
        return self.costs.box.size

    def part(self, identity: TableId, box: Box) -> "Shelved | None":
        """Some points of the table, as another one: of a goal with shorter axes, of
        Specs with all of a memory free, or those alone that a goal needs. None if it
        has not all of them.

        Args:
            identity: of that table.
            box: the points.
        """
        whole = self.costs.box
        spans = spans_in(whole, box)
        if not spans:
            return None
        if whole is box and identity is self.identity:
            return self
        dims = len(box.sizes)
        places = tuple(slice(*ends) for ends in spans)
        limits = places[dims:]
        place = self.costs.place.reshape(tuple(map(len, whole.limits)))
        left = place[limits].reshape(-1).tolist()
        numbers = {number: n for n, number in enumerate(dict.fromkeys(left))}
        slices = self.costs.slices[places[:dims]].take([*numbers], axis=-1)
        costs = Costs(box, slices, np.asarray([numbers[n] for n in left], np.int64))

        def parted() -> Table:
            table = self.table()
            decisions = table.decisions[places]
            return Table(
                identity, box, table.actions, costs, np.ascontiguousarray(decisions)
            )

        return Shelved(identity, costs, Once(parted), self.goal)


Rank = tuple[float, int]
"""The less it is, the sooner a table is let go of; of equal ones the one that was read
before the other."""


class Shelf:
    """Tables of a process, which its searches share; of any number of threads.

    Each has a rank: that of the last one that was let go of by when it was put here or
    read, and the more above that the smaller it is. The least is let go of next.
    """

    def __init__(self, most_points: int = SHELF_POINTS) -> None:
        self.most_points = most_points
        self._lock = threading.RLock()
        self._points = 0
        self._tables: dict[Hashable, dict[TableId, Shelved]] = {}
        self._ranks: dict[tuple[Hashable, TableId], Rank] = {}
        self._queue: list[tuple[Rank, Hashable, TableId]] = []
        """Tables by a rank that they have or had, the least first."""
        self._turns = itertools.count()
        self._least = 0.0
        """The rank of the last one that was let go of."""

    def __len__(self) -> int:
        return len(self._ranks)

    def put(self, key: Hashable, identity: TableId, table: Shelved) -> None:
        """Keep a table, and let go of others if there are too many points.

        Args:
            key: all that it depends on but what ``identity`` says.
            identity: says the axes of the goal and what may have been taken from.
            table: is solved.
        """
        with defer_forks(), self._lock:
            self._drop(key, identity)
            self._tables.setdefault(key, {})[identity] = table
            self._points += table.points
            rank = self._rank(key, identity, table)
            heapq.heappush(self._queue, (rank, key, identity))
            while self._points > self.most_points:
                self._drop_least()

    def get(self, key: Hashable, identity: TableId) -> Shelved | None:
        """The table of a key with this identity; None if there is none."""
        if key not in self._tables:
            return None  # mostly: no lock
        with defer_forks(), self._lock:
            table = self._tables.get(key, {}).get(identity)
            if table is not None:
                self._rank(key, identity, table)
            return table

    def others(self, key: Hashable) -> Iterator[tuple[TableId, Shelved]]:
        """All tables of a key with their identities, the latest first."""
        if key not in self._tables:
            return iter(())
        with defer_forks(), self._lock:
            tables = tuple(self._tables.get(key, {}).items())
        return reversed(tables)

    def clear(self) -> None:
        """Let go of everything."""
        with defer_forks(), self._lock:
            self._tables.clear()
            self._ranks.clear()
            self._queue.clear()
            self._points = 0

    def _rank(self, key: Hashable, identity: TableId, table: Shelved) -> Rank:
        """Rank a table as one that was read now."""
        rank = self._least + max(1, table.points) ** -0.5, next(self._turns)
        self._ranks[key, identity] = rank
        return rank

    def _drop_least(self) -> None:
        """Let go of the table of the least rank, or rank one anew that was read."""
        rank, key, identity = heapq.heappop(self._queue)
        now = self._ranks.get((key, identity))
        if now == rank:
            self._least, _ = rank
            self._drop(key, identity)
        elif now is not None:
            heapq.heappush(self._queue, (now, key, identity))

    def _drop(self, key: Hashable, identity: TableId) -> None:
        if self._ranks.pop((key, identity), None) is not None:
            tables = self._tables[key]
            self._points -= tables.pop(identity).points
            if not tables:
                del self._tables[key]


SHELF = Shelf()
"""The shelf that `best_program` uses, shared by the process."""
