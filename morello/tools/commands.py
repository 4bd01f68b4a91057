"""The subcommands of ``morello``: their options, their help, and where their work is.

A row of `COMMANDS` has everything that help needs; the module that does the work is
imported when the command runs.
"""

import dataclasses
import importlib
from collections.abc import Callable
from typing import Any, Literal

from morello.tools.common_flags import (
    Called,
    OfModel,
    OfSpec,
    OnTarget,
    Searched,
    Threaded,
    time_limit,
    tuned,
    untuned,
)
from morello.tools.examples import BENCH, DB, EMIT, EXPLAIN, PRECOMPUTE, RUN, SAVE
from morello.tools.flags import (
    assignment,
    flag,
    gigahertz,
    part,
    percentage,
    positional,
    seconds,
    target_names,
    whole_number,
)
from morello.tools.measuring_commands import (
    CALIBRATE,
    TUNE,
    CalibrateOptions,
    TuneOptions,
)

STAGES = ("spec", "schedule", "mlir", "llvm", "asm")


@dataclasses.dataclass(frozen=True)
class RunOptions(Called):
    """The command line of ``morello run``."""

    input: tuple[tuple[str, str], ...] = flag(
        "a .npy file for an operand, in the order of its logical dimensions; it is "
        "brought into the operand's layout. May be repeated; the others are random",
        metavar="OPERAND=FILE.npy",
        parse=assignment,
        repeats=True,
    )
    output: str | None = flag(
        "where to write the output, in the order of its logical dimensions",
        metavar="FILE.npy",
        short="-o",
    )


@dataclasses.dataclass(frozen=True)
class BenchOptions(Called):
    """The command line of ``morello bench``."""

    seconds: float = flag(
        "how long to time (default: 2); three samples are always taken",
        default=2.0,
        metavar="S",
        parse=seconds,
    )
    json: bool = flag("print one JSON object, on one line", default=False)
    count: bool = flag(
        "count the programs of the space, too: twice as long as a search from nothing",
        default=False,
    )


@dataclasses.dataclass(frozen=True)
class EmitOptions(OfSpec):
    """The command line of ``morello emit``."""

    stage: str = flag(
        f"which text: {', '.join(STAGES)}",
        choices=STAGES,
        metavar="STAGE",
        required=True,
    )
    output: str = flag(
        "where to write; nothing is written unless all is (default: -)",
        default="-",
        metavar="FILE",
        short="-o",
    )
    threads: int | None = flag(
        "the most threads that a call may use (default: the number of the given "
        "schedule, else 1)",
        metavar="N",
        parse=whole_number(1),
    )
    time_limit: float | None = time_limit()
    tuned: bool = tuned()


@dataclasses.dataclass(frozen=True)
class SaveOptions(Searched):
    """The command line of ``morello save``."""

    output: tuple[str, ...] = flag(
        "a file to write: .o (object), .s (assembly), .ll (LLVM IR), .h (header); may "
        "be repeated",
        metavar="FILE",
        short="-o",
        repeats=True,
    )
    name: str | None = flag(
        "the function's name in C (default: one made of the Spec)", metavar="NAME"
    )
    also: tuple[tuple[str, str], ...] = flag(
        "another kernel for the same files, under a name of its own; may be repeated",
        metavar="NAME=SPEC",
        parse=assignment,
        repeats=True,
    )
    pack: tuple[tuple[str, str], ...] = flag(
        "a .npy file for an input, in the order of its logical dimensions; its "
        "elements are written in the kernel's layout next to the first FILE: "
        "k.rhs.bin for k.o and rhs. May be repeated",
        metavar="OPERAND=FILE.npy",
        parse=assignment,
        repeats=True,
    )
    threads: int = flag(
        "the most threads that a call may use (default: 1, which needs no library)",
        default=1,
        metavar="N",
        parse=whole_number(1),
    )
    targets: tuple[str, ...] | None = flag(
        "several machines in place of one, with commas between: the object holds a "
        "kernel for each, and runs the one that needs the most of what the CPU has",
        metavar="NAME,NAME",
        parse=target_names,
    )
    tuned: bool = tuned()


