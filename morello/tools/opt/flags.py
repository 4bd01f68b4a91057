"""The command line of ``morello-opt``, spelled as mlir-opt's."""

import argparse
import dataclasses
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from morello.passes.pipelines.pass_flag import PassFlag
from morello.tools.flags import add_flags, flag, positional, read_flags
from morello.tools.input_output import UsageError, printable, write_output
from morello.tools.opt.refused import check_flag
from morello.tools.opt.split_input import MARKER

_EXAMPLES = """\
examples:
  morello-opt input.mlir
      parse, verify and print
  morello-opt -p 'builtin.module(morello-apply-schedule)' input.mlir -o out.mlir
      run one pass
  morello-opt -p 'builtin.module(func.func(canonicalize{max-iterations=3},cse))' -
      options and nesting; reads the standard input
  morello-opt --canonicalize='max-iterations=3' --cse --mlir-print-ir-after=cse in.mlir
      passes as flags, and the IR after one of them
  morello-opt --split-input-file --verify-diagnostics errors.mlir
      check the '// expected-error@+1 {{...}}' comments of each piece
  morello-opt --list-passes
      every pass with its options

exit codes: 0 done, 1 the input is refused or a pass has failed, 2 wrong usage.
A crash inside a pass is an error too; a file that reproduces it is left in the working
directory as <input>-crash-<process>.mlir, or where --crash-reproducer says.
"""

# Flags whose value is optional, with the value that the bare flag stands for. They are
# expanded before parsing: argparse would take the input file for the value.
_BARE = {"--split-input-file": MARKER, "--verify-diagnostics": "all"}

_HELP = {"--help-list", "--help-hidden", "--help-list-hidden"}
"""Other names that LLVM's tools have for ``--help``."""


_PASSES = "passes"
_CHECKS = "input and checks"
_PRINTING = "printing"


def _boolean(text: str) -> bool:
    if text.lower() in ("true", "1"):
        return True
    if text.lower() in ("false", "0"):
        return False
    raise argparse.ArgumentTypeError(f"'{text}' is not true or false")


def _truth(help: str, group: str = _PRINTING, *, default: bool = False) -> Any:
    """A flag that says yes or no: yes if it is given alone."""
    return flag(help, default=default, metavar="[BOOL]", parse=_boolean, group=group)


def _several(help: str, metavar: str) -> Any:
    """A flag of names with commas between, that may be given many times."""
    return flag(help, metavar=metavar, repeats=True, group=_PRINTING)


def _number(help: str) -> Any:
    return flag(help, metavar="N", parse=int, group=_PRINTING)


