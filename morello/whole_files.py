"""Files that are written whole or not at all."""

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import Any

from morello.errors import FileError


def save_whole(path: str | Path, *data: Any) -> None:
    """Write a file that a user named, as `write_whole` does.

    Raises:
        FileError: it cannot be written; what was there is there.
    """
    try:
        write_whole(Path(path), *data)
    except (OSError, ValueError) as error:  # a name with a zero byte is no value
        reason = error.strerror if isinstance(error, OSError) else error
        raise FileError(
            f"cannot save '{path}': {reason}",
            "give a file that can be written, in a folder that is there",
        ) from error


def write_whole(path: Path, *data: Any) -> None:
    """Write bytes, one after the other, so that nobody ever sees half of a file.

    The contents go to a new file beside it, which then takes its name; a link is
    followed, and permissions stay. What is no file (a device, a pipe) is written
    directly.

    Raises:
        OSError: it cannot be written; what was there is there.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        status = None
    if status is not None and not stat.S_ISREG(status.st_mode):
        with path.open("wb") as file:
            file.writelines(data)
        return
    path = path.resolve()
    new = path.with_name(f".{secrets.token_hex(8)}.new")
    try:
        write_new(new, *data)
        if status is not None:
            new.chmod(stat.S_IMODE(status.st_mode))
        new.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)


def write_new(path: Path, *data: Any) -> None:
    """Write a file that is not there yet, and follow no link in its place.

    Raises:
        OSError: there is something of that name, or it cannot be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o666), "wb") as file:
        file.writelines(data)
