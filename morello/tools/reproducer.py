"""The file that a crash leaves behind: the input, and the command that repeats it."""

import base64
import os
import shlex
import tempfile
from pathlib import Path

from morello._version import __version__
from morello.tools.opt_flags import Flags


def write_reproducer(
    flags: Flags, input_name: str, source: str | bytes, happened: str
) -> str | None:
    """Write the reproducer; the place, or None if no place could be written to.

    Args:
        flags: the command line. Without ``--crash-reproducer`` the place is
            ``<input>-crash-<process>.mlir`` in the working directory, or else in the
            directory for temporary files.
        input_name: of the input that crashed.
        source: the text of the piece that crashed.
        happened: a description, one or more lines.
    """
    stem = Path(input_name).stem.strip("<>") or "input"
    default = f"{stem}-crash-{os.getpid()}.mlir"
    given = flags.crash_reproducer
    places = [given] if given else [default, f"{tempfile.gettempdir()}/{default}"]
    for place in places:
        text = _text(place, flags, source, happened)
        try:
            Path(place).write_text(text, encoding="utf-8")
        except OSError:
            continue
        return place
    return None


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
