"""The search: solve all Specs of a key at once, each key once, lowest first.

Read `Solver.solve`, then `Run.table`. Tables depend on each other as their keys do:
levels only go down, layouts go from unpacked to packed, kinds get simpler. How one
table is solved is in `table_solver.py`.
"""

import dataclasses
import time
from collections.abc import Callable

from morello.actions import Action, candidates
from morello.errors import MorelloError, SearchError
from morello.machine import Target
from morello.machine.operand_context import PLAIN
from morello.processes.interrupts import check_sigint, defer_sigint
from morello.search.dp import axes as ax
from morello.search.dp.axes import ONE_GOAL, Goals
from morello.search.dp.box import Box, Spans, all_of, is_within, spans_in
from morello.search.dp.identities import Identities
from morello.search.dp.reachable import Reachability, pays
from morello.search.dp.table import Costs, Table, TableId, position
from morello.search.dp.table_solver import TableSolver
from morello.search.garbage import rare_collections
from morello.search.impl import Branch, Impl
from morello.search.queries.partial_program import Partial, complete
from morello.search.queries.pins import (
    Fixed,
    Pinned,
    PinnedPrograms,
    Pins,
    full_text,
    read_pins,
)
from morello.search.statistics import Statistics, most_first, peak_bytes
from morello.search.storage.cache_key import family
from morello.search.storage.deflated import CodecError
from morello.search.storage.measured_rows import MeasuredRow
from morello.search.storage.overlay import Overlay
from morello.search.storage.packed_table import Packed
from morello.search.storage.schema import ProgramRow, SearchRow
from morello.search.storage.shelf import Shelf
from morello.search.storage.table_store import TableStore
from morello.spec import Limits, Spec, print_spec
from morello.spec.frame import Frame


@dataclasses.dataclass(frozen=True)
class Solution:
    """The best program of a Spec, and what finding it took."""

    impl: Impl
    statistics: Statistics
    complete: bool = True
    """Whether the whole space was searched; if not, there may be a better program."""
    measured: tuple[MeasuredRow, ...] = ()
    """The programs that were timed, if the choice is by measurement."""


Watch = Callable[[Statistics], None]
"""Told of a search before each table that is solved, and at times within; what it
raises ends the search, and every table that was solved by then is kept."""

_SILENCE = 0.05
"""Seconds in a table after which what watches the search is told again."""


