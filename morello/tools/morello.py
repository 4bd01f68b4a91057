"""``morello``: run, time and print the program of a Spec.

Read `main` first, then `commands.py`: its rows are the subcommands. Exit codes: 0 done,
1 the Spec or an input is refused or a result is wrong, 2 wrong usage, 130 interrupted.
"""

import argparse
import re
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

from morello._version import __version__
from morello.errors import MorelloError
from morello.suggestions import did_you_mean
from morello.tools.commands import COMMANDS, Command
from morello.tools.flags import add_flags, read_flags
from morello.tools.input_output import (
    UsageError,
    open_closed_streams,
    printable,
    write_output,
)

DONE, REFUSED, USAGE, INTERRUPTED = 0, 1, 2, 130

_NOTES = """\
A Spec is kind:sizes[:dtypes][:option=value]…
  matmul:512x512x512:f32                m x k x n; matmul:2x512x512x512 has a batch
  matmul:64x64x64:f32:rhs=[0,2,1]       the right operand is column-major
  softmax:64x256:f32                    a graph that has a name

kinds:
  matmul, matmul_accum, max, max_accum, min, min_accum, sum, sum_accum, abs,
  erf, exp, gelu, log, neg, relu, rsqrt, sigmoid, silu, sqrt, square, tanh, add,
  div, maximum, minimum, mul, sub, move, fill, compose, softmax, log_softmax,
  softmax_max_and_sum, softmax_unscaled, softmax_complete, layer_norm, rms_norm,
  gelu_matmul, residual_matmul, chain, attention, conv, mean

examples:
  morello run matmul:100x37x53:f32
  morello bench matmul:512x512x512:f32
  morello emit matmul:8x8x8:f32 --stage schedule
  morello run --help

exit codes: 0 done; 1 the Spec or an input is refused, or a result is wrong; 2 wrong
usage; 130 interrupted.
"""


class _Parser(argparse.ArgumentParser):
    """Reports by an exception, so that every usage error is printed alike."""

    _is_mixing = False
    """Whether words and flags are being read one after the other."""

    def error(self, message: str) -> NoReturn:
        message = message.replace(
            "unrecognized arguments:", "unknown flag or one Spec too many:"
        )
        flags = dict.fromkeys(self._option_string_actions, "") | self._flags()
        meant = _meant(message, flags)
        raise UsageError(message, f"{self.prog} --help lists the arguments{meant}")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Words may stand before, between and after flags: ``db export --programs F``.

        Argparse takes all words of a command where the first one stands, unless it is
        asked for those and the flags one after the other.
        """
        if self._is_mixing or self._flags():
            return super().parse_known_args(args, namespace)
        self._is_mixing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_mixing = False

    def _print_message(self, message: str, file: Any = None) -> None:
        stream = file or sys.stderr
        super()._print_message(printable(message, stream), stream)

    def _flags(self) -> dict[str, str]:
        """Flags of all commands, each with those that have it, for hints where it is
        not known which command was meant."""
        flags: dict[str, str] = {}
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, parser in action.choices.items():
                    for flag in parser._option_string_actions:
                        flags[flag] = (
                            f"{flags[flag]}, {name}" if flag in flags else name
                        )
        return flags

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        write_output("-", "")  # what is left in the buffer, or a closed pipe
        super().exit(status, message)


def _meant(message: str, flags: dict[str, str]) -> str:
    """Suggest a word in place of one that a message of argparse refuses.

    Args:
        flags: all, and the commands that have them.
    """
    if choice := re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message):
        return did_you_mean(choice[1], re.findall(r"'([^']*)'", choice[2]))
    if unknown := re.search(r"too many: (--[\w-]+)", message):
        if unknown[1] in flags:
            return f"; it is a flag of {flags[unknown[1]]}"
        return did_you_mean(unknown[1], flags)
    return ""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool.

    Args:
        argv: the command line without the program's name; that of the process if it is
            None.

    Returns:
        The exit code.
    """
    open_closed_streams()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            return _run(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        return INTERRUPTED
    except UsageError as error:
        return _report(error, USAGE)
    except MorelloError as error:
        return _report(error, REFUSED)
    except MemoryError as error:
        return _report(f"out of memory: {error or 'no more can be had'}", REFUSED)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    """A warning as one line, without the place in the source that it comes from."""
    sys.stderr.write(f"morello: warning: {message}\n")


def _run(argv: Sequence[str]) -> int:
    parser = _parser()
    values = parser.parse_args(argv)
    if values.version:
        write_output("-", f"morello {__version__}\n")
        return DONE
    if values.command is None:
        parser.error(f"no command; use one of {', '.join(COMMANDS)}")
    command = COMMANDS[values.command]
    return command.load()(read_flags(command.options, values))


def _report(error: MorelloError | str, code: int) -> int:
    # Errors of reading and writing name the file as morello-opt does: 'FILE: error: …'.
    print(
        f"morello: error: {str(error).replace(': error: ', ': ', 1)}", file=sys.stderr
    )
    return code


def _parser() -> _Parser:
    parser = _Parser(
        prog="morello",
        description="From a Spec to the fastest kernel that can be found for it.",
        epilog=_NOTES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--version", action="store_true", help="print the version and exit"
    )
    places = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for command in COMMANDS.values():
        _add_command(places, command)
    return parser


def _add_command(
    places: "argparse._SubParsersAction[_Parser]", command: Command
) -> None:
    parser = places.add_parser(
        command.name,
        help=command.summary,
        description=f"{command.summary[0].upper()}{command.summary[1:]}.",
        epilog=command.notes,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_flags(parser, command.options)


if __name__ == "__main__":
    sys.exit(main())
