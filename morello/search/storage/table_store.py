"""Store of solved tables: as boxes, on disk too, and dense while they are read.

A table that is put here is packed and written to the database; a large one by a second
thread, while the search goes on (machine code lets go of Python's lock). Without a
database to write to, the latest tables are packed when they are first asked for, which
most never are. Dense arrays stay until the room for them is needed; later they are made
again from the boxes.
"""

import contextlib
import functools
import json
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Container, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from morello.machine import Target
from morello.search.dp.axes import ONE_GOAL, Goals
from morello.search.dp.box import Box, spans_in
from morello.search.dp.likeness import Candidates, Likeness, Wholes, cut_from
from morello.search.dp.table import Costs, Table, TableId
from morello.search.storage.cache_key import TableKeys, text_of
from morello.search.storage.codec import decode, encode_costs, encode_decisions
from morello.search.storage.deflated import CodecError
from morello.search.storage.overlay import Overlay
from morello.search.storage.packed_table import Packed
from morello.search.storage.schema import Cover
from morello.search.storage.shelf import Once, Shelf, Shelved
from morello.search.storage.table_rows import Row
from morello.spec import Limits

DENSE_BYTES = 448 << 20
"""The room for dense arrays."""

FEW_POINTS = 100_000
"""Tables of up to so many points are packed at once: handing them to a second thread
costs more in switches of the interpreter's lock."""

TOGETHER = 64
"""How many tables are written at once: a transaction takes as long as to pack one."""

UNPACKED_POINTS = 1 << 26
"""How many points may stay as they were solved, where nothing is written: each takes a
byte or two, and few more for costs."""

WAITING_POINTS = 1 << 23
"""How many points may wait to be packed: each takes 12 bytes."""