@dataclasses.dataclass(frozen=True)
class Flags:
    """A command line, read and checked. Fields are named for their flags."""

    input: str = positional("MLIR text; - is the standard input", "input", default="-")
    output: str = flag("where to write", default="-", metavar="FILE", short="-o")
    version: bool = flag("print the version and exit", default=False)
    pass_pipeline: str = flag(
        "what to run, e.g. 'builtin.module(func.func(cse),canonicalize)'",
        default="",
        metavar="TEXT",
        short="-p",
        group=_PASSES,
    )
    dump_pass_pipeline: bool = _truth(
        "print the pipeline with all options on the standard error", _PASSES
    )
    run_reproducer: bool = _truth("run the pipeline that a reproducer holds", _PASSES)
    load_pass_plugin: tuple[str, ...] = flag(
        "a Python file whose ROWS (of morello.passes.registry.Row) add passes",
        metavar="FILE.py",
        repeats=True,
        group=_PASSES,
    )
    irdl_file: str = flag(
        "a module of the irdl dialect whose dialects the input may use",
        default="",
        metavar="FILE",
        group=_PASSES,
    )
    list_passes: bool = flag(
        "print the passes with their options and exit", default=False, group=_PASSES
    )
    show_dialects: bool = flag(
        "print the dialects that can be parsed and exit", default=False, group=_PASSES
    )
    crash_reproducer: str = flag(
        "where to write the input and pipeline of a crash",
        default="",
        metavar="FILE",
        short="--mlir-pass-pipeline-crash-reproducer",
        group=_PASSES,
    )
    mlir_generate_reproducer: str = flag(
        "write the input and the pipeline there, whether it crashes or not",
        default="",
        metavar="FILE",
        group=_PASSES,
    )
    split_input_file: str = flag(
        f"cut the input at lines that begin with a marker (bare: '{MARKER}')",
        default="",
        metavar="MARKER",
        group=_CHECKS,
    )
    output_split_marker: str = flag(
        "the line between the outputs of the pieces",
        default=MARKER,
        metavar="MARKER",
        group=_CHECKS,
    )
    verify_diagnostics: str = flag(
        "check expected-error and like comments (bare: all)",
        default="",
        choices=["all", "only-expected"],
        group=_CHECKS,
    )
    verify_each: bool = _truth(
        "verify the IR after each pass (default: true)", _CHECKS, default=True
    )
    mlir_diagnostic_verbosity_level: str = flag(
        "print errors alone, or warnings too, or all (default: remarks)",
        default="remarks",
        choices=["errors", "warnings", "remarks"],
        group=_CHECKS,
    )
    mlir_print_op_on_diagnostic: bool = _truth(
        "print the op that an error is about, as a note (default: true)",
        _CHECKS,
        default=True,
    )
    allow_unregistered_dialect: bool = _truth("parse ops of unknown dialects", _CHECKS)
    no_implicit_module: bool = _truth("parse one op of any kind, in no module", _CHECKS)
    verify_roundtrip: bool = _truth(
        "check that the input is the same after printing and parsing, as text and as "
        "bytecode",
        _CHECKS,
    )
    mlir_disable_diagnostic_notes: bool = _truth(
        "print no notes but that of the op", _CHECKS
    )
    color: bool = _truth("accepted: the output has no colours", _CHECKS)
    mlir_disable_threading: bool = _truth(
        "accepted: passes run in one thread anyway", _CHECKS
    )
    emit_bytecode: bool = _truth("write bytecode")
    mlir_print_ir_before_all: bool = _truth("print the IR before each pass")
    mlir_print_ir_after_all: bool = _truth("print the IR after each pass")
    mlir_print_ir_after_change: bool = _truth(
        "of the dumps after passes, print only those of passes that changed it"
    )
    mlir_print_ir_after_failure: bool = _truth("print it only after a pass that failed")
    mlir_print_ir_module_scope: bool = _truth("print the whole module each time")
    mlir_print_op_generic: bool = _truth("print every op in its generic form")
    mlir_print_debuginfo: bool = _truth("print locations")
    mlir_pretty_debuginfo: bool = _truth("print locations in a short form")
    mlir_print_local_scope: bool = _truth(
        "print attributes and locations without aliases"
    )
    mlir_print_skip_regions: bool = _truth("print no regions")
    mlir_print_assume_verified: bool = _truth("do not verify once more before printing")
    mlir_use_nameloc_as_prefix: bool = _truth("name values by their locations")
    mlir_timing: bool = _truth("print how long each pass took")
    mlir_pass_statistics: bool = _truth("print what passes counted")
    debug: bool = _truth("print what passes say of themselves, if MLIR was built so")
    mlir_print_ir_before: tuple[str, ...] = _several(
        "print the IR before these passes", "PASS[,PASS…]"
    )
    mlir_print_ir_after: tuple[str, ...] = _several(
        "print the IR after these passes", "PASS[,PASS…]"
    )
    debug_only: tuple[str, ...] = _several(
        "the same of some parts of MLIR", "TYPE[,TYPE…]"
    )
    mlir_print_ir_tree_dir: str = flag(
        "print the IR between passes to files in this directory",
        default="",
        metavar="DIR",
        group=_PRINTING,
    )
    log_actions_to: str = flag(
        "write a line where a pass begins and ends (- is the standard output)",
        default="",
        metavar="FILE",
        group=_PRINTING,
    )
    mlir_timing_display: str = flag(
        "how to print times; the bindings have no list of them",
        default="tree",
        choices=["tree"],
        group=_PRINTING,
    )
    mlir_pass_statistics_display: str = flag(
        "how to print what passes counted",
        default="pipeline",
        choices=["list", "pipeline"],
        group=_PRINTING,
    )
    mlir_elide_elementsattrs_if_larger: int | None = _number(
        "leave out elements attributes of more elements than N"
    )
    mlir_elide_resource_strings_if_larger: int | None = _number(
        "leave out resources of more characters than N"
    )
    emit_bytecode_version: int | None = _number(
        "the version of the bytecode that is written"
    )
    passes: tuple[PassFlag, ...] = dataclasses.field(default=(), kw_only=True)
    """The flags that are names of passes, in order."""

    @property
    def prints_ir(self) -> bool:
        """Whether the IR is printed between passes."""
        return (
            self.mlir_print_ir_before_all
            or bool(self.mlir_print_ir_before)
            or bool(self.mlir_print_ir_after)
            or self._prints_all_after
        )

    def prints_before(self, argument: str) -> bool:
        """Whether the IR is printed before a pass, given its name in a pipeline."""
        return self.mlir_print_ir_before_all or argument in self.mlir_print_ir_before

    def prints_after(self, argument: str) -> bool:
        """Whether IR is dumped after a pass; whether it changed or failed is
        checked elsewhere."""
        return self._prints_all_after or argument in self.mlir_print_ir_after

    @property
    def _prints_all_after(self) -> bool:
        return self.mlir_print_ir_after_all or self.mlir_print_ir_after_failure