@dataclasses.dataclass(frozen=True)
class ExplainOptions(OfModel):
    """The command line of ``morello explain``."""

    top: int = flag(
        "how many rejected alternatives to show at a node (default: 8)",
        default=8,
        metavar="K",
        parse=whole_number(0),
    )
    depth: int | None = flag(
        "show alternatives at nodes down to this depth (default: 0, the root; with "
        "--html every node)",
        metavar="D",
        parse=whole_number(0),
    )
    at: tuple[int, ...] = flag(
        "show alternatives at this node too, by its number; may be repeated",
        metavar="NODE",
        parse=whole_number(0),
        repeats=True,
    )
    moves: bool = flag(
        "show moves that make no code as nodes of their own; without, they stand with "
        "the node below them",
        default=False,
    )
    html: str | None = flag(
        "write one self-contained HTML page instead of text; - is the standard output",
        metavar="FILE",
    )
    count: bool = flag(
        "count the programs of the space, too: twice as long as a search from nothing",
        default=False,
    )
    json: bool = flag("print one JSON object, on one line", default=False)
    candidates: int = flag(
        "list the cheapest program of each of the K cheapest classes, too (default: 0)",
        default=0,
        metavar="K",
        parse=whole_number(0),
    )
    unfused: bool = flag(
        "search for each node of a graph by itself, too, and say what fusing saves",
        default=False,
    )
    regret: float | None = flag(
        "of a Spec with a range of sizes: how much more than its best program a size "
        "may cost, in percent (default: 0, or the least that few programs have)",
        metavar="P",
        parse=percentage,
    )
    prove: int = flag(
        "of a Spec with a range of sizes: search N of them alone, too, and compare "
        "(default: 0)",
        default=0,
        metavar="N",
        parse=whole_number(0),
    )
    untuned: bool = untuned()
    seconds: float | None = flag(
        "time the program, too, of a model that of each part, each for S seconds",
        metavar="S",
        parse=seconds,
    )
    ghz: float = flag(
        "the clock at which cycles are shown as time (default: 3)",
        default=3.0,
        metavar="G",
        parse=gigahertz,
    )
    partition: Literal["rule", "cost"] = flag(
        "the parts of a model: those of the rule, or those of the least cost, with the "
        "costs of each two as one (default: rule)",
        default="rule",
        choices=("rule", "cost"),
    )


@dataclasses.dataclass(frozen=True)
class DbOptions(OnTarget):
    """The command line of ``morello db``."""

    action: str = positional(
        "info, verify, export, import, merge, gc, clear-code, pin or unpin", "ACTION"
    )
    words: tuple[str, ...] = positional(
        "the files of import, export or merge; the Spec and the file of pin; the Spec "
        "of unpin",
        "WORD",
        repeats=True,
    )
    json: bool = flag("info: print one JSON object, on one line", default=False)
    programs: bool = flag(
        "export: only the programs that were found or measured, and pins: kilobytes, "
        "which is all that a lookup of the same Specs needs",
        default=False,
    )
    limit: int | None = flag(
        "gc: drop tables, the largest first, until the file has at most so many MB; "
        "programs and pins stay",
        metavar="MB",
        parse=whole_number(0),
    )


@dataclasses.dataclass(frozen=True)
class PrecomputeOptions(Threaded):
    """The command line of ``morello precompute``."""

    specs: tuple[str, ...] = positional(
        "what to solve; {64,128} and {16..64..16} stand for each of their members",
        "SPEC",
        repeats=True,
    )
    jobs: int | None = flag(
        "how many processes (default: one for each core); each may take some GB",
        metavar="N",
        parse=whole_number(1),
    )
    shard: tuple[int, int] | None = flag(
        "only the I-th of N parts of the Specs: a part a machine, into a file of "
        "its own; morello db merge puts them together",
        metavar="I/N",
        parse=part,
    )
    programs: bool = flag(
        "store programs alone, without the tables that they were found with, and pack "
        "them when all are done: some bytes a Spec; another Spec is searched without "
        "tables",
        default=False,
    )
    time_limit: float | None = flag(
        "end after this long; what is solved is stored, and the same command goes on "
        "from there (default: never)",
        metavar="SECONDS",
        parse=seconds,
    )
    scheduler: str | None = flag(
        "search on the workers of this Dask scheduler (pip install 'morello[dask]'): "
        "what they find is merged here, no file is shared",
        metavar="tcp://HOST:PORT",
    )
    tune: float | None = flag(
        "time programs of each Spec after its search, as 'morello tune' does, for S "
        "seconds; here by one process",
        metavar="S",
        parse=seconds,
    )


@dataclasses.dataclass(frozen=True)
class Command:
    """A subcommand: ``options`` are its flags, and its module has ``main(options)``."""

    name: str
    summary: str
    options: type[Any]
    notes: str
    """Printed after the flags: the meaning of the output, and examples."""

    def load(self) -> Callable[[Any], int]:
        """The function that does the work and returns the exit code."""
        module = importlib.import_module(f"morello.tools.subcommands.{self.name}")
        work: Callable[[Any], int] = module.main
        return work


COMMANDS = {
    command.name: command
    for command in (
        Command(
            "run",
            "run a Spec's kernel and check it against the definition",
            RunOptions,
            RUN,
        ),
        Command(
            "bench",
            "time a Spec's kernel, and the peak of the machine",
            BenchOptions,
            BENCH,
        ),
        Command(
            "emit",
            "print a stage on the way from a Spec to machine code",
            EmitOptions,
            EMIT,
        ),
        Command(
            "save",
            "write a Spec's kernel as files that C and C++ programs link",
            SaveOptions,
            SAVE,
        ),
        Command("db", "look after the database of solved Specs", DbOptions, DB),
        Command(
            "precompute",
            "fill the database for a family of Specs",
            PrecomputeOptions,
            PRECOMPUTE,
        ),
        Command(
            "tune", "time programs of a Spec, and keep the fastest", TuneOptions, TUNE
        ),
        Command(
            "explain",
            "show why a Spec's program is as it is: costs, memories, alternatives",
            ExplainOptions,
            EXPLAIN,
        ),
        Command(
            "calibrate",
            "measure the costs of the search's model on this machine",
            CalibrateOptions,
            CALIBRATE,
        ),
    )
}
