"""The measurements of a goal, of one size or of a range: `measure`."""

from morello.compiler.tuning.checking import Show
from morello.compiler.tuning.cuts import tune_cuts
from morello.compiler.tuning.tuner import Plan, tune
from morello.machine import Target
from morello.search import Solver
from morello.search.dp.run import Watch
from morello.search.dp.solver import pins_of
from morello.search.queries.measured import Measured, find_measured, measured_key
from morello.search.ranges.cover import CoverOptions
from morello.search.storage.overlay import Overlay
from morello.search.storage.shelf import SHELF
from morello.spec import Spec


def measure(
    goal: Spec,
    target: Target,
    database: Overlay | None,
    plan: Plan,
    cover: CoverOptions | None = None,
    *,
    again: bool = False,
    watch: Watch | None = None,
    show: Show = lambda text: None,
) -> Measured:
    """Measure a goal on this machine, or read what was measured before.

    Args:
        goal: what is searched for, parallel or not.
        target: as it is chosen, with its threads.
        database: where tables and measurements are.
        plan: how much is tried.
        cover: how the programs of a range are chosen.
        again: whether it is measured anew.
        watch: told before each table that is solved.
        show: is told what is going on.

    Raises:
        SearchError, MorelloError: as `tune` and `tune_cuts`.
    """
    pins = pins_of(database, target)
    known = find_measured(measured_key(goal, target, pins, cover), database)
    if known is not None and not again:
        return known
    if goal.ranges:
        return tune_cuts(
            goal, target, cover or CoverOptions(), database, plan, watch, show
        )
    solver = Solver(target.at(goal), database, watch, pins, SHELF)
    return tune(goal, target, solver, plan, show).measured
