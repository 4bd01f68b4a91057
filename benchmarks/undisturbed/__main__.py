"""``python -m benchmarks.undisturbed [SUITE | SPEC]… [--rounds N] [--seconds S]``."""

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness.case import CaseError
from benchmarks.harness.provenance import ROOT, commit_of, machine_text, origin
from benchmarks.harness.report import table
from benchmarks.harness.session import add_output
from benchmarks.harness.suites import SUITES, cases
from benchmarks.undisturbed.measure import Part, measure, program
from morello.calibration.timing import Stopwatch
from morello.calibration.turns import shared
from morello.compiler.target_choice import chosen_target
from morello.errors import MorelloError
from morello.tools.flags import seconds, whole_number
from morello.whole_files import write_whole

_ABOUT = """What part of the peak of its core each program reaches on one thread, in
cycles of both: the median of the rounds in which neither the program nor the loop of
its roof was disturbed, or of all rounds where fewer than three were undisturbed. In a
round both are timed in turns, and the least of each counts. Chains of additions before
and after show the length of a cycle and whether another process used the core. Cycles:
the least of a call."""

_SAMPLE = 5e-4
"""Seconds of back-to-back calls in a sample. Longer ones are seldom undisturbed."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; 0, or 2 for a wrong command line."""
    words = list(sys.argv[1:] if argv is None else argv)
    options = _parser().parse_args(words)
    try:
        wanted = cases(options.what or ["f32-squares"])
        target = chosen_target(options.target)
        come_from = origin("benchmarks.undisturbed", words, commit_of(ROOT))
        load = os.getloadavg()[0]
        with shared(options.lock):
            programs = [program(case, target, options.db) for case in wanted]
        watch = Stopwatch(options.seconds, _SAMPLE)
        parts: list[Part] = []
        for case, one in zip(wanted, programs, strict=True):
            parts.append(
                measure(case, one, target, watch, options.rounds, options.lock)
            )
            about: dict[str, str | float] = {"target": target.name, "load": load}
            about |= {"machine": machine_text(), **come_from}
            page = _write(options, parts, about)
    except (CaseError, MorelloError, OSError) as error:
        sys.stderr.write(f"undisturbed: error: {error}\n")
        return 2
    sys.stdout.write(page)
    return 0


def _write(
    options: argparse.Namespace, parts: Sequence[Part], about: dict[str, str | float]
) -> str:
    """The page, which ``--output`` also has as a file, with the samples as JSON."""
    page = _page(options.name, parts, about)
    folder: Path | None = options.output
    if folder:
        rows = [
            dataclasses.asdict(part)
            | {"of_peak": part.of_peak, "undisturbed": part.undisturbed}
            for part in parts
        ]
        data = json.dumps({**about, "specs": rows}, indent=1)
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{options.name}.json", f"{data}\n".encode())
        write_whole(folder / f"{options.name}.md", page.encode())
    return page


def _page(name: str, parts: Sequence[Part], about: dict[str, str | float]) -> str:
    """The parts as a Markdown table, below where they come from."""
    lines = [
        (
            *(f"`{part.spec}`", f"{len(part.rounds)}", f"{part.undisturbed}"),
            *(f"{part.of_peak:.1%}", f"{part.of_peak_in_all:.1%}"),
            *(f"{part.cycles / 1e3:.4g}", part.roof),
        )
        for part in parts
    ]
    head = ["Spec", "rounds", "undisturbed", "of the peak", "in all rounds"]
    head += ["thousand cycles", "roof"]
    return (
        f"# {name}\n\n{_ABOUT}\n\n- `{about['command']}` at {about['commit']}, "
        f"{about['date']}, target `{about['target']}`, load {about['load']:.1f}\n"
        f"- machine: {about['machine']}\n\n{table(head, lines)}\n"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.undisturbed",
        description="Compare programs with the peak of a core that nobody else uses.",
        epilog=f"Suites: {', '.join(SUITES)}.",
    )
    parser.add_argument(
        "what", nargs="*", metavar="SUITE|SPEC", help="default: f32-squares"
    )
    parser.add_argument(
        "--rounds", type=whole_number(1), default=25, help="of each (default: 25)"
    )
    parser.add_argument(
        "--seconds", type=seconds, default=0.05, help="of each in a round"
    )
    parser.add_argument("--db", default="none", help="database (default: none)")
    parser.add_argument(
        "--lock", type=Path, help="a file to lock while programs are timed"
    )
    parser.add_argument(
        "--target", help="a name, or @FILE (default: as for 'morello run')"
    )
    parser.add_argument("--name", default="undisturbed", help="of the files")
    add_output(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