class Solver:
    """Finds the best program of a Spec on a target.

    Tables are kept for as long as the solver lives: a second Spec with the same sizes
    and limits costs nothing. With a database, tables that it has are not solved, and
    those that are solved are stored in it, some at a time.

    Args:
        target: the machine.
        database: where tables are looked for and stored.
        watch: told of each table.
        pins: schedules that are fixed; those of the database if it is left out.
        shelf: tables of earlier goals, which are not solved, and where those that are
            solved are left for later ones.
        goals: those that are searched together (`morello.search.ranges`), in place of
            one; there is no database then.
        cover: how programs are chosen for every size of a range, of which the database
            keeps the choice.
    """

    def __init__(
        self,
        target: Target,
        database: Overlay | None = None,
        watch: Watch | None = None,
        pins: Pins | None = None,
        shelf: Shelf | None = None,
        goals: Goals = ONE_GOAL,
        cover: str = "",
    ) -> None:
        if goals.axes and database:
            raise ValueError("tables of many goals are not stored")
        self.target = target
        self._goals = goals
        self._cover = cover
        self.shelf = shelf
        self.database = database
        self.watch = watch
        if pins is None:
            pins = pins_of(database, target)
        # Without pins nobody asks, and no circle keeps the tables when the solver goes.
        self.pinned = PinnedPrograms(pins, target, self._best if pins.pins else _none)
        self._runs: dict[tuple[Limits, Limits], Run] = {}
        self._read: dict[Spec, Impl] = {}
        """Programs of goals that came from the database."""
        self._solved: set[Spec] = set()
        """Goals whose program was searched here."""

    def _best(self, spec: Spec) -> Impl:
        return self.solve(spec).impl

    def tables(self, spec: Spec) -> tuple[Table, ...]:
        """The tables solved so far for goals with the limits of ``spec``."""
        run = self.run_of(spec)
        return tuple(run.table(identity) for identity in run.store)

    def watch_by(self, watch: Watch | None) -> None:
        """Let another one watch what is solved from now on."""
        self.watch = watch
        for run in self._runs.values():
            run.watch = watch

    def run_of(self, spec: Spec) -> "Run":
        """The tables of goals with the limits of ``spec``, to be read.

        Raises:
            SearchError: a size of it is a range.
        """
        if spec.ranges:
            raise SearchError(
                f"{print_spec(spec, spec.limits)} has sizes that each call says, and "
                "a program is for settled sizes",
                "give one size, or a Spec.at of it",
            )
        room = ax.room(spec, self.target)
        limits = spec.limits
        for memory in limits.memories:
            if memory.is_registers:
                limits = limits.replace(memory, room[memory])
        run = self._runs.get((limits, room))
        if run is None:
            digest = self.pinned.pins.digest
            context = self.target, limits, room, self.database, digest
            goal = print_spec(spec, self.target.limits)
            store = TableStore(*context, self.shelf, goal, self._goals)
            run = Run(
                limits, room, self.target, store, self.pinned, self.watch, self._goals
            )
            self._runs[limits, room] = run
        return run

    def goal_table(self, spec: Spec) -> TableId:
        """The table that a goal is looked up in."""
        sizes = ax.goal_axes(spec, self.target.threads)
        return self.run_of(spec).root(spec.key, sizes)

    def solve(self, spec: Spec) -> Solution:
        """The best program of ``spec``.

        Ctrl-C is answered between two tables.

        Raises:
            SearchError: no program exists, with the likely reason; or the Spec counts
                on registers that the target does not have.
        """
        start = time.perf_counter()
        _check_registers(spec, self.target)
        stored = self.stored(spec)
        if stored is not None:
            elapsed = time.perf_counter() - start
            return Solution(stored, Statistics(0, 0, elapsed, peak_bytes=peak_bytes()))
        run = self.run_of(spec)
        before = run.statistics(0.0)
        try:
            with defer_sigint(), rare_collections(), run.store.working():
                impl = run.best(spec, self.goal_table(spec))
        finally:  # what was solved until it was stopped counts, too
            elapsed = time.perf_counter() - start
            statistics = run.statistics(elapsed).since(before)
            if statistics.specs:
                self.note(spec, statistics)
        self.keep(spec, impl)
        return Solution(impl, statistics)

    def solve_tables(self, spec: Spec) -> None:
        """Solve or read the table of a goal, also where the database has its program
        alone: that is a search, and what asks for other programs takes no time for it.

        Raises:
            SearchError: no program exists.
        """
        run = self.run_of(spec)
        with defer_sigint(), rare_collections(), run.store.working():
            run.best(spec, self.goal_table(spec))

    def stored(self, spec: Spec) -> Impl | None:
        """The program of a goal that the database has, which needs no tables."""
        if self.database is None or spec in self._solved:
            return None
        if spec not in self._read:
            row = self.database.program(full_text(spec), self._family(spec))
            if row is None:
                return None
            try:
                decided = Partial.parse(row.program)
                self._read[spec] = complete(decided, spec, self.target, _refuse)
            except (MorelloError, RecursionError, OverflowError):
                return None
        return self._read[spec]

    def _family(self, goal: Spec) -> str:
        """The family of the rows of a goal. What the target knows of the operands of
        this goal follows from its text: goals of other sizes have the family, too."""
        target = self.target
        plain = target.in_context(PLAIN)
        in_family = plain if plain.at(goal) == target else target
        return family(in_family, self.pinned.pins.digest, self._cover)

    def keep(self, spec: Spec, impl: Impl) -> None:
        """Store the program of a goal, so that the next lookup needs no tables."""
        if self.database is not None and spec not in self._solved:
            self._solved.add(spec)
            self.database.keep((self.row_of(spec, impl),))

    def row_of(self, spec: Spec, impl: Impl) -> ProgramRow:
        """The program of a goal as a row."""
        program = str(Partial.of(impl))
        return ProgramRow(full_text(spec), self._family(spec), program)

    def note_programs(self, spec: Spec, programs: float) -> None:
        """Keep the binary logarithm of how many programs a Spec has."""
        self.note(spec, Statistics(0, 0, 0.0), programs)

    def note(
        self, spec: Spec, statistics: Statistics, programs: float | None = None
    ) -> None:
        """Tell the database what a search took."""
        if self.database is not None:
            row = SearchRow(
                full_text(spec),
                self._family(spec),
                statistics.seconds,
                statistics.peak_bytes,
                statistics.tables,
                statistics.specs,
                statistics.impls,
                statistics.boxes,
                statistics.cost_boxes,
                programs,
            )
            self.database.note(row)

    def complete(self, spec: Spec, decided: Partial) -> Solution:
        """The best program of ``spec`` that begins with what is given.

        Raises:
            SearchError: a hole that is left has no program.
            ScheduleError: what is given does not apply.
        """
        start = time.perf_counter()
        impl = complete(decided, spec, self.target, lambda hole: self.solve(hole).impl)
        tables = sum(len(run.store) for run in self._runs.values())
        points = sum(run.points for run in self._runs.values())
        elapsed = time.perf_counter() - start
        return Solution(impl, Statistics(tables, points, elapsed))


