"""A run: contenders started, cases measured in turn, a record written after each."""

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.harness.backend import MissingError
from benchmarks.harness.case import Case
from benchmarks.harness.machine_roofs import beyond_caches, machine_roofs
from benchmarks.harness.measure import Field, Plan, load_alone
from benchmarks.harness.process import Command, ContenderError, Process
from benchmarks.harness.provenance import machine_text
from benchmarks.harness.record import Contender, Record
from benchmarks.harness.report import markdown
from benchmarks.harness.roofline import roofline
from morello.tools.flags import seconds, whole_number
from morello.whole_files import write_whole


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that both commands take."""
    parser.add_argument("--threads", type=whole_number(1), default=1)
    parser.add_argument(
        "--seconds", type=seconds, default=3.0, help="of rounds for each Spec"
    )
    parser.add_argument(
        "--sample", type=seconds, default=4e-3, help="seconds of calls in a sample"
    )
    parser.add_argument(
        "--rounds", type=whole_number(1), default=6, help="at least (default: 6)"
    )
    parser.add_argument(
        "--loads",
        type=whole_number(1),
        default=2,
        help="how often everybody is loaded anew for a Spec (default: 2)",
    )
    add_priority(parser)
    parser.add_argument(
        "--db",
        default="none",
        help="database of searches; of commits one each, DB.old and DB.new "
        "(default: none)",
    )
    parser.add_argument(
        "--search",
        action="store_true",
        help="search into --db and time nothing; a later run then reads it",
    )
    parser.add_argument(
        "--add",
        action="store_true",
        help="keep rows of the record in --output that are not redone",
    )
    parser.add_argument("--name", help="of the files (default: from the arguments)")
    add_output(parser)


def add_priority(parser: argparse.ArgumentParser) -> None:
    """Whether samples are taken before all else."""
    parser.add_argument(
        "--priority",
        action="store_true",
        help="take the samples of contenders before all else that runs, where the "
        "system allows it: for one thread, on a machine that others use",
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """The folder that records are written to."""
    parser.add_argument(
        "--native",
        action="store_true",
        help="everybody uses what the CPU has, AVX-512 too (default: held to AVX2)",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help="write the record there, after every Spec (default: print it only)",
    )


def plan_of(options: argparse.Namespace) -> Plan:
    """How long to measure."""
    return Plan(
        options.seconds, options.sample, options.rounds, options.loads, options.priority
    )


def end_in_order() -> None:
    """Let a request to end the process remove what it has made."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))


class Contenders:
    """The processes of a run."""

    def __init__(self) -> None:
        self.running: dict[str, Process] = {}
        self.about: list[Contender] = []
        self._commands: dict[str, Command] = {}

    def add(self, name: str, command: Command) -> None:
        """Start one; if it is missing, that is noted."""
        process = Process(command)
        try:
            answer = process.ask({"do": "open"})
        except ContenderError as error:
            answer = {"missing": str(error)}
        if "missing" in answer:
            process.close()
            self.miss(name, answer["missing"])
            return
        self.running[name] = process
        self.about.append(Contender(name, **answer))
        self._commands[name] = command

    def revive(self) -> None:
        """Start those again that have ended at a case."""
        for name, process in self.running.items():
            if process.is_over:
                process.close()
                self.running[name] = Process(self._commands[name])
                with contextlib.suppress(ContenderError):  # it is out of the next case
                    self.running[name].ask({"do": "open"})

    def miss(self, name: str, why: str | MissingError) -> None:
        """Note that one is missing."""
        sys.stderr.write(f"benchmarks: {name} is missing: {why}\n")
        self.about.append(Contender(name, missing=str(why)))

    def close(self) -> None:
        """End all."""
        for process in self.running.values():
            process.close()


def roofs_command(threads: int, native: bool = False) -> Process:
    """The process that measures roofs: of AVX2, or of what the CPU has."""
    words = (sys.executable, "-m", "benchmarks.harness.roofs", str(threads))
    words = (*words, *(["native"] if native else []))
    return Process(Command("", threads, line=words))


@contextlib.contextmanager
def contenders(commands: Mapping[str, Command | MissingError]) -> Iterator[Contenders]:
    """Start all that are there, and end them."""
    running = Contenders()
    try:
        for name, command in commands.items():
            if isinstance(command, MissingError):
                running.miss(name, command)
            else:
                running.add(name, command)
        yield running
    finally:
        running.close()


def search(commands: Mapping[str, Command], cases: Sequence[Case]) -> int:
    """Have every Morello search the cases into its database; 1 if one is missing."""
    with contenders(commands) as field:
        for case in cases:
            field.revive()
            for name, process in field.running.items():
                entry = load_alone(name, process, case)
                sys.stderr.write(
                    f"{case.text}: {name}: {entry.status} {entry.detail}\n"
                )
        return int(len(field.running) < len(commands))


def run(
    name: str,
    commands: Mapping[str, Command | MissingError],
    ours: Sequence[str],
    cases: Sequence[Case],
    options: argparse.Namespace,
    origin: dict[str, str],
) -> int:
    """Measure all cases and print the record; 0, or 1 if a Morello is missing."""
    older = _older(name, options)
    page = ""
    roofs = roofs_command(options.threads, options.native)
    try:
        with contenders(commands) as field:
            known = _machine_roofs(options.threads, options.native)
            plan = plan_of(options)
            rows = []
            for case in cases:
                field.revive()
                talk = Field(
                    field.running, roofs, options.threads, plan, beyond_caches()
                )
                rows.append(talk.measure(case, origin))
                record = Record(
                    *(name, machine_text(), tuple(ours), tuple(field.about)),
                    *(known, tuple(rows)),
                )
                record = record.merged(older) if older else record
                page = markdown(record)
                if options.output:
                    write(record, options.output)
            started = set(field.running)
    finally:
        roofs.close()
    sys.stdout.write(page)
    return int(not started.issuperset(ours))


def _older(name: str, options: argparse.Namespace) -> Record | None:
    """The record that ``--add`` adds to."""
    if not options.add:
        return None
    if not options.output:
        raise ValueError("--add needs the folder of the record: -o FOLDER")
    path: Path = options.output / f"{name}.json"
    return Record.load(path) if path.exists() else None


def _machine_roofs(threads: int, native: bool) -> dict[str, dict[str, float]]:
    """By name, then for one core and for as many as there are threads."""
    roofs: dict[str, dict[str, float]] = {}
    for count in sorted({1, min(threads, len(os.sched_getaffinity(0)))}):
        process = roofs_command(count, native)
        try:
            rates = machine_roofs(process, count, 4e-3)
        finally:
            process.close()
        for name, rate in rates.items():
            roofs.setdefault(name, {})[column(count)] = rate
    return roofs


def column(threads: int) -> str:
    """Name of the roofs of so many cores."""
    return "1 core" if threads == 1 else f"{threads} cores"


def write(record: Record, folder: Path) -> None:
    """The record as JSON, Markdown and SVG."""
    record.save(folder / f"{record.name}.json")
    write_whole(folder / f"{record.name}.md", markdown(record).encode())
    threads = max((row.threads for row in record.rows), default=1)
    plot = roofline(record, column(threads))
    write_whole(folder / f"{record.name}.svg", plot.encode())
