"""Whether files in a folder can be locked, which SQLite does not tell from a lock that
another process holds: both are "busy"."""

import contextlib
import fcntl
import os
import tempfile
from pathlib import Path


def are_refused(path: Path) -> str | None:
    """Why files beside ``path`` cannot be locked; None if they can.

    A new file is locked, not ``path``: closing it would drop the locks that this
    process has on it.
    """
    try:
        handle, name = tempfile.mkstemp(prefix=f"{path.name}-", dir=path.parent)
    except OSError:
        return None  # it is not known
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.strerror or str(error)
    finally:
        os.close(handle)
        with contextlib.suppress(OSError):
            Path(name).unlink()
    return None
