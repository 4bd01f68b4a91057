"""The command line of ``morello-opt``, spelled as mlir-opt's."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from morello.tools.input_output import UsageError
from morello.tools.split_input import MARKER

_EXAMPLES = """\
examples:
  morello-opt input.mlir
      parse, verify and print
  morello-opt -p 'builtin.module(morello-apply-schedule)' input.mlir -o out.mlir
      run one pass
  morello-opt -p 'builtin.module(func.func(canonicalize{max-iterations=3},cse))' -
      options and nesting; reads the standard input
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
    "--verify-each": "true",
    "--verify-diagnostics": "all",
}


@dataclass(frozen=True)
class Flags:
    """A command line, read and checked. Fields are named for their flags."""

    input: str
    output: str
    pass_pipeline: str
    dump_pass_pipeline: bool
    load_pass_plugin: tuple[str, ...]
    split_input_file: str
    output_split_marker: str
    verify_diagnostics: str
    verify_each: bool
    allow_unregistered_dialect: bool
    mlir_print_ir_before_all: bool
    mlir_print_ir_after_all: bool
    mlir_print_ir_after_change: bool
    mlir_print_ir_after_failure: bool
    mlir_print_ir_module_scope: bool
    mlir_print_ir_tree_dir: str
    mlir_print_op_generic: bool
    mlir_print_debuginfo: bool
    mlir_print_local_scope: bool
    mlir_elide_elementsattrs_if_larger: int | None
    mlir_timing: bool
    mlir_pass_statistics: bool
    crash_reproducer: str
    list_passes: bool
    show_dialects: bool
    version: bool

    @property
    def prints_ir(self) -> bool:
        """Whether the IR is printed between passes."""
        return self.mlir_print_ir_before_all or self.prints_after

    @property
    def prints_after(self) -> bool:
        """Whether the IR is printed after passes; the rest is a choice among them."""
        return (
            self.mlir_print_ir_after_all
            or self.mlir_print_ir_after_change
            or self.mlir_print_ir_after_failure
        )


class _Parser(argparse.ArgumentParser):
    """Reports by an exception, so that every usage error is printed alike."""

    def error(self, message: str) -> NoReturn:
        remedy = "morello-opt --help lists the flags"
        unknown = message.removeprefix("unrecognized arguments: ")
        if unknown != message:
            message = f"unknown flag or second input: {unknown}"
            if unknown.startswith("-"):
                name = unknown.split()[0].lstrip("-")
                remedy += f"; to run a pass: -p 'builtin.module({name})'"
        raise UsageError(f"morello-opt: error: {message}", remedy)


def parse_flags(arguments: Sequence[str]) -> Flags:
    """Read a command line (without the program's name).

    Raises:
        UsageError: a flag that does not exist, or a value that does not fit.
        SystemExit: ``--help`` has been printed.
    """
    parser = _parser()
    known = {option for action in parser._actions for option in action.option_strings}
    read = parser.parse_args([_normal(word, known) for word in arguments])
    values = vars(read)
    values["load_pass_plugin"] = tuple(values["load_pass_plugin"])
    return Flags(**values)


def _normal(word: str, known: set[str]) -> str:
    """LLVM's tools take ``-flag`` for ``--flag``, and some flags without a value."""
    name, equals, value = word.partition("=")
    if name.startswith("-") and not name.startswith("--") and f"-{name}" in known:
        name = f"-{name}"
    if not equals and name in _BARE:
        return f"{name}={_BARE[name]}"
    return f"{name}{equals}{value}"


def _truth(text: str) -> bool:
    if text.lower() in ("true", "1"):
        return True
    if text.lower() in ("false", "0"):
        return False
    raise argparse.ArgumentTypeError(f"'{text}' is not true or false")


def _parser() -> _Parser:
    parser = _Parser(
        prog="morello-opt",
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


def _add_passes(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("passes")
    group.add_argument(
        "-p",
        "--pass-pipeline",
        default="",
        metavar="TEXT",
        help="what to run, e.g. 'builtin.module(func.func(cse),canonicalize)'",
    )
    group.add_argument(
        "--dump-pass-pipeline",
        action="store_true",
        help="print the pipeline, bundles expanded, on the standard error",
    )
    group.add_argument(
        "--load-pass-plugin",
        action="append",
        default=[],
        metavar="FILE.py",
        help="a Python file whose ROWS (of morello.passes.registry.Row) add passes",
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
        "--allow-unregistered-dialect",
        action="store_true",
        help="parse ops of unknown dialects",
    )


def _add_printing(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("printing")
    for flag, text in (
        ("--mlir-print-ir-before-all", "print the IR before each pass"),
        ("--mlir-print-ir-after-all", "print the IR after each pass"),
        ("--mlir-print-ir-after-change", "print it only after a pass that changed it"),
        ("--mlir-print-ir-after-failure", "print it only after a pass that failed"),
        ("--mlir-print-ir-module-scope", "print the whole module each time"),
        ("--mlir-print-op-generic", "print every op in its generic form"),
        ("--mlir-print-debuginfo", "print locations"),
        ("--mlir-print-local-scope", "print attributes and locations without aliases"),
        ("--mlir-timing", "print how long each pass took"),
        ("--mlir-pass-statistics", "print what passes counted"),
    ):
        group.add_argument(flag, action="store_true", help=text)
    group.add_argument(
        "--mlir-print-ir-tree-dir",
        default="",
        metavar="DIR",
        help="print the IR between passes to files in this directory",
    )
    group.add_argument(
        "--mlir-elide-elementsattrs-if-larger",
        type=int,
        default=None,
        metavar="N",
        help="leave out elements attributes of more than N elements",
    )
