"""Whether two machines have the same Morello.

A row is read only by a search of the same version. Whether two checkouts have the same
version, only their sources can say: one of them may be a change that is not finished.
"""

import functools
import hashlib
import os
from pathlib import Path

from morello._version import __version__

_KINDS = (".py", ".target")
"""Suffixes of the files that decide about programs: the code, and the costs of targets.
"""


@functools.cache
def source_fingerprint() -> str:
    """The version of the installed package, and a hash of its files."""
    root = Path(__file__).resolve().parent.parent
    state = hashlib.blake2b(digest_size=12)
    for folder, folders, names in os.walk(root, followlinks=True):
        folders.sort()
        for name in sorted(names):
            if name.endswith(_KINDS):
                path = Path(folder, name)
                data = path.read_bytes()
                place = path.relative_to(root).as_posix()
                state.update(f"{place}\n{len(data)}\n".encode())
                state.update(data)
    return f"{__version__} {state.hexdigest()}"
