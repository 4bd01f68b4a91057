"""The command line of ``morello-opt``, spelled as mlir-opt's."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from morello.passes.pipelines.pass_flag import PassFlag
from morello.tools.input_output import UsageError, printable
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
_BARE = {
    "--split-input-file": MARKER,
    "--verify-diagnostics": "all",
}

_HELP = {"--help-list", "--help-hidden", "--help-list-hidden"}
"""Other names that LLVM's tools have for ``--help``."""


@dataclass(frozen=True)
class Flags:
    """A command line, read and checked. Fields are named for their flags."""

    input: str
    output: str
    pass_pipeline: str
    dump_pass_pipeline: bool
    load_pass_plugin: tuple[str, ...]
    irdl_file: str
    split_input_file: str
    output_split_marker: str
    no_implicit_module: bool
    verify_diagnostics: str
    verify_each: bool
    verify_roundtrip: bool
    allow_unregistered_dialect: bool
    run_reproducer: bool
    emit_bytecode: bool
    emit_bytecode_version: int | None
    mlir_disable_threading: bool
    mlir_diagnostic_verbosity_level: str
    color: bool
    mlir_disable_diagnostic_notes: bool
    mlir_print_op_on_diagnostic: bool
    mlir_print_ir_before_all: bool
    mlir_print_ir_after_all: bool
    mlir_print_ir_before: tuple[str, ...]
    mlir_print_ir_after: tuple[str, ...]
    mlir_print_ir_after_change: bool
    mlir_print_ir_after_failure: bool
    mlir_print_ir_module_scope: bool
    mlir_print_ir_tree_dir: str
    mlir_print_op_generic: bool
    mlir_print_debuginfo: bool
    mlir_pretty_debuginfo: bool
    mlir_print_local_scope: bool
    mlir_print_skip_regions: bool
    mlir_print_assume_verified: bool
    mlir_use_nameloc_as_prefix: bool
    mlir_elide_elementsattrs_if_larger: int | None
    mlir_elide_resource_strings_if_larger: int | None
    mlir_timing: bool
    mlir_timing_display: str
    mlir_pass_statistics: bool
    mlir_pass_statistics_display: str
    log_actions_to: str
    debug: bool
    debug_only: tuple[str, ...]
    mlir_generate_reproducer: str
    crash_reproducer: str
    list_passes: bool
    show_dialects: bool
    version: bool
    passes: tuple[PassFlag, ...] = ()
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
    values = vars(parser.parse_args(words))
    for name, value in values.items():
        if isinstance(value, list):
            values[name] = tuple(value)
    for name in ("mlir_print_ir_before", "mlir_print_ir_after", "debug_only"):
        values[name] = tuple(w for word in values[name] for w in word.split(",") if w)
    if passes and values["pass_pipeline"]:
        raise UsageError(
            "morello-opt: error: --pass-pipeline and the pass "
            f"{passes[0].spelled} are both given",
            "put all passes into the pipeline, or give each as a flag",
        )
    return Flags(**values, passes=tuple(passes))


def flag_names() -> list[str]:
    """The names of all flags, without dashes: for spelling hints."""
    return [
        option.lstrip("-")
        for action in _parser()._actions
        for option in action.option_strings
    ]


