"""The file that a crash leaves behind: the input, and the command that repeats it."""

import base64
import contextlib
import os
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path

from morello._version import __version__
from morello.tools.opt.flags import Flags
from morello.whole_files import write_new, write_whole


def write_reproducer(
    flags: Flags, input_name: str, source: str | bytes, happened: str
) -> str | None:
    """Write the reproducer; the place, or None if no place could be written to.

    Args:
        flags: the command line. Without ``--crash-reproducer`` the place is
            ``<input>-crash-<process>.mlir`` in the working directory, or else in the
            directory for temporary files; a file or a link that is there stays, and
            the name gets a number.
        input_name: of the input that crashed.
        source: the text of the piece that crashed.
        happened: a description, one or more lines.
    """
    stem = Path(input_name).stem.strip("<>") or "input"
    default = f"{stem}-crash-{os.getpid()}"

    def text(place: Path) -> bytes:
        return _text(str(place), flags, source, happened).encode("utf-8", _ESCAPE)

    if flags.crash_reproducer:
        path = Path(flags.crash_reproducer)
        with contextlib.suppress(OSError):
            write_whole(path, text(path))
            return str(path)
        return None
    for place in _places(default):
        with contextlib.suppress(OSError):
            write_new(place, text(place))
            return str(place)
    return None


_ESCAPE = "surrogateescape"
"""Names of files may be no UTF-8."""

_NUMBERS = 100
"""How many names are tried in a folder."""


def _places(name: str) -> Iterator[Path]:
    """Names for a new file, in the working directory first."""
    folders = [Path()]
    with contextlib.suppress(OSError):
        folders.append(Path(tempfile.gettempdir()))
    for folder in folders:
        yield folder / f"{name}.mlir"
        for number in range(1, _NUMBERS):
            yield folder / f"{name}-{number}.mlir"


def _text(place: str, flags: Flags, source: str | bytes, happened: str) -> str:
    command = ["morello-opt", place]
    if flags.pass_pipeline:
        command.append(f"--pass-pipeline={' '.join(flags.pass_pipeline.split())}")
    command += [
        flag.spelled if flag.options is None else f"{flag.spelled}={flag.options}"
        for flag in flags.passes
    ]
    command += [f"--load-pass-plugin={path}" for path in flags.load_pass_plugin]
    if flags.allow_unregistered_dialect:
        command.append("--allow-unregistered-dialect")
    if flags.no_implicit_module:
        command.append("--no-implicit-module")
    if not flags.verify_each:
        command.append("--verify-each=false")
    comments = [f"morello-opt {__version__}", *happened.splitlines()]
    head = "".join(f"// {line}".rstrip() + "\n" for line in comments)
    if isinstance(source, bytes):  # text that cannot be parsed, but says what it was
        source = f"// bytecode, in base64:\n{base64.b64encode(source).decode()}\n"
    return f"// {shlex.join(command)}\n{head}\n{source}"
