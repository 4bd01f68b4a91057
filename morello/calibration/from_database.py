"""Costs that explain what tuning has measured: `refit`.

Tuning leaves the times of programs of different classes in the database. The costs of
the target are fitted to them: least squares, none negative, held to what they were. The
fewer goals were tuned, the more they are held.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from morello.calibration.calibrate import Calibration, Trial
from morello.calibration.fit import RIDGE, Measured, describe, fit
from morello.calibration.reprice import Ledger
from morello.errors import MorelloError
from morello.machine import Target
from morello.machine.host import processor_name
from morello.search.queries.measured import program_of
from morello.search.storage.cache_key import space
from morello.search.storage.measured_rows import MeasuredKey, MeasuredRow
from morello.search.storage.overlay import Overlay
from morello.spec import Spec, parse_spec

LEAST = 8
"""Programs that are needed, at least."""

MANY = 24
"""Goals from which on costs are held no more than by a calibration."""


def refit(database: Overlay, target: Target) -> Calibration:
    """Fit the costs of a target to what was measured on this processor.

    Of what was measured that counts which has one thread, for a target of this name,
    by this version of Morello.

    Raises:
        MorelloError: too little was measured.
    """
    rows = tuple(_rows(database, target))
    measured = tuple(_measured(rows, target))
    if len(measured) < LEAST:
        raise MorelloError(
            f"the database has {len(measured)} programs that were measured for "
            f"{target.name} with one thread on this processor, and {LEAST} are needed",
            "measure some with 'morello tune --threads 1'",
        )
    specs = {m.impl.spec for m in measured}
    after = fit(measured, target, RIDGE * max(1.0, MANY / len(specs))).after
    trials = tuple(_trial(measured, costs) for costs in (target, after))
    best_round = min((1, 0), key=lambda i: trials[i].score)
    fitted = describe(measured, target, trials[best_round].target)
    gigahertz = float(np.median([1e-9 * row.cycles / row.seconds for row in rows]))
    return Calibration(fitted, measured, trials, best_round, {}, gigahertz)


def _rows(database: Overlay, target: Target) -> Iterator[MeasuredRow]:
    """Read the usable rows of all databases; for one goal those of the first that
    has it."""
    seen: set[MeasuredKey] = set()
    for file in database.readable:
        rows = [row for row, is_whole in file.measured() if is_whole]
        for row in rows:
            key = row.key
            fits = (key.target, key.threads, key.cpu, key.context.split()[:1]) == (
                target.name,
                1,
                processor_name(),
                [space()],
            )
            if fits and key not in seen:
                yield row
        seen.update(row.key for row in rows)


def _measured(rows: Sequence[MeasuredRow], target: Target) -> Iterator[Measured]:
    """The programs; one that does not fit the target is left out."""
    for row in rows:
        try:
            spec = parse_spec(row.key.spec, target.limits)
            impl = program_of(row, spec, target)
        except (MorelloError, RecursionError, OverflowError):
            continue
        yield Measured(impl, row.cycles)


def _trial(measured: Sequence[Measured], target: Target) -> Trial:
    """For each goal the time of what a target prefers, of what was timed, over the
    least."""
    costs = Ledger([m.impl for m in measured], target).costs(target)
    goals: dict[Spec, list[tuple[float, float]]] = {}
    for cost, one in zip(costs.tolist(), measured, strict=True):
        goals.setdefault(one.impl.spec, []).append((cost, one.cycles))
    regrets = (min(all_)[1] / min(time for _, time in all_) for all_ in goals.values())
    return Trial(target, tuple(goals), tuple(regrets))
