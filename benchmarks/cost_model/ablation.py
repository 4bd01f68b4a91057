"""Test which coefficients are needed: ``python -m benchmarks.cost_model.ablation``.

Programs of the Specs of this benchmark are timed: `morello calibrate` fits to others.
Then they are priced with each coefficient in turn at nothing. A coefficient earns its
place if choices among them, or their order, get worse without it.

With ``--refit`` the programs that `morello calibrate` begins with are timed too, and
the other coefficients are fitted to them anew each time: they may stand in for what is
missing. With ``--folds`` these Specs are judged, too, each part of them by what was
fitted to the others: they are of every kind and memory.
"""

import argparse
import dataclasses
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.cost_model.__main__ import SPECS
from benchmarks.cost_model.statistics import geometric_mean, spearman
from morello.calibration.calibrate import fit_in_steps
from morello.calibration.draw import Plan, in_turns
from morello.calibration.fit import Measured
from morello.calibration.probes import Bounds, bounds, probe
from morello.calibration.reprice import Ledger
from morello.calibration.specs import ALL, specs
from morello.calibration.timing import Stopwatch
from morello.compiler.target_choice import chosen_target
from morello.compiler.tuning.timing import pinned
from morello.errors import MorelloError
from morello.learned.ledger import cost_of, with_costs
from morello.machine import Target
from morello.machine.costs import Coefficients, names
from morello.spec import Spec
from morello.tools.flags import seconds, whole_number
from morello.whole_files import write_whole

_TOP = 3
"""Programs of least cost whose best counts: equals are in no order."""


@dataclasses.dataclass(frozen=True)
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


Judge = Callable[[Target], Quality]
"""Says how well a target chooses that may lack a coefficient."""

Refit = Callable[[Target], Target]
"""Gives the coefficients of a target that are not nothing anew."""


def table(target: Target, judge: Judge) -> str:
    """The table of all coefficients, in Markdown."""
    lines = [
        "| without | millicycles | regret | worst | rank correlation |",
        "|---|---|---|---|---|",
        _row("nothing", 0, judge(target)),
    ]
    for name in names(Coefficients):
        quality = judge(with_costs(target, {name: 0}))
        lines.append(_row(f"`{name}`", cost_of(target, name), quality))
    return "\n".join(lines)


def in_folds(
    measured: Sequence[Measured], target: Target, within: Bounds, folds: int
) -> Judge:
    """Judges each part of the Specs by what is fitted to the other parts.

    Args:
        folds: how many parts; the Specs go to them in turn.

    Raises:
        MorelloError: there are fewer Specs.
    """
    specs = list(dict.fromkeys(m.impl.spec for m in measured))
    if len(specs) < folds:
        raise MorelloError(
            f"{len(specs)} Specs do not make {folds} parts",
            f"ask for --folds {max(len(specs), 2)} at most, or give more --fit-spec",
        )
    parts = [frozenset(specs[part::folds]) for part in range(folds)]
    tested = [
        Sample([m for m in measured if m.impl.spec in part], target) for part in parts
    ]

    def judge(lacking: Target) -> Quality:
        qualities = [
            sample.quality(
                fit_in_steps(
                    [m for m in measured if m.impl.spec not in part], lacking, within
                )
            )
            for part, sample in zip(parts, tested, strict=True)
        ]
        return Quality(
            geometric_mean([quality.regret for quality in qualities]),
            max(quality.worst for quality in qualities),
            float(np.mean([quality.rank for quality in qualities])),
        )

    return judge


def refit_to(measured: Sequence[Measured], within: Bounds) -> Refit:
    """A fit to timed programs, within what probes say."""
    return lambda target: fit_in_steps(measured, target, within)


def _row(name: str, value: int, quality: Quality) -> str:
    return (
        f"| {name} | {value or ''} | {quality.regret:.3f} | {quality.worst:.2f} | "
        f"{quality.rank:.2f} |"
    )


def draw_sample(texts: Sequence[str], target: Target, plan: Plan) -> Sample:
    """Draw and time programs of some Specs.

    Raises:
        MorelloError: a Spec has no program, or this machine cannot run the target.
    """
    return Sample(_timed(texts, target, plan), target)


def _timed(texts: Sequence[str], target: Target, plan: Plan) -> list[Measured]:
    drawn = in_turns(specs(tuple(texts), target), target, plan, None, _tell)
    return [Measured(impl, time) for one in drawn for impl, time in one.times]


def _tell(line: str) -> None:
    sys.stderr.write(f"ablation: {line}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print the table; 0, or 2 for a wrong command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost_model.ablation")
    parser.add_argument("--samples", type=whole_number(2), default=24)
    parser.add_argument(
        "--refit",
        type=whole_number(2),
        metavar="N",
        help="fit to N programs of each Spec of 'morello calibrate' without it",
    )
    parser.add_argument(
        "--folds",
        type=whole_number(2),
        metavar="K",
        help="with --refit: judge those Specs, too, a K-th part at a time",
    )
    parser.add_argument("--seconds", type=seconds, default=0.02)
    parser.add_argument("--jobs", type=whole_number(1), default=1)
    parser.add_argument("--target")
    parser.add_argument("--spec", action="append", help="a Spec; may be repeated")
    parser.add_argument("--fit-spec", action="append", help="one for --refit")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args(argv)
    if options.folds and not options.refit:
        parser.error("--folds goes with --refit N, whose programs it divides")
    plan = Plan(options.samples, options.seconds, jobs=options.jobs)
    try:
        target = chosen_target(options.target)
        tested = draw_sample(options.spec or SPECS, target, plan)
        text = table(target, tested.quality)
        if options.refit:
            plan = dataclasses.replace(plan, programs=options.refit)
            with pinned(True):
                within = bounds(target, probe(Stopwatch(plan.seconds), target.isa))
            measured = _timed(options.fit_spec or ALL, target, plan)
            refit = refit_to(measured, within)
            text += "\n\n" + table(target, lambda t: tested.quality(refit(t)))
            if options.folds:
                crossed = in_folds(measured, target, within, options.folds)
                text += "\n\n" + table(target, crossed)
    except (MorelloError, OSError) as error:
        _tell(f"error: {error}")
        return 2
    sys.stdout.write(f"{text}\n")
    if options.output:
        write_whole(options.output, f"{text}\n".encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
