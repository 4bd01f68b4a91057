"""``python -m morello.training collect|train|judge``: the learned performance model."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from morello.compiler.target_choice import chosen_target
from morello.errors import MorelloError
from morello.tools.flags import seconds, whole_number
from morello.training.collect import Plan, collect
from morello.training.specs import TEXTS, specs


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
    )
    start = time.perf_counter()
    wanted = specs(texts, target)
    for entry in collect(wanted, target, options.file, plan, _tell):
        _tell(
            f"{entry.spec}: {len(entry.programs)} programs, "
            f"{time.perf_counter() - start:.0f} s"
        )


def _tell(line: str) -> None:
    sys.stderr.write(f"training: {line}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m morello.training",
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
    return parser


if __name__ == "__main__":
    sys.exit(main())
