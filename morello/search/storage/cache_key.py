"""The key of a table on disk: everything that its contents depend on.

That is the Specs (key, axes, limits), the target with all its fields, the schedules
that are pinned, and the program: the search, the actions, the kernels and the kinds. Of
the program it is the source that counts: whoever edits a cost finds no table that was
made before.
"""

import functools
import hashlib
from pathlib import Path

from morello.actions import ACTIONS
from morello.machine import Target
from morello.search.dp.table import TableId
from morello.search.storage.database import FORMAT
from morello.spec import Limits

_PARTS = ("spec", "actions", "kernels", "machine", "cost", "search")
"""The packages whose source decides what is in a table."""


@functools.cache
def space() -> str:
    """What the answers of this program depend on, beside target and Spec."""
    root = Path(__file__).parent.parent.parent
    state = hashlib.blake2b(f"{FORMAT}\n".encode(), digest_size=12)
    state.update((root / "_version.py").read_bytes())
    for action in ACTIONS:
        state.update(f"{action.__module__}.{action.__qualname__}\n".encode())
    for part in _PARTS:
        for path in sorted((root / part).rglob("*.py")):
            state.update(f"{path.relative_to(root)}\n".encode())
            state.update(path.read_bytes())
    return state.hexdigest()


def family(target: Target, pins: str = "") -> str:
    """The version of the space and the target: rows of others are never read.

    Args:
        pins: the digest of the schedules that are pinned; empty if there are none.
    """
    fields = hashlib.blake2b(repr(target).encode(), digest_size=12).hexdigest()
    return f"{space()} {target.name} {fields}{pins and f' {PINS}{pins}'}"


PINS = "pins="
"""What the digest of pinned schedules begins with in a family."""


def base_key(identity: TableId, limits: Limits, room: Limits, kin: str) -> bytes:
    """The same without the axes of the goal: what tables have in common of which one
    may be a part of another."""
    own = (str(identity.key), repr(identity.free))
    text = "\n".join(("base", *own, str(limits), str(room), kin))
    return hashlib.blake2b(text.encode(), digest_size=32).digest()


def row_key(identity: TableId, limits: Limits, room: Limits, kin: str) -> bytes:
    """The key of a table's row, 32 bytes.

    Args:
        identity: which table.
        limits: of the goal whose search it belongs to.
        room: what one operand of that goal may take.
        kin: its `family`.
    """
    parts = (
        str(identity.key),
        repr(identity.sizes),
        repr(identity.free),
        str(limits),
        str(room),
        kin,
    )
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=32).digest()
