"""The file that a crash leaves behind: the input, and the command that repeats it."""

import os
import shlex
import tempfile
from pathlib import Path

from morello._version import __version__


def write_reproducer(
    where: str, input_name: str, source: str, pipeline: str, happened: str
) -> str | None:
    """Write the reproducer; the place, or None if no place could be written to.

    Args:
        where: the path that the user gave; "" for ``<input>-crash-<process>.mlir`` in
            the working directory, or else the directory for temporary files.
        input_name: of the input that crashed.
        source: the text of the piece that crashed.
        pipeline: that was run, or "".
        happened: a description, one or more lines.
    """
    stem = Path(input_name).stem.strip("<>") or "input"
    default = f"{stem}-crash-{os.getpid()}.mlir"
    places = [where] if where else [default, f"{tempfile.gettempdir()}/{default}"]
    for place in places:
        text = _text(place, source, pipeline, happened)
        try:
            Path(place).write_text(text, encoding="utf-8")
        except OSError:
            continue
        return place
    return None


def _text(place: str, source: str, pipeline: str, happened: str) -> str:
    command = ["morello-opt", place]
    if pipeline:
        command.append(f"--pass-pipeline={' '.join(pipeline.split())}")
    comments = [f"morello-opt {__version__}", *happened.splitlines()]
    head = "".join(f"// {line}".rstrip() + "\n" for line in comments)
    return f"// {shlex.join(command)}\n{head}\n{source}"
