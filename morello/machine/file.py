"""Target files: the text form of a target, with comments from ``#`` to line ends."""

from pathlib import Path

from morello.errors import TargetError

MAX_BYTES = 1 << 20
"""A longer file is not a target's."""


def read_target_file(name: str) -> str:
    """The text form that a file holds.

    Raises:
        TargetError: the file cannot be read, or holds no text.
    """
    if not name:
        raise TargetError("the target '@' names no file", "write @FILE")
    try:
        path = Path(name).expanduser()
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, RuntimeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise TargetError(
            f"the target file '{name}' cannot be read: {reason}",
            "give a file that 'morello calibrate -o FILE' wrote",
        ) from error
    if len(data) > MAX_BYTES:
        raise TargetError(f"the target file '{name}' has more than {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TargetError(
            f"the target file '{name}' is not UTF-8 text", "save it as UTF-8"
        ) from error
    kept = (line.partition("#")[0].strip() for line in text.splitlines())
    whole = "".join(kept)
    if not whole:
        raise TargetError(
            f"the target file '{name}' holds no target",
            "write one outside of comments: avx2{fork=1000}",
        )
    return whole
