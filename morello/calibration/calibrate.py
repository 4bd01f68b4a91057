"""Measure programs here and fit the costs of a target to them: `calibrate`."""

import dataclasses
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from morello.calibration.fit import Fit, Measured, fit, relative_errors
from morello.calibration.reprice import Ledger
from morello.calibration.sample import Sampler, perturbed, spread
from morello.calibration.timing import Stopwatch
from morello.calibration.turns import cycles_of_all
from morello.search import Impl
from morello.spec import Spec, print_spec
from morello.targets import Target

FIRST_RIDGE = 0.02
"""Weight of what a coefficient was in the first fit."""

_POOL = 2
"""How many times as many programs are drawn as are measured."""

Show = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much is measured.

    Args:
        programs: of each Spec.
        seconds: how long each is timed, beside a few samples that are always taken.
        seed: of what is drawn.
    """

    programs: int = 20
    seconds: float = 0.05
    seed: int = 0
    lock: Path | None = None
    """A file that is locked while programs are timed."""


@dataclasses.dataclass(frozen=True)
class Calibration:
    """What was measured, and the costs that explain it."""

    fit: Fit
    measured: tuple[Measured, ...]
    gigahertz: float
    """The clock of the core after the measurements."""


def calibrate(
    specs: Sequence[Spec], target: Target, plan: Plan, show: Show
) -> Calibration:
    """Measure programs of ``specs`` and fit the costs of ``target``.

    Args:
        show: is told what is going on.

    Raises:
        MorelloError: a Spec has no program, or this machine cannot run the target.
    """
    watch = Stopwatch(plan.seconds)
    found: list[Measured] = []
    for spec in specs:
        show(f"searching {print_spec(spec, target.limits)}")
        impls = draw(spec, target, plan)
        show(f"{len(found)} programs; {print_spec(spec, target.limits)}")
        times = cycles_of_all(spec, impls, target, watch, plan.lock)
        found += (
            Measured(impl, cycles)
            for impl, (cycles, _) in zip(impls, times, strict=True)
        )
    show("fitting")
    return Calibration(fit_in_steps(found, target), tuple(found), 1e-9 / watch.cycle())


def fit_in_steps(found: Sequence[Measured], target: Target) -> Fit:
    """Fit what happens in the core and its caches first, then all.

    Programs whose operands all lie in caches say what instructions, loops and L2 cost;
    the others could explain their times by these too, so that the second fit is held
    to what the first one found.
    """
    near = [m for m in found if all(t.level.is_cache for t in m.impl.spec.tensors)]
    first = fit(near, target, FIRST_RIDGE).after if near else target
    errors = relative_errors(found, target)
    return dataclasses.replace(fit(found, first), before=target, errors_before=errors)


def draw(spec: Spec, target: Target, plan: Plan) -> tuple[Impl, ...]:
    """Programs of a Spec: three quarters by the target's costs, others by wrong ones.

    The costs of the others are perturbed, and they are searched without relayouts, so
    that this takes a second: such programs spend on other things than the best does.
    """
    rng = random.Random(f"{plan.seed} {spec}")
    many = _POOL * plan.programs
    few = many // 4
    pool = {str(impl): impl for impl in Sampler(spec, target, rng).programs(many - few)}
    if few:
        other = perturbed(dataclasses.replace(target, relayouts=False), rng)
        for impl in Sampler(spec, other, rng).programs(few):
            pool.setdefault(str(impl), impl)
    impls = tuple(pool.values())
    costs = Ledger(impls).costs(target).tolist()
    return tuple(spread(impls, costs, plan.programs))
