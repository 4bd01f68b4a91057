"""Files that are written whole or not at all."""

import contextlib
import os
import secrets
import stat
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that nobody ever sees half of it.

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
        path.write_bytes(data)
        return
    path = path.resolve()
    new = path.with_name(f".{secrets.token_hex(8)}.new")
    try:
        write_new(new, data)
        if status is not None:
            new.chmod(stat.S_IMODE(status.st_mode))
        new.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)


def write_new(path: Path, data: bytes) -> None:
    """Write a file that is not there yet, and follow no link in its place.

    Raises:
        OSError: there is something of that name, or it cannot be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o666), "wb") as file:
        file.write(data)
