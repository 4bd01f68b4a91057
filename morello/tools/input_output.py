"""Reading an input and writing an output, all or nothing."""

import errno
import os
import sys
from pathlib import Path
from typing import TextIO

from morello.errors import MorelloError
from morello.whole_files import write_whole

STDIN_NAME = "<stdin>"
_STREAMS = (("stdin", os.O_WRONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY))
"""The standard streams, and a way to open ``/dev/null`` in the place of a closed one: a
program that has closed its errors wants none, the other two cannot be used."""
_BYTECODE = b"ML\xefR"


class UsageError(MorelloError):
    """A command line that cannot be obeyed: exit code 2."""


class InputError(MorelloError):
    """An input that was read and is refused: exit code 1."""


def open_closed_streams() -> None:
    """Put a descriptor in the place of each standard stream that is closed, so that no
    file which is opened later is taken for it."""
    for number, (name, flags) in enumerate(_STREAMS):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, flags)
            if descriptor == number:
                mode = "r" if number == 0 else "w"
                setattr(sys, name, os.fdopen(number, mode, closefd=False))


def read_input(path: str) -> str:
    """The text of a file, or of the standard input for ``-``.

    Raises:
        UsageError: it cannot be read.
        InputError: it is not MLIR text.
    """
    data = _read(path)
    if not data.strip():
        name = input_name(path)
        raise InputError(f"{name}: error: the input is empty", "give a module")
    return _decoded(data, input_name(path))


def read_mlir(path: str) -> str | bytes:
    """The text of an input, which may be empty, or the bytes of MLIR bytecode.

    Raises:
        UsageError: it cannot be read.
        InputError: it is neither.
    """
    data = _read(path)
    return data if data.startswith(_BYTECODE) else _decoded(data, input_name(path))


def _read(path: str) -> bytes:
    if not path:
        raise UsageError(
            "'': error: cannot read: the name is empty", "give the name of a file"
        )
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path}: error: cannot read: {_reason(error)}",
            "give a file of MLIR text, or - for the standard input",
        ) from error


def input_name(path: str) -> str:
    """The name of an input in diagnostics."""
    return STDIN_NAME if path == "-" else path


def _decoded(data: bytes, name: str) -> str:
    if data.startswith(_BYTECODE):
        raise InputError(
            f"{name}: error: this is MLIR bytecode", "give the module as text"
        )
    if b"\0" in data:
        raise InputError(
            f"{name}: error: this is a binary file (byte {data.index(0)} is zero)",
            "give a module as text",
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{name}:{line}: error: not UTF-8 text: byte 0x{data[error.start]:02x} "
            f"at offset {error.start}",
            "save the file as UTF-8",
        ) from error


def write_output(path: str, content: str | bytes) -> None:
    """Write a file so that nobody sees half of it, or the standard output for ``-``.

    Text is written as UTF-8, and the bytes of a name that is not UTF-8 as they are.

    Raises:
        UsageError: it cannot be written.
    """
    if isinstance(content, str):
        data = content.encode("utf-8", "surrogateescape")
    else:
        data = content
    try:
        if path == "-":
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        else:
            write_whole(Path(path), data)
    except OSError as error:
        if path == "-":  # keep the interpreter from failing at its exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return  # the reader has seen enough
        raise UsageError(
            f"{path}: error: cannot write: {_reason(error)}",
            "give a file that can be written with -o",
        ) from error


def _reason(error: OSError) -> str | None:
    """Words of an error of the system; `open_closed_streams` makes this one."""
    closed = error.errno == errno.EBADF
    return "the stream is closed" if closed else error.strerror


def printable(text: str, stream: TextIO) -> str:
    """The text in what a stream can print: not every terminal has ``…``."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        plain = text.replace("…", "...").encode(encoding, "replace")
        return plain.decode(encoding)
    return text


def check_output(path: str) -> None:
    """Refuse a place that cannot be written to before any work is done.

    Raises:
        UsageError: it is a directory, or its directory does not exist.
    """
    where = Path(path)
    if path != "-" and (where.is_dir() or not where.parent.is_dir()):
        reason = "is a directory" if where.is_dir() else "its directory does not exist"
        if not path:
            path, reason = "''", "the name is empty"
        raise UsageError(
            f"{path}: error: cannot write: {reason}", "give a file with -o"
        )
