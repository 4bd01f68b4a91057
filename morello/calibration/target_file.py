"""The file that a calibration leaves: a target's text form, and where it comes from."""

import datetime
from collections.abc import Iterable, Iterator

from morello._version import __version__
from morello.calibration.calibrate import Calibration
from morello.machine import Target, print_target
from morello.machine.digests import COST_MODEL, digests_of
from morello.machine.file import MEASURED
from morello.machine.host import host, model_name
from morello.spec import print_spec


def machine() -> str:
    """This machine: the name of its processor, LLVM's name for it, its caches."""
    here = host()
    caches = ", ".join(f"L{c.level} {c.size >> 10} KiB" for c in here.caches)
    caches = caches or "caches unknown"
    return f"{model_name()} ({here.cpu}; {here.cores} cores; {caches})"


def target_file(calibration: Calibration, command: str) -> str:
    """The text of a target file, which ``--target @FILE`` reads."""
    fitted = calibration.fit
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    lines = [
        f"written by: {command} (morello {__version__})",
        f"date: {now}",
        f"machine: {machine()} at {calibration.gigahertz:.2f} GHz",
        f"fitted to {len(calibration.measured)} programs; median relative error "
        f"{fitted.median_before:.1%} before, {fitted.median_after:.1%} after",
        *trial_lines(calibration),
        "costs in 1/1000 cycle; read it with --target @FILE",
    ]
    head = "".join(f"# {line}\n" for line in lines)
    text = print_target(fitted.after, whole=True).replace(",", ",\n ")
    digests = digests_of(fitted.after.kernels)
    rows = ",\n ".join(f"{name}={digest}" for name, digest in digests.items())
    return f"{head}{text}\n{MEASURED}{{{rows}}}\n"


def stale_of(target: Target) -> tuple[str, ...]:
    """The stale ones of the prices that a target has."""
    priced = {COST_MODEL, *target.kernels}
    return tuple(name for name in target.stale if name in priced)


def stale_lines(targets: Iterable[Target]) -> Iterator[str]:
    """Lines that say of each target which of its prices are stale."""
    for target in targets:
        names, count = stale_of(target), 1 + len(target.kernels)
        listed = f": {', '.join(names)}" if len(names) < count else ""
        text = f"{len(names)} of {count} prices are stale{listed}"
        yield f"{target.name:<18}{text if names else 'current'}"


def trial_lines(calibration: Calibration) -> Iterator[str]:
    """Lines that say, for each round, how good the choices among the tried programs
    were."""
    for index, trial in enumerate(calibration.trials):
        name = f"round {index}" if index else "before"
        note = ", kept" if index == calibration.chosen else ""
        regret, spec = trial.worst
        text = print_spec(spec, trial.target.limits)
        yield (
            f"{name}: regret of {len(trial.regrets)} choices {trial.mean:.3f} in "
            f"geometric mean, {regret:.3f} at worst, of {text}{note}"
        )
