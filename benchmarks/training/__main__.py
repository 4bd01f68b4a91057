"""``python -m benchmarks.training collect|train|judge|fusion``: the learned model."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.training.collect import Plan, collect
from benchmarks.training.data_set import entries
from benchmarks.training.fit import Sample, Settings, sample_of, train
from benchmarks.training.judge import PARTS, Verdict, cross_validated, judge
from benchmarks.training.report import fusions, table
from benchmarks.training.specs import TEXTS, specs
from morello.calibration.target_file import machine
from morello.compiler.target_choice import chosen_target
from morello.errors import MorelloError
from morello.learned.model import LearnedModel
from morello.machine import Target
from morello.tools.flags import seconds, whole_number


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0, or 2 where an argument is refused."""
    options = _parser().parse_args(argv)
    try:
        options.run(options)
    except (MorelloError, OSError) as error:
        _tell(f"error: {error}")
        return 2
    return 0


def _collect(options: argparse.Namespace) -> None:
    target = chosen_target(options.target)
    texts = tuple(options.specs) or TEXTS
    plan = Plan(
        options.classes,
        options.drawn,
        options.seconds,
        options.mebibytes,
        options.seed,
        options.lock,
    )
    start = time.perf_counter()
    wanted = specs(texts, target)
    for entry in collect(wanted, target, options.file, plan, _tell):
        _tell(
            f"{entry.spec}: {len(entry.programs)} programs, "
            f"{time.perf_counter() - start:.0f} s"
        )


def _train(options: argparse.Namespace) -> None:
    target = chosen_target(options.target)
    samples = _samples(options.file, target, older=options.older)
    trained = train(samples, Settings(seed=options.seed))
    count = sum(len(sample.times) for sample in samples)
    different = len({sample.spec for sample in samples})
    about = f"{count} programs of {different} Specs, {machine()}"
    model = LearnedModel(
        target.name,
        about,
        trained.names,
        trained.trees,
        trained.networks,
        options.decides_fusion,
    )
    model.save(options.output)
    _tell(f"{options.output}: {about}")


def _judge(options: argparse.Namespace) -> None:
    sys.stdout.write(table(_verdicts(options)) + "\n")


def _fusion(options: argparse.Namespace) -> None:
    sys.stdout.write(fusions(_verdicts(options)) + "\n")


def _verdicts(options: argparse.Namespace) -> dict[str, list[Verdict]]:
    """Judge the cost model, and trees that have not seen the Spec that they
    predict.

    Raises:
        MorelloError: the data set has too few Specs, or scikit-learn is missing.
    """
    target = chosen_target(options.target)
    samples = _samples(options.file, target, older=options.older)
    count = len({sample.spec for sample in samples})
    if count < options.parts:
        raise MorelloError(
            f"the data set has {count} Specs for {target.name}, and there are "
            f"{options.parts} parts",
            "collect more of them, or give fewer --parts",
        )
    learned = cross_validated(samples, Settings(seed=options.seed), options.parts)
    return {
        "cost model": [judge(one, one.costs) for one in samples],
        "learned": [judge(*pair) for pair in zip(samples, learned, strict=True)],
    }


def _samples(path: Path, target: Target, *, older: bool) -> list[Sample]:
    """Read the samples of a data set that can be learned from.

    Raises:
        MorelloError: there is nothing for the target.
    """
    every = entries(path, older=older)
    fitting = [entry for entry in every if entry.target == target.name]
    read = [sample_of(entry, target) for entry in fitting]
    samples = [sample for sample in read if sample is not None]
    if not samples:
        raise MorelloError(
            f"{path} has no programs for {target.name} that this version has",
            "make some with 'python -m benchmarks.training collect', or give --older "
            "for those of other versions",
        )
    return samples


def _tell(line: str) -> None:
    sys.stderr.write(f"training: {line}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.training",
        description="Make, train and judge the learned performance model.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    collecting = commands.add_parser(
        "collect",
        help="time programs of Specs into a data set; goes on where it was stopped",
    )
    collecting.set_defaults(run=_collect)
    collecting.add_argument("file", type=Path, help="the data set")
    collecting.add_argument(
        "specs", nargs="*", metavar="SPEC", help=f"default: {len(TEXTS)} of every kind"
    )
    collecting.add_argument("--target", help="as for 'morello run'")
    collecting.add_argument(
        "--classes",
        type=whole_number(1),
        default=Plan.classes,
        help="programs of different classes of each Spec (default: %(default)s)",
    )
    collecting.add_argument(
        "--drawn",
        type=whole_number(0),
        default=Plan.drawn,
        help="programs with other tiles and loops (default: %(default)s)",
    )
    collecting.add_argument(
        "--seconds",
        type=seconds,
        default=Plan.seconds,
        help="that each program is timed (default: %(default)s)",
    )
    collecting.add_argument(
        "--mebibytes",
        type=seconds,
        default=Plan.mebibytes,
        help="the size of the file from which on nothing is added "
        "(default: %(default)s)",
    )
    collecting.add_argument("--seed", type=whole_number(0), default=Plan.seed)
    collecting.add_argument(
        "--lock",
        type=Path,
        help="a file to lock while programs are timed, which is then done before all "
        "else that runs, where the system allows it",
    )
    training = commands.add_parser("train", help="write a model")
    training.set_defaults(run=_train)
    training.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE", help="of the model"
    )
    training.add_argument(
        "--decides-fusion",
        action="store_true",
        help="let tune='learned' ask it, too, whether the parts of a graph take turns: "
        "where 'fusion' says that it is right more often than the cost model",
    )
    judging = commands.add_parser(
        "judge",
        help="compare the learned model with the cost model on Specs that it has not "
        "seen",
    )
    judging.set_defaults(run=_judge)
    deciding = commands.add_parser(
        "fusion",
        help="the same for one decision: whether the parts of a graph take turns",
    )
    deciding.set_defaults(run=_fusion)
    for command in (judging, deciding):
        command.add_argument(
            "--parts",
            type=whole_number(2),
            default=PARTS,
            help="that the Specs are dealt into (default: %(default)s)",
        )
    for command in (training, judging, deciding):
        command.add_argument("file", type=Path, help="the data set")
        command.add_argument("--target", help="as for 'morello run'")
        command.add_argument("--seed", type=whole_number(0), default=0)
        command.add_argument(
            "--older",
            action="store_true",
            help="also what was timed with other versions of the search, as far as it "
            "still applies; costs are those of this version, times those of then",
        )
    return parser


if __name__ == "__main__":
    sys.exit(main())
