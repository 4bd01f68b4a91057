"""Measure programs here and fit the costs of a target to them: `calibrate`."""

import dataclasses
import random
from collections.abc import Callable, Sequence

from morello.calibration.fit import Fit, Measured, fit
from morello.calibration.sample import Sampler, perturbed
from morello.calibration.timing import Stopwatch, one_core
from morello.search import Impl
from morello.spec import Spec, print_spec
from morello.targets import Target

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
        for impl in draw(spec, target, plan):
            show(f"{len(found)} programs; {print_spec(spec, target.limits)}")
            with one_core():
                found.append(Measured(impl, watch.cycles_of(spec, impl, target)))
    show("fitting")
    return Calibration(fit(found, target), tuple(found), 1e-9 / watch.cycle())


def draw(spec: Spec, target: Target, plan: Plan) -> tuple[Impl, ...]:
    """Programs of a Spec: three quarters by the target's costs, others by wrong ones.

    The costs of the others are perturbed, and they are searched without relayouts, so
    that this takes a second: such programs spend on other things than the best does.
    """
    rng = random.Random(f"{plan.seed} {spec}")
    few = plan.programs // 4
    found = {
        str(impl): impl
        for impl in Sampler(spec, target, rng).programs(plan.programs - few)
    }
    if few:
        other = perturbed(dataclasses.replace(target, relayouts=False), rng)
        for impl in Sampler(spec, other, rng).programs(few):
            found.setdefault(str(impl), impl)
    return tuple(found.values())
