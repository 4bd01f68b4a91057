"""``morello calibrate``: measure the costs of the model on this machine.

Read `main`; the work is in `morello.calibration`.
"""

import shlex
from collections.abc import Iterator
from pathlib import Path

from morello.calibration.calibrate import Calibration, calibrate
from morello.calibration.check import check, check_lines
from morello.calibration.draw import Plan
from morello.calibration.from_database import refit
from morello.calibration.specs import ALL, CHECKED, QUICK, specs
from morello.calibration.target_file import (
    stale_lines,
    stale_of,
    target_file,
    trial_lines,
)
from morello.learned.ledger import FITTED, cost_of
from morello.machine import TARGETS, Target
from morello.search.storage.overlay import default_path, open_database
from morello.tools.input_output import UsageError, check_output, write_output
from morello.tools.measuring_commands import CalibrateOptions
from morello.tools.progress import progress
from morello.tools.request import tool_target

_CHECK_SECONDS = 60.0
"""CPU seconds of one core."""
_EACH = 0.02
"""Seconds for which a program of a check is timed."""
_PROGRAMS = 20
_QUICK_PROGRAMS = 4
_ROUNDS = 6
_QUICK_ROUNDS = 1


def main(options: CalibrateOptions) -> int:
    """Run the command.

    Returns:
        0; of a check 1, if a price is stale or off.

    Raises:
        UsageError: no such target, the file cannot be written, or there is none to be.
        MorelloError: this machine cannot run the target.
    """
    target = tool_target(options.target)
    _check_flags(options)
    if options.check:
        return _checked(options, target)
    if options.list:
        known = {**TARGETS, target.name: target}
        write_output("-", "\n".join(stale_lines(known.values())) + "\n")
        return 0
    if options.output is not None:
        check_output(options.output)
    calibration, command = (
        _refitted(options, target)
        if options.from_database
        else (_calibrated(options, target))
    )
    if options.output != "-":
        write_output("-", "\n".join(_report(calibration)) + "\n")
    if options.output is not None:
        write_output(options.output, target_file(calibration, command))
    return 0


def _check_flags(options: CalibrateOptions) -> None:
    """Refuse flags that exclude each other.

    Raises:
        UsageError: two ways to calibrate, or a file where nothing is calibrated.
    """
    ways = {
        "--check": options.check,
        "--list": options.list,
        "--from-database": options.from_database,
    }
    used = [flag for flag, is_set in ways.items() if is_set]
    if len(used) > 1:
        raise UsageError(f"{' and '.join(used)} exclude each other", "give one")
    if options.output is not None and (options.check or options.list):
        raise UsageError(
            f"{used[0]} calibrates nothing that --output could write",
            "leave one of them out",
        )


def _checked(options: CalibrateOptions, target: Target) -> int:
    """Print how the prices of a target do on this machine.

    Returns:
        1 if one is stale or off, else 0.

    Raises:
        MorelloError: this machine cannot run the target.
    """
    with progress("checking") as show:
        checked = check(specs(CHECKED, target), target, _CHECK_SECONDS, _EACH, show)
    lines = [*check_lines(checked, target), *stale_lines([target])]
    bad = any(row.is_off for row in checked.rows) or bool(stale_of(target))
    if bad:
        lines.append(
            "the prices do not hold here: write the file of this machine anew with "
            "'morello calibrate -o FILE'"
        )
    write_output("-", "\n".join(lines) + "\n")
    return int(bad)


def _refitted(options: CalibrateOptions, target: Target) -> tuple[Calibration, str]:
    """A calibration from what was measured before, and the command line.

    Raises:
        UsageError: there is no database.
        MorelloError: it has too little.
    """
    database = open_database(options.db, default=default_path)
    if database is None:
        raise UsageError("there is no database", "give its path with --db")
    words = ["morello", "calibrate", "--from-database"]
    words += ["--target", options.target or target.name]
    return refit(database, target), shlex.join(words)


def _calibrated(options: CalibrateOptions, target: Target) -> tuple[Calibration, str]:
    """A calibration that measures, and the command line.

    Raises:
        MorelloError: this machine cannot run the target.
    """
    programs = options.programs or (_QUICK_PROGRAMS if options.quick else _PROGRAMS)
    rounds = options.rounds
    if rounds is None:
        rounds = _QUICK_ROUNDS if options.quick else _ROUNDS
    lock = Path(options.lock) if options.lock else None
    plan = Plan(programs, options.seconds, options.seed, lock, rounds, options.jobs)
    goals = specs(QUICK if options.quick else ALL, target)
    with progress("calibrating") as show:
        calibration = calibrate(goals, target, plan, show)
    return calibration, _command(options, plan, target)


def _command(options: CalibrateOptions, plan: Plan, target: Target) -> str:
    words = ["morello", "calibrate"]
    words += ["--quick"] * options.quick
    words += ["--programs", str(plan.programs), "--rounds", str(plan.rounds)]
    words += ["--seconds", f"{plan.seconds:g}", "--seed", str(plan.seed)]
    words += ["--jobs", str(plan.jobs), "--target", options.target or target.name]
    return shlex.join(words)


def _report(calibration: Calibration) -> Iterator[str]:
    fitted = calibration.fit
    yield f"{'millicycles':<26}{'before':>10}{'after':>10}{'alone':>10}"
    for name in FITTED:
        before = cost_of(fitted.before, name)
        after = cost_of(fitted.after, name)
        alone = (
            f"{calibration.probed[name]:>10.0f}" if name in calibration.probed else ""
        )
        note = "" if name in fitted.seen else "  no program pays for it"
        yield f"{name:<26}{before:>10}{after:>10}{alone}{note}"
    yield ""
    yield from trial_lines(calibration)
    yield (
        f"{len(calibration.measured)} programs at {calibration.gigahertz:.2f} GHz; "
        f"median relative error {fitted.median_before:.1%} before, "
        f"{fitted.median_after:.1%} after"
    )