def _nothing(identity: TableId, box: Box) -> None:
    """Read no table."""


def _none(spec: Spec) -> Impl:
    """Reject a Spec that is not pinned, in a search without pins."""
    raise RuntimeError(f"{spec} is not pinned")


class Run(Identities):
    """The tables of all goals with one set of limits."""

    def __init__(
        self,
        limits: Limits,
        room: Limits,
        target: Target,
        store: TableStore,
        pinned: PinnedPrograms,
        watch: Watch | None = None,
        goals: Goals = ONE_GOAL,
    ) -> None:
        super().__init__(limits, room, target, store, goals)
        self.pinned = pinned
        self.watch = watch
        self.start = self._told = time.perf_counter()
        self.points = 0
        self.beyond = 0
        """Points of tables that were solved which no program of a goal needs."""
        self.impls = 0
        """Implementations that were compared."""
        self.reaches = not (goals.axes or pinned.pins.pins)
        """Whether a goal is followed down first, to solve the points that it needs."""
        self.needed: dict[TableId, Box] = {}
        """The points that goals need of each table that they lead to; empty before the
        first goal, and where all points are solved."""
        self._candidates: dict[TableId, tuple[Action, ...]] = {}
        self._misses: set[tuple[TableId, Box]] = set()
        """Tables that were looked for in vain."""
        self._damaged: set[TableId] = set()
        """Tables of which what is stored cannot be."""
        self._pending: set[TableId] = set()
        self._stored: set[TableId] = set()
        """Tables from the database, of which not all that they say has been checked."""
        self._impls: dict[tuple[TableId, Spec], Impl] = {}

    def table(self, identity: TableId) -> Table:
        """The solved table, solving it and what it needs first if it is new."""
        self._ensure(identity)
        try:
            return self.store.table(identity)
        except CodecError:
            self._solve_again(identity)
            return self.table(identity)

    def costs(self, identity: TableId) -> Costs:
        """The costs of a table, without its decisions; solves the table if needed."""
        self._ensure(identity)
        try:
            return self.store.costs(identity)
        except CodecError:
            self._solve_again(identity)
            return self.costs(identity)

    def entry(self, identity: TableId) -> Packed:
        """The compressed boxes of a table; solves the table if needed."""
        self._ensure(identity)
        return self.store.entry(identity)

    def box(self, identity: TableId) -> Box:
        """The box of the points of a table that are solved."""
        if not self.needed:
            return self.whole_box(identity)
        box = self.needed.get(identity)
        if box is None:
            self._reach(identity, all_of(self.whole_box(identity)))
            box = self.needed[identity]
        return box

    def reach(self, identity: TableId, spec: Spec, *, through: bool = False) -> None:
        """Have a Spec of a table solved with all that it needs, when it is asked for.

        Args:
            through: whether other tables are asked for besides those of its program:
                all that it leads to.
        """
        if through or not self.is_reached(identity, spec):
            spans = self._spans(identity, spec)
            self._reach(identity, spans, through=through)

    def is_reached(self, identity: TableId, spec: Spec) -> bool:
        """Whether a Spec of a table is among those that are solved when it is."""
        box = self.needed.get(identity)
        if box is None:
            return False
        spans = spans_in(self.whole_box(identity), box) or ()
        return is_within(self._spans(identity, spec), spans)

    def _spans(self, identity: TableId, spec: Spec) -> Spans:
        """Where a Spec of a table is."""
        point = position(self.whole_box(identity), spec.sizes, spec.limits)
        return () if point is None else tuple((place, place + 1) for place in point)

    def _reach(self, identity: TableId, spans: Spans, *, through: bool = False) -> None:
        if not self.reaches or not (self.needed or pays(identity.sizes)):
            return
        read = _nothing if through else self._read
        work = Reachability(self, self.needed, read, is_through=through)
        self.needed |= work.boxes(identity, spans)

    def _read(self, identity: TableId, box: Box) -> Box | None:
        """The box of a table that is here, or stored, if it has all points of another
        one."""
        here = self.store.box(identity)
        if here is not None and spans_in(here, box) is not None:
            return here
        return box if self._fetch(identity, box) else None

    def is_here(self, identity: TableId) -> bool:
        """Whether the points of a table that are needed are solved."""
        return self.store.box(identity) is self.box(identity)

    def _ensure(self, identity: TableId) -> None:
        box = self.box(identity)
        if self.store.box(identity) is not box and not (
            box.size and self._fetch(identity, box)
        ):
            self._solve(identity)

    def _fetch(self, identity: TableId, box: Box) -> bool:
        """Look for a part of a table that was solved for earlier goals; whether it is
        here now."""
        store, tables = self.store, (self.whole_box, self.candidates)
        if store.fetch_shared(identity, box, *tables):
            return True
        place = identity, box
        if place in self._misses or identity in self._damaged:
            return False
        if store.fetch(identity, box, *tables) or store.fetch_part(
            identity, box, *tables
        ):
            self._stored.add(identity)
            return True
        self._misses.add(place)
        return False

    def decisions(self, identity: TableId) -> Table | Packed:
        """The decisions of a table; solves the table if needed."""
        return self.entry(identity)

    def _solved_anew(self, identity: TableId) -> Table | Packed:
        """A table in the place of a stored one that says what cannot be."""
        self._solve_again(identity)
        return self.decisions(identity)

    def _solve_again(self, identity: TableId) -> None:
        """Solve a table whose row in the database is damaged."""
        self._stored.discard(identity)
        self._damaged.add(identity)
        self.store.drop(identity)
        if self.needed:  # nobody asked what it needs
            whole = self.whole_box(identity)
            self._reach(identity, spans_in(whole, self.box(identity)) or ())
        self._solve(identity)

    def _solve(self, identity: TableId) -> None:
        if identity in self._pending:
            raise RuntimeError(f"the keys are not a DAG at {identity.key}")
        self._tell()
        self._pending.add(identity)
        try:
            work = TableSolver(self, identity)
            costs = work.solve()
            del work.run  # its table is kept by what it refers to: no circle
        finally:  # a search that is interrupted may be taken up again
            self._pending.discard(identity)
        self.store.put(identity, costs, work.table)
        self.points += self.box(identity).size
        self.beyond += self.whole_box(identity).size - self.box(identity).size
        self.impls += work.impls

    def pause(self) -> None:
        """Let Ctrl-C, or what watches the search, end it in the middle of a table."""
        if time.perf_counter() - self._told >= _SILENCE:
            self._tell()

    def _tell(self) -> None:
        check_sigint()
        self._told = time.perf_counter()
        if self.watch is not None:
            self.watch(self.statistics(self._told - self.start))

    def statistics(self, seconds: float) -> Statistics:
        """Statistics of the search so far, which took so many seconds."""
        store = self.store
        return Statistics(
            len(store),
            self.points,
            seconds,
            self.impls,
            *store.tally,
            peak_bytes(),
            store.goals.total(),
            store.stored,
            store.parts,
            most_first((+store.goals).items()),
            self.beyond,
        )

    def candidates(self, identity: TableId) -> tuple[Action, ...]:
        """The actions that are tried on the Specs of a table, and its pins."""
        known = self._candidates.get(identity)
        if known is None:
            known = self._candidates[identity] = self._all_candidates(identity)
        return known

    def _all_candidates(self, identity: TableId) -> tuple[Action, ...]:
        actions = candidates(identity.key, identity.sizes, self.target)
        if self.dense:
            actions = tuple(a for a in actions if self.tiles(a, identity))
        pins = self.pinned.pins.of(identity.key)
        return (*actions, *(pin.action for pin in pins))

    def fixed(self, identity: TableId) -> tuple[Fixed, ...]:
        """The points of a table that pins decide."""
        return self.pinned.fixed(identity.key, self.box(identity), self.limits)

    def best(self, spec: Spec, identity: TableId) -> Impl:
        """The best program of a Spec of a table, which is solved if it is new.

        Raises:
            SearchError: there is none.
        """
        self.reach(identity, spec)
        return self.program(spec, self.decisions(identity))

    def program(self, spec: Spec, table: Table | Packed) -> Impl:
        """The best program of a Spec of a solved table.

        Raises:
            SearchError: there is none.
        """
        known = self._impls.get((table.id, spec))
        if known is not None:
            return known
        action = table.decision(spec.sizes, spec.limits)
        if action is None:
            if table.id in self._stored:
                return self.program(spec, self._solved_anew(table.id))
            raise SearchError(
                f"no program exists for {spec}", _remedy(spec, self.target)
            )
        if isinstance(action, Pinned):
            return self.pinned.program(action, spec)
        branches = []
        expansion = action.expand(Frame.of(spec), self.target)
        if table.id in self._stored and expansion.refusal():
            return self.program(spec, self._solved_anew(table.id))
        cost = int(expansion.cost)
        for child in expansion.children:
            if int(child.exists):
                times = int(child.times)
                below = self.hole_id(table.id, action, child)
                impl = self.best(child.frame.spec(), below)
                branches.append(Branch(child.role, times, impl))
                cost += times * impl.cost
        impl = Impl(spec, action, cost, tuple(branches))
        self._impls[table.id, spec] = impl
        return impl