def _words(
    arguments: Sequence[str],
    flags: dict[str, argparse.Action],
    passes: list[PassFlag],
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
        elif action.type is _truth:
            yield f"{name}=true"
        elif name in _BARE:
            yield f"{name}={_BARE[name]}"
        else:
            following = next(words, None)
            yield name if following is None else f"{name}={following}"


def _truth(text: str) -> bool:
    if text.lower() in ("true", "1"):
        return True
    if text.lower() in ("false", "0"):
        return False
    raise argparse.ArgumentTypeError(f"'{text}' is not true or false")


def _parser() -> _Parser:
    parser = _Parser(
        prog="morello-opt",
        usage="morello-opt [flags] [--PASS[=options]]… [input]",
        description="Run passes of Morello and of MLIR over a module.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "input", nargs="?", default="-", help="MLIR text; - is the standard input"
    )
    parser.add_argument(
        "-o", dest="output", metavar="FILE", default="-", help="where to write"
    )
    parser.add_argument(
        "--version", action="store_true", help="print the version and exit"
    )
    _add_passes(parser)
    _add_checks(parser)
    _add_printing(parser)
    return parser


def _add_truths(group: Any, *rows: tuple[str, str]) -> None:
    """Flags that say yes or no: no unless they are given."""
    for flag, text in rows:
        group.add_argument(flag, type=_truth, default=False, metavar="", help=text)


def _add_passes(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "passes",
        "--PASS or --PASS='options' runs a pass, several in the order of the command "
        "line.",
    )
    group.add_argument(
        "-p",
        "--pass-pipeline",
        default="",
        metavar="TEXT",
        help="what to run, e.g. 'builtin.module(func.func(cse),canonicalize)'",
    )
    _add_truths(
        group,
        (
            "--dump-pass-pipeline",
            "print the pipeline with all options on the standard error",
        ),
        ("--run-reproducer", "run the pipeline that a reproducer holds"),
    )
    group.add_argument(
        "--load-pass-plugin",
        action="append",
        default=[],
        metavar="FILE.py",
        help="a Python file whose ROWS (of morello.passes.registry.Row) add passes",
    )
    group.add_argument(
        "--irdl-file",
        default="",
        metavar="FILE",
        help="a module of the irdl dialect whose dialects the input may use",
    )
    group.add_argument(
        "--list-passes",
        action="store_true",
        help="print the passes with their options and exit",
    )
    group.add_argument(
        "--show-dialects",
        action="store_true",
        help="print the dialects that can be parsed and exit",
    )
    group.add_argument(
        "--crash-reproducer",
        "--mlir-pass-pipeline-crash-reproducer",
        default="",
        metavar="FILE",
        help="where to write the input and pipeline of a crash",
    )
    group.add_argument(
        "--mlir-generate-reproducer",
        default="",
        metavar="FILE",
        help="write the input and the pipeline there, whether it crashes or not",
    )


def _add_checks(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("input and checks")
    group.add_argument(
        "--split-input-file",
        default="",
        metavar="MARKER",
        help=f"cut the input at lines that begin with a marker (bare: '{MARKER}')",
    )
    group.add_argument(
        "--output-split-marker",
        default=MARKER,
        metavar="MARKER",
        help="the line between the outputs of the pieces",
    )
    group.add_argument(
        "--verify-diagnostics",
        default="",
        choices=["all", "only-expected"],
        help="check expected-error and like comments (bare: all)",
    )
    group.add_argument(
        "--verify-each",
        type=_truth,
        default=True,
        metavar="BOOL",
        help="verify the IR after each pass (default: true)",
    )
    group.add_argument(
        "--mlir-diagnostic-verbosity-level",
        choices=["errors", "warnings", "remarks"],
        default="remarks",
        help="print errors alone, or warnings too, or all (default: remarks)",
    )
    group.add_argument(
        "--mlir-print-op-on-diagnostic",
        type=_truth,
        default=True,
        metavar="BOOL",
        help="print the op that an error is about, as a note (default: true)",
    )
    _add_truths(
        group,
        ("--allow-unregistered-dialect", "parse ops of unknown dialects"),
        ("--no-implicit-module", "parse one op of any kind, in no module"),
        (
            "--verify-roundtrip",
            "check that the input is the same after printing and parsing, as text "
            "and as bytecode",
        ),
        ("--mlir-disable-diagnostic-notes", "print no notes but that of the op"),
        ("--color", "accepted: the output has no colours"),
        ("--mlir-disable-threading", "accepted: passes run in one thread anyway"),
    )


_PRINTING = (
    ("--emit-bytecode", "write bytecode"),
    ("--mlir-print-ir-before-all", "print the IR before each pass"),
    ("--mlir-print-ir-after-all", "print the IR after each pass"),
    (
        "--mlir-print-ir-after-change",
        "of the dumps after passes, print only those of passes that changed it",
    ),
    ("--mlir-print-ir-after-failure", "print it only after a pass that failed"),
    ("--mlir-print-ir-module-scope", "print the whole module each time"),
    ("--mlir-print-op-generic", "print every op in its generic form"),
    ("--mlir-print-debuginfo", "print locations"),
    ("--mlir-pretty-debuginfo", "print locations in a short form"),
    (
        "--mlir-print-local-scope",
        "print attributes and locations without aliases",
    ),
    ("--mlir-print-skip-regions", "print no regions"),
    (
        "--mlir-print-assume-verified",
        "do not verify once more before printing",
    ),
    ("--mlir-use-nameloc-as-prefix", "name values by their locations"),
    ("--mlir-timing", "print how long each pass took"),
    ("--mlir-pass-statistics", "print what passes counted"),
    ("--debug", "print what passes say of themselves, if MLIR was built so"),
)
"""Flags that print something, or leave something out."""


def _add_printing(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("printing")
    _add_truths(group, *_PRINTING)
    for flag, text in (
        ("--mlir-print-ir-before", "print the IR before these passes"),
        ("--mlir-print-ir-after", "print the IR after these passes"),
    ):
        group.add_argument(
            flag, action="append", default=[], metavar="PASS[,PASS…]", help=text
        )
    group.add_argument(
        "--debug-only",
        action="append",
        default=[],
        metavar="TYPE[,TYPE…]",
        help="the same of some parts of MLIR",
    )
    group.add_argument(
        "--mlir-print-ir-tree-dir",
        default="",
        metavar="DIR",
        help="print the IR between passes to files in this directory",
    )
    group.add_argument(
        "--log-actions-to",
        default="",
        metavar="FILE",
        help="write a line where a pass begins and ends (- is the standard output)",
    )
    group.add_argument(
        "--mlir-timing-display",
        choices=["tree"],
        default="tree",
        help="how to print times; the bindings have no list of them",
    )
    group.add_argument(
        "--mlir-pass-statistics-display",
        choices=["list", "pipeline"],
        default="pipeline",
        help="how to print what passes counted",
    )
    for flag, what in (
        (
            "--mlir-elide-elementsattrs-if-larger",
            "elements attributes of more elements",
        ),
        ("--mlir-elide-resource-strings-if-larger", "resources of more characters"),
    ):
        group.add_argument(
            flag, type=int, default=None, metavar="N", help=f"leave out {what} than N"
        )
    group.add_argument(
        "--emit-bytecode-version",
        type=int,
        default=None,
        metavar="N",
        help="the version of the bytecode that is written",
    )
