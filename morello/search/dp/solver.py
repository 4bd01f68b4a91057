"""The search: solve all Specs of a key at once, each key once, lowest first.

Read `Solver.solve`, then `Run.best` in `run.py`.
"""

import dataclasses
import time

from morello.errors import MorelloError, SearchError
from morello.machine import Target
from morello.machine.operand_context import PLAIN
from morello.processes.interrupts import defer_sigint
from morello.search.dp import axes as ax
from morello.search.dp.axes import ONE_GOAL, Goals
from morello.search.dp.run import Run, Watch
from morello.search.dp.table import Table, TableId
from morello.search.garbage import rare_collections
from morello.search.impl import Impl
from morello.search.queries.partial_program import Partial, complete
from morello.search.queries.pins import (
    PinnedPrograms,
    Pins,
    full_text,
    read_pins,
)
from morello.search.statistics import Statistics, peak_bytes
from morello.search.storage.cache_key import family
from morello.search.storage.measured_rows import MeasuredRow
from morello.search.storage.overlay import Overlay
from morello.search.storage.schema import ProgramRow, SearchRow
from morello.search.storage.shelf import Shelf
from morello.search.storage.table_store import TableStore
from morello.spec import Limits, Spec, print_spec


@dataclasses.dataclass(frozen=True)
class Solution:
    """The best program of a Spec, and what finding it took."""

    impl: Impl
    statistics: Statistics
    complete: bool = True
    """Whether the whole space was searched; if not, there may be a better program."""
    measured: tuple[MeasuredRow, ...] = ()
    """The programs that were timed, if the choice is by measurement."""


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


def _none(spec: Spec) -> Impl:
    """Reject a Spec that is not pinned, in a search without pins."""
    raise RuntimeError(f"{spec} is not pinned")


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