def pins_of(database: Overlay | None, target: Target) -> Pins:
    """The schedules that a database pins for a target, of those that can be read."""
    return read_pins(database.pins(), target) if database is not None else Pins()


def _refuse(spec: Spec) -> Impl:
    """A program that was searched has no holes: one that has some is damaged.

    Raises:
        SearchError: always.
    """
    raise SearchError(f"a program that was stored has a hole: {spec}")


def _check_registers(spec: Spec, target: Target) -> None:
    for memory, free in spec.limits.items():
        if not memory.is_registers:
            continue
        have = target.limits[memory]
        if free > have:
            raise SearchError(
                f"{spec} may use {free} registers, but target {target.name} has {have}",
                f"give {memory.limit}={have} or less",
            )
        taken = int(ax.registers_taken(spec.key, spec.sizes, memory))
        if taken > have:
            raise SearchError(
                f"the operands of {spec} that are in registers take {taken}, but "
                f"target {target.name} has {have}",
                f"use smaller sizes, or operands in {memory.source}",
            )


def _remedy(spec: Spec, target: Target) -> str:
    dtypes = ",".join(map(str, spec.dtypes))
    return (
        f"target {target.name} has no kernels that make up {spec.kind.label} on "
        f"{dtypes} with these layouts and limits"
    )
