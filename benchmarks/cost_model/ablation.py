"""Which coefficients are needed: ``python -m benchmarks.cost_model.ablation``.

Programs of the Specs that `morello calibrate` fits to are timed, and programs of the
Specs of this benchmark, which are others. Then each coefficient in turn is held at
nothing while the rest is fitted again: a coefficient earns its place if choices on the
Specs outside of the fit get worse without it.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.cost_model.__main__ import SPECS
from benchmarks.cost_model.statistics import geometric_mean, spearman
from morello.calibration.draw import Plan, in_turns
from morello.calibration.fit import Measured, fit
from morello.calibration.probes import Bounds, bounds
from morello.calibration.reprice import Ledger, cost_of, with_costs
from morello.calibration.specs import IN_MEM, specs
from morello.compiler.target_choice import chosen_target
from morello.cost.coefficients import Coefficients, names
from morello.errors import MorelloError
from morello.machine import Target
from morello.spec import Spec
from morello.tools.flags import seconds, whole_number

_TOP = 3
"""Programs of least cost whose best counts: equals are in no order."""


@dataclass(frozen=True)
class Quality:
    """How well a model chooses among the programs of a sample."""

    regret: float
    """Time of the cheapest program over the least: geometric mean over the Specs."""
    worst: float
    rank: float
    """Mean rank correlation of costs and times."""


class Sample:
    """Timed programs of some Specs."""

    def __init__(self, measured: Sequence[Measured], target: Target) -> None:
        self.measured = tuple(measured)
        of: dict[Spec, list[Measured]] = {}
        for one in measured:
            of.setdefault(one.impl.spec, []).append(one)
        self._parts = [
            (Ledger([m.impl for m in some], target), np.array([m.cycles for m in some]))
            for some in of.values()
        ]

    def quality(self, target: Target) -> Quality:
        """How well the costs of a target choose."""
        regrets, ranks = [], []
        for ledger, cycles in self._parts:
            costs = ledger.costs(target)
            first = np.argsort(costs, kind="stable")[:_TOP]
            near = [i for i in first if costs[i] <= 1.01 * costs[first[0]]]
            regrets.append(float(np.mean(cycles[near]) / cycles.min()))
            rank = spearman(costs.tolist(), cycles.tolist())
            ranks.append(0.0 if rank is None else rank)
        return Quality(geometric_mean(regrets), max(regrets), float(np.mean(ranks)))


def without(target: Target, name: str, measured: Sequence[Measured]) -> Target:
    """The target fitted anew with one coefficient held at nothing."""
    held = with_costs(target, {name: 1})
    within: Bounds = {**bounds(target, {}), name: (1, 1)}
    return fit(measured, held, bounds=within).after


def table(fitted: Sample, tested: Sample, target: Target) -> str:
    """The table of all coefficients, in Markdown."""
    whole = fit(fitted.measured, target, bounds=bounds(target, {})).after
    lines = [
        "| without | millicycles | regret | worst | rank correlation |",
        "|---|---|---|---|---|",
        _row("nothing", 0, tested.quality(whole)),
    ]
    for name in names(Coefficients):
        found = without(whole, name, fitted.measured)
        lines.append(_row(f"`{name}`", cost_of(whole, name), tested.quality(found)))
    return "\n".join(lines)


def _row(name: str, value: int, found: Quality) -> str:
    return (
        f"| {name} | {value or ''} | {found.regret:.3f} | {found.worst:.2f} | "
        f"{found.rank:.2f} |"
    )


def draw_sample(texts: Sequence[str], target: Target, plan: Plan) -> Sample:
    """Draw and time programs of some Specs.

    Raises:
        MorelloError: a Spec has no program, or this machine cannot run the target.
    """
    drawn = in_turns(specs(tuple(texts), target), target, plan, None, _tell)
    found = [Measured(impl, time) for one in drawn for impl, time in one.times]
    return Sample(found, target)


def _tell(line: str) -> None:
    sys.stderr.write(f"ablation: {line}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print the table; 0, or 2 for a wrong command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost_model.ablation")
    parser.add_argument("--samples", type=whole_number(2), default=24)
    parser.add_argument("--seconds", type=seconds, default=0.02)
    parser.add_argument("--jobs", type=whole_number(1), default=1)
    parser.add_argument("--target")
    parser.add_argument("--fit", action="append", help="a Spec to fit to")
    parser.add_argument("--test", action="append", help="a Spec to test on")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args(argv)
    plan = Plan(options.samples, options.seconds, jobs=options.jobs)
    try:
        target = chosen_target(options.target)
        fitted = draw_sample(options.fit or IN_MEM, target, plan)
        tested = draw_sample(options.test or SPECS, target, plan)
    except (MorelloError, OSError) as error:
        _tell(f"error: {error}")
        return 2
    text = table(fitted, tested, target)
    sys.stdout.write(f"{text}\n")
    if options.output:
        options.output.write_text(f"{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