class _Parser(argparse.ArgumentParser):
    """Reports by an exception, so that every usage error is printed alike."""

    def error(self, message: str) -> NoReturn:
        unknown = message.removeprefix("unrecognized arguments: ")
        if unknown != message:
            message = f"unknown flag or second input: {unknown}"
        raise UsageError(
            f"morello-opt: error: {message}", "morello-opt --help lists the flags"
        )

    def print_help(self, file: Any = None) -> None:
        """Print it as mlir-opt does: the dialects come with it."""
        from morello.tools.opt.dialect_names import dialects

        super().print_help(file)
        self._print_message(f"\nAvailable Dialects: {', '.join(dialects())}\n", file)

    def _print_message(self, message: str, file: Any = None) -> None:
        stream = file or sys.stdout
        super()._print_message(printable(message, stream), stream)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        write_output("-", "")  # what is left in the buffer, or a closed pipe
        super().exit(status, message)


def parse_flags(arguments: Sequence[str]) -> Flags:
    """Read a command line (without the program's name).

    A flag that is none of ours is taken for a pass; whether there is such a pass is
    found out later, by those who may ask MLIR.

    Raises:
        UsageError: a flag that does not exist, or a value that does not fit.
        SystemExit: ``--help`` has been printed.
    """
    parser = _parser()
    flags = {
        option: action for action in parser._actions for option in action.option_strings
    }
    passes: list[PassFlag] = []
    words = list(_words(arguments, flags, passes))
    parsed = read_flags(Flags, parser.parse_args(words))
    if passes and parsed.pass_pipeline:
        raise UsageError(
            "morello-opt: error: --pass-pipeline and the pass "
            f"{passes[0].spelled} are both given",
            "put all passes into the pipeline, or give each as a flag",
        )
    several: dict[str, Any] = {
        name: tuple(w for word in getattr(parsed, name) for w in word.split(",") if w)
        for name in ("mlir_print_ir_before", "mlir_print_ir_after", "debug_only")
    }
    return dataclasses.replace(parsed, **several, passes=tuple(passes))


def flag_names() -> list[str]:
    """The names of all flags, without dashes: for spelling hints."""
    return [
        option.lstrip("-")
        for action in _parser()._actions
        for option in action.option_strings
    ]


def _words(
    arguments: Sequence[str], flags: dict[str, argparse.Action], passes: list[PassFlag]
) -> Iterator[str]:
    """The words as argparse reads them.

    LLVM's tools take ``-flag`` for ``--flag``, values of flags that say yes or no, and
    some flags without a value. Flags that are no flag of ours go to ``passes``.
    """
    words = iter(arguments)
    for word in words:
        if word == "--":
            yield word
            yield from words
            return
        name, equals, value = word.partition("=")
        if f"-{name}" in flags and name.startswith("-") and not name.startswith("--"):
            name = f"-{name}"
        if name in _HELP:
            name = "--help"
        action = flags.get(name)
        if action is None and len(name) > 1 and name.startswith("-"):
            check_flag(name, name.lstrip("-"))
            passes.append(PassFlag(name, name.lstrip("-"), value if equals else None))
        elif action is None:
            yield word
        elif equals or action.nargs == 0:
            yield f"{name}{equals}{value}"
        elif action.type is _boolean:
            yield f"{name}=true"
        elif name in _BARE:
            yield f"{name}={_BARE[name]}"
        else:
            following = next(words, None)
            yield name if following is None else f"{name}={following}"


def _parser() -> _Parser:
    parser = _Parser(
        prog="morello-opt",
        usage="morello-opt [flags] [--PASS[=options]]… [input]",
        description="Run passes of Morello and of MLIR over a module. --PASS or "
        "--PASS='options' runs a pass, several in the order of the command line.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_flags(parser, Flags)
    return parser
