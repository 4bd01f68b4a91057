"""``morello-opt``: run passes over MLIR text, as mlir-opt does.

Read `main` first. The work is done in a child process (`opt/worker.py`), so that a
crash in native code becomes a message; this process prints what the child reports.
Exit codes: 0 done, 1 the input is refused or a pass has failed, 2 wrong usage.
"""

import sys
from collections.abc import Sequence

from morello._version import __version__
from morello.errors import MorelloError
from morello.tools.input_output import (
    InputError,
    UsageError,
    check_output,
    input_name,
    open_closed_streams,
    read_mlir,
    write_output,
)
from morello.tools.opt.flags import Flags, parse_flags

DONE, REFUSED, USAGE, INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool.

    Args:
        arguments: the command line without the program's name; that of the process if
            it is None.

    Returns:
        The exit code.
    """
    open_closed_streams()
    try:
        return _run(parse_flags(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        return INTERRUPTED
    except InputError as error:
        print(error, file=sys.stderr)
        return REFUSED
    except UsageError as error:
        print(error, file=sys.stderr)
        return USAGE
    except MorelloError as error:
        print(f"morello-opt: error: {error}", file=sys.stderr)
        return USAGE


def _run(flags: Flags) -> int:
    information = _information(flags)
    if information is not None:
        write_output(flags.output, information)
        return DONE
    from morello.tools.opt.session import Session

    check_output(flags.output)
    session = Session(flags, input_name(flags.input), read_mlir(flags.input))
    went_well = session.run()
    if session.bad_usage:
        return USAGE
    if went_well or flags.output == "-":  # a file is written as a whole or not at all
        write_output(flags.output, session.output)
    return DONE if went_well else REFUSED


def _information(flags: Flags) -> str | None:
    """The text of a flag that needs no input. Imports only modules that it prints."""
    if flags.version:
        return f"morello-opt {__version__}\n"
    if flags.list_passes:
        from morello.passes.registry import PASSES
        from morello.tools.opt.listing import list_passes
        from morello.tools.opt.plugins import load_plugins

        load_plugins(flags.load_pass_plugin)
        return list_passes(PASSES)
    if flags.show_dialects:
        from morello.tools.opt.dialect_names import dialects

        return "Available Dialects: " + ",".join(dialects()) + "\n"
    return None


if __name__ == "__main__":
    sys.exit(main())
