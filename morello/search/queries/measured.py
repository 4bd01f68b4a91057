"""The program that tuning has chosen for a goal on this machine, if there is one.

A measured choice is looked up before anything is searched. Its decisions are applied to
the goal action by action, so that one that does not fit is as good as missing. What is
measured without a database, or with one that cannot be written, is remembered as long
as the process lives.
"""

import dataclasses

from morello.errors import MorelloError
from morello.machine import Target
from morello.machine.host import processor_name
from morello.search.dp.solver import Solution
from morello.search.impl import Impl
from morello.search.queries.partial_program import Partial, complete
from morello.search.queries.pins import Pins, full_text
from morello.search.ranges.cover import CoverOptions
from morello.search.statistics import Statistics
from morello.search.storage.cache_key import space
from morello.search.storage.measured_rows import MeasuredKey, MeasuredRow
from morello.search.storage.overlay import Overlay
from morello.spec import Spec

_remembered: dict[MeasuredKey, tuple[MeasuredRow, ...]] = {}


@dataclasses.dataclass(frozen=True)
class Measured:
    """A choice that was measured."""

    rows: tuple[MeasuredRow, ...]
    """Every program that was timed, the model's choice first."""

    @property
    def chosen(self) -> MeasuredRow:
        """The program that is used."""
        return next(row for row in self.rows if row.chosen)

    @property
    def model(self) -> MeasuredRow:
        """Measurement of the program that the cost model prefers."""
        return self.rows[0]

    @property
    def gain(self) -> float:
        """How many times as fast as the model's choice the chosen one was."""
        return self.model.seconds / self.chosen.seconds


def measured_key(
    goal: Spec, target: Target, pins: Pins, cover: CoverOptions | None = None
) -> MeasuredKey:
    """Key of a goal's measurements on this machine.

    Args:
        cover: how programs are chosen if it is a range.
    """
    options = str(cover or CoverOptions()) if goal.ranges else ""
    context = " ".join(filter(None, (space(), pins.digest, options)))
    return MeasuredKey(
        full_text(goal), target.name, target.threads, processor_name(), context
    )


def keep_measured(rows: tuple[MeasuredRow, ...], database: Overlay | None) -> None:
    """Store what was measured of a goal; what cannot be stored is remembered."""
    if database is None or not database.keep_measured(rows):
        _remembered[rows[0].key] = rows


def find_measured(key: MeasuredKey, database: Overlay | None) -> Measured | None:
    """Read the measurements of a goal; None if there are none, or a row is damaged."""
    rows = database.measured(key) if database is not None else ()
    rows = rows or _remembered.get(key, ())
    if not rows or rows[0].place or sum(row.chosen for row in rows) != 1:
        return None
    return Measured(rows)


def measured_solution(
    goal: Spec,
    target: Target,
    database: Overlay | None,
    pins: Pins,
    cover: CoverOptions | None = None,
) -> Solution | None:
    """The program that was chosen by measurement; None if there is none.

    Args:
        target: as it is chosen, with its threads.
        cover: as `measured_key` takes it.
    """
    measured = find_measured(measured_key(goal, target, pins, cover), database)
    if measured is None:
        return None
    try:
        impl = program_of(measured.chosen, goal, target)
    except (MorelloError, RecursionError, OverflowError):
        return None
    return Solution(impl, Statistics(0, 0, 0.0), measured=measured.rows)


def program_of(row: MeasuredRow, goal: Spec, target: Target) -> Impl:
    """The program of a row, with its cost on a target.

    Raises:
        ScheduleError: it does not fit.
        SearchError: it has a hole.
    """
    decided = Partial.parse(row.program)
    return complete(decided, goal, target.at(goal), _refuse)


def _refuse(spec: Spec) -> Impl:
    raise MorelloError(f"a program that was measured has a hole: {spec}")
