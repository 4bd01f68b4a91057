"""The folder of machine code, where kernels that were compiled before are loaded from.

It lies beside the user's own database, also where another one is used: a database may
come from anyone, and code may not.
"""

import os
from pathlib import Path

from morello.search.storage.connection import DatabaseError, absolute
from morello.search.storage.overlay import (
    NONE,
    Overlay,
    PathLike,
    default_path,
    named_paths,
)

VARIABLE = "MORELLO_CODE"


def code_folder() -> Path | None:
    """The folder; None where ``MORELLO_CODE`` says so, or the user has no home."""
    text = os.environ.get(VARIABLE, "")
    if text == NONE:
        return None
    if text:
        return absolute(Path(text))
    try:
        return default_path().with_name("code")
    except DatabaseError:
        return None


def folder_beside(db: PathLike | Overlay | None) -> Path | None:
    """The folder for a call with such a database: a call without one stores nothing."""
    is_stored = isinstance(db, Overlay) or bool(named_paths(db))
    return code_folder() if is_stored else None