class TableStore:
    """The tables of one run.

    Args:
        target: what they are solved for.
        limits: of the goals.
        room: what one operand of a goal may take.
        database: where tables are looked for and stored; None for nowhere.
        pins: the digest of the schedules that are pinned.
        shelf: tables of this process; None for none.
        goal: text of the Spec whose search it is.
        goals: those that are searched together.
    """

    def __init__(
        self,
        target: Target,
        limits: Limits,
        room: Limits,
        database: Overlay | None,
        pins: str = "",
        shelf: Shelf | None = None,
        goal: str = "",
        goals: Goals = ONE_GOAL,
    ) -> None:
        self.target = target
        self.limits = limits
        self.room = room
        self.database = database
        self.shelf = shelf
        self.goal = goal
        self.dense = goals.axes
        """The axes of which each size is a goal's."""
        self.stored = 0
        """How many tables came from the database."""
        self.parts = 0
        """How many are parts of tables of goals with longer axes."""
        self.goals: Counter[str] = Counter()
        """How many tables were read, in the database or in this process, by the goal
        that they were solved for."""
        self.tally = (0, 0, 0)
        """Totals of the tables that were solved and compressed: points, boxes
        of decisions and boxes of costs."""
        self._counting = threading.Lock()
        self._keys = TableKeys(target, limits, room, pins, goals)
        self._stored_keys: Container[bytes] | None = None
        """Keys and bases that the database had when one was first looked for."""
        self._packed: dict[TableId, Packed | Future[Packed] | Shelved] = {}
        self._boxes: dict[TableId, Box] = {}
        """The box of points that each stored table has."""
        self._unpacked: OrderedDict[TableId, Shelved] = OrderedDict()
        """Stored tables that are not packed, the oldest first."""
        self._unpacked_points = 0
        self._dense: OrderedDict[TableId, Costs] = OrderedDict()
        self._bytes = 0
        self._waiting: deque[tuple[TableId, int]] = deque()
        self._backlog = 0
        self._worker: ThreadPoolExecutor | None = None
        self._unwritten: list[tuple[Row, Cover]] = []
        """Rows that are packed and not in the database yet."""
        self._last: Future[Packed] | None = None
        """Latest work of the second thread."""

    def __len__(self) -> int:
        return len(self._packed)

    def __iter__(self) -> Iterator[TableId]:
        """Iterate over the tables that are stored here."""
        return iter(tuple(self._packed))

    def packed(self) -> Iterator[Packed]:
        """Every table, as boxes."""
        return map(self.entry, tuple(self._packed))

    def __contains__(self, identity: TableId) -> bool:
        return identity in self._packed

    def box(self, identity: TableId) -> Box | None:
        """The points that a table has; None for one that is not here."""
        return self._boxes.get(identity)

    def table(self, identity: TableId) -> Table:
        """A table that is here, dense."""
        return self.entry(identity).expand()

    def costs(self, identity: TableId) -> Costs:
        """The costs of a table that is here, dense."""
        dense = self._dense.get(identity)
        if dense is not None:
            self._dense.move_to_end(identity)
            return dense
        unpacked = self._packed[identity]
        if isinstance(unpacked, Shelved):
            costs = unpacked.costs
        else:
            packed = self.entry(identity)
            costs = Costs.of(packed.box, packed.costs.expand())
        self._hold(identity, costs)
        return costs

    def entry(self, identity: TableId) -> Packed:
        """A table that is here, as boxes."""
        packed = self._packed[identity]
        if isinstance(packed, Shelved):
            self._is_packed(identity)
            packed = self._packed[identity] = self._pack(packed)
        elif isinstance(packed, Future):
            packed = self._packed[identity] = packed.result()
        return packed

    def fetch(
        self, identity: TableId, box: Box, wholes: Wholes, actions: Candidates
    ) -> bool:
        """Look for a table in the database; whether it is here now.

        One that is damaged, or has not all points, counts as missing. Its costs are
        read when they are first asked for.

        Args:
            identity: which.
            box: the points that are needed.
            wholes: gives the box of all points of a table.
            actions: gives the candidates on one.
        """
        if self.database is None:
            return False
        key = self._keys.row(identity)
        if not self._may_be(key):
            return False
        table = self._read(identity, key, wholes, actions)
        return table is not None and self._take(identity, box, table)

    def _read(
        self, identity: TableId, key: bytes, wholes: Wholes, actions: Candidates
    ) -> Packed | None:
        """The table of a row; None if it is not there, or damaged."""
        assert self.database is not None
        data = self.database.decisions(key)
        if data is None:
            return None
        tried = functools.partial(actions, identity)
        with contextlib.suppress(CodecError):
            costs = self._costs_of(key)
            return decode(data, identity, wholes(identity), tried, costs)
        return None

    def _may_be(self, key: bytes) -> bool:
        """Whether the database may have a row, or an index, of a key: most tables of a
        new goal are not there, and to ask the file for each takes long."""
        assert self.database is not None
        if self._stored_keys is None:
            self._stored_keys = self.database.keys()
        return key in self._stored_keys

    def _take(self, identity: TableId, box: Box, whole: Packed) -> bool:
        """Keep some points of a table of the database, if it has them; whether it
        does."""
        table = whole.part(identity, box)
        if table is None:
            return False
        self._forget(identity)
        self._packed[identity], self._boxes[identity] = table, box
        self.stored += 1
        self.goals[table.goal] += 1
        return True

    def _forget(self, identity: TableId) -> None:
        """Let go of a table of which other points are needed."""
        if self._boxes.pop(identity, None) is None:
            return
        if isinstance(self._packed[identity], Future):
            self.entry(identity)
        del self._packed[identity]
        if identity in self._unpacked:
            self._is_packed(identity)
        dense = self._dense.pop(identity, None)
        self._bytes -= 0 if dense is None else dense.slices.nbytes

    def _costs_of(self, key: bytes) -> Callable[[], bytes]:
        """Reads the costs of a row."""

        def read() -> bytes:
            row = self.database.get(key) if self.database is not None else None
            if row is None:
                raise CodecError("the costs are gone or damaged")
            return row.costs

        return read

    def drop(self, identity: TableId) -> None:
        """Forget a table of the database that cannot be: it is solved again."""
        packed = self._packed[identity]
        assert isinstance(packed, Packed)
        self._forget(identity)
        self.stored -= 1
        self.goals[packed.goal] -= 1

    def fetch_part(
        self, identity: TableId, box: Box, wholes: Wholes, actions: Candidates
    ) -> bool:
        """Look for a table of another goal that has this one as its part.

        Args:
            identity: which; it is not in the database itself.
            box: the points that are needed.
            wholes: gives the box of all points of a table.
            actions: gives the candidates on one.
        """
        if self.database is None or not identity.key.serial:
            return False  # how work is shared out may depend on the whole of an axis
        base = self._keys.base(identity)
        for cover in self.database.covers(base) if self._may_be(base) else ():
            other = cut_from(identity, cover.sizes, wholes(identity))
            if other is None or self._keys.row(other) != cover.key:
                continue
            likeness = Likeness(self.room, self.dense)
            if not likeness.is_longer(other, identity, wholes, actions):
                continue
            table = self._read(other, cover.key, wholes, actions)
            if table is not None and self._take(identity, box, table):
                self.parts += 1
                return True
        return False

    def fetch_shared(
        self, identity: TableId, box: Box, wholes: Wholes, actions: Candidates
    ) -> bool:
        """Look for a table among those of this process, or for one that has it as its
        part: of a goal with longer axes, or with less of a memory left, too.

        Args:
            identity: which.
            box: the points that are needed.
            wholes: gives the box of all points of a table.
            actions: gives the candidates on one.
        """
        if self.shelf is None:
            return False
        key = self._keys.shelf(identity)
        whole = self.shelf.get(key, identity)
        table = whole and whole.part(identity, box)
        if table is None:
            likeness = Likeness(self.room, self.dense)
            for other, longer in self.shelf.others(key):
                if spans_in(longer.costs.box, box) is None:
                    continue
                if likeness.has_part(other, identity, wholes, actions):
                    self.shelf.get(key, other)  # it was read
                    return self._keep_part(identity, longer, box)
        if table is None:
            return False
        self.goals[table.goal] += 1
        self._keep_shared(identity, table)
        return True

    def cut(self, whole: TableId, identity: TableId, box: Box) -> bool:
        """Keep a part of a table that is here as another one; whether it has it.

        Args:
            whole: the table.
            identity: of its part.
            box: the points of that.
        """
        held = self._packed[whole]
        if not isinstance(held, Shelved):
            packed = self.entry(whole)
            held = Shelved(whole, self.costs(whole), Once(packed.expand), packed.goal)
        return self._keep_part(identity, held, box)

    def _keep_part(self, identity: TableId, longer: Shelved, box: Box) -> bool:
        """Store some points of a larger table; return whether it has them."""
        table = longer.part(identity, box)
        if table is None:
            return False
        is_longer = longer.identity.sizes != identity.sizes
        self.parts += is_longer
        if is_longer or longer.goal != self.goal:
            self.goals[table.goal] += 1
        self._keep_shared(identity, table)
        return True

    def _keep_shared(self, identity: TableId, table: Shelved) -> None:
        """Keep a table of this process, and write it where it is new."""
        is_new = self._writes and not self._may_be(self._keys.row(identity))
        self._keep(identity, table, is_new)

    def _keep(self, identity: TableId, table: Shelved, is_new: bool) -> None:
        """Keep a table, and write it if it is new to a database that is written."""
        self._forget(identity)
        self._boxes[identity] = table.costs.box
        if is_new:
            self._pack_soon(identity, table)
        else:
            self._put_off(identity, table)
        self._hold(identity, table.costs)

    def put(self, identity: TableId, costs: Costs, table: Callable[[], Table]) -> None:
        """Keep a table that was solved.

        Args:
            costs: its costs.
            table: gives all of it.
        """
        solved = Shelved(identity, costs, Once(table), self.goal)
        self._keep(identity, solved, self._writes and solved.points > 0)
        if self.shelf is not None and solved.points:
            self.shelf.put(self._keys.shelf(identity), identity, solved)

    @property
    def _writes(self) -> bool:
        """Whether tables go to a database."""
        database = self.database
        if database is None or database.top is None:
            return False
        return database.keeps_tables

    def _put_off(self, identity: TableId, solved: Shelved) -> None:
        """Leave a table as it is; the oldest are packed where there are too many."""
        self._packed[identity] = self._unpacked[identity] = solved
        self._unpacked_points += solved.points
        while self._unpacked_points > UNPACKED_POINTS:
            oldest = next(iter(self._unpacked))
            self._pack_soon(oldest, self._is_packed(oldest))

    def _is_packed(self, identity: TableId) -> Shelved:
        """Count a table no more among those that are not packed."""
        unpacked = self._unpacked.pop(identity)
        self._unpacked_points -= unpacked.points
        return unpacked

    def _pack_soon(self, identity: TableId, table: Shelved) -> None:
        """Pack a table now, or in the second thread if that takes less time."""
        idle = self._last is None or self._last.done()  # tables are stored in turn
        if self._worker is None or (idle and table.points <= FEW_POINTS):
            self._packed[identity] = self._pack(table)
            return
        try:
            self._last = self._worker.submit(self._pack, table)
        except RuntimeError:  # a limit of the system, or of an interpreter's threads
            self._packed[identity] = self._pack(table)
            return
        self._packed[identity] = self._last
        self._wait(identity, table.points)

    def _wait(self, identity: TableId, points: int) -> None:
        """Wait for the writer thread if its queue is too long."""
        self._waiting.append((identity, points))
        self._backlog += points
        while self._waiting:
            oldest, fewer = self._waiting[0]
            packed = self._packed.get(oldest)
            done = not isinstance(packed, Future) or packed.done()
            if not done and self._backlog <= WAITING_POINTS:
                return
            if packed is not None:
                self.entry(oldest)
            self._waiting.popleft()
            self._backlog -= fewer

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Pack in a second thread meanwhile; at the end that is over, all is stored."""
        if self._worker is not None:
            yield
            return
        with ThreadPoolExecutor(1, "morello-pack") as self._worker:
            try:
                yield
            finally:
                for identity, entry in tuple(self._packed.items()):
                    if isinstance(entry, Future):
                        self.entry(identity)
                self._write(1)
                self._worker = None

    def _write(self, least: int) -> None:
        """Write to the database what is packed, if there are so many tables."""
        if self.database is not None and len(self._unwritten) >= least:
            rows, covers = zip(*self._unwritten, strict=True)
            self.database.put_all(rows, covers)
            self._unwritten.clear()

    def _pack(self, shelved: Shelved) -> Packed:
        table = shelved.table()
        packed = Packed.of(table, shelved.goal)
        with self._counting:  # both threads pack
            points, boxes, cost_boxes = self.tally
            self.tally = (
                points + packed.points,
                boxes + len(packed.decisions.labels),
                cost_boxes + len(packed.costs.ends),
            )
        if self._writes:
            row = Row(
                self._keys.row(table.id),
                text_of(table.id.key),
                self._keys.kin(table.id.key),
                packed.points,
                len(packed.decisions.labels),
                len(packed.costs.ends),
                encode_decisions(packed),
                encode_costs(packed),
            )
            sizes = json.dumps(table.id.sizes, separators=(",", ":"))
            base = self._keys.base(table.id)
            self._unwritten.append((row, Cover(base, row.key, sizes)))
            self._write(TOGETHER if self._worker else 1)
        return packed

    def _hold(self, identity: TableId, costs: Costs) -> None:
        """Keep dense arrays, and let go of those that were not read for longest."""
        self._dense[identity] = costs
        self._bytes += costs.slices.nbytes
        while self._bytes > DENSE_BYTES and len(self._dense) > 1:
            oldest, gone = self._dense.popitem(last=False)
            self.entry(oldest)  # its arrays are packed before they go
            self._bytes -= gone.slices.nbytes
