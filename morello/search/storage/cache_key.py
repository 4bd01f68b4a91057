"""The key of a table on disk: everything that its contents depend on.

That is the Specs (key, axes, limits), the target with all its fields, the part of the
goal's context that the key depends on (`seen_by`), the pinned schedules, and the
version of the search.
"""

import hashlib
from functools import lru_cache

from morello.machine import Target
from morello.machine.fallback import second_costs
from morello.search.dp.axes import Free, Goals
from morello.search.dp.box import Axis
from morello.search.dp.table import TableId
from morello.search.storage.database import ROW_FORMAT
from morello.spec import Limits, SpecKey

SEARCH_VERSION = 58
"""Raised by whoever changes what programs cost, which actions there are or how they are
searched: rows of another version are never read."""

GOLDEN_DIGEST = "1db5897b8160382e"
"""Digest of `tests/search/golden_costs.tsv` at this version: a test fails where the
costs have changed, and the version has not."""


def space() -> str:
    """Version of the search and of its rows, on which answers depend beside target
    and Spec."""
    return f"search-{SEARCH_VERSION}.{ROW_FORMAT}"


def family(target: Target, pins: str = "", cover: str = "") -> str:
    """The version of the space and the target: rows of others are never read.

    Args:
        pins: the digest of the schedules that are pinned; empty if there are none.
        cover: how programs are chosen for every size of a range.
    """
    priced = f"{target}{second_costs(target) if target.stale else ''}"
    fields = hashlib.blake2b(priced.encode(), digest_size=12).hexdigest()
    choices = f"{pins and f' {PINS}{pins}'}{cover and f' cover={cover}'}"
    return f"{space()} {target.name} {fields}{choices}"


PINS = "pins="
"""Prefix of the digest of pinned schedules in a family."""


def _taken(identity: TableId, limits: Limits) -> str:
    """Whether something may have been taken of each memory that limits count."""
    taken = (f"{m.limit}={m in identity.free}" for m in limits.memories)
    return f"Free({', '.join(taken)})"


@lru_cache(maxsize=65536)
def seen_by(key: SpecKey, target: Target) -> Target:
    """The target with the part of its context that a key's tables depend on."""
    return target.in_context(target.operand_context.below(key))


@lru_cache(maxsize=65536)
def room_of(key: SpecKey, limits: Limits, room: Limits) -> Limits:
    """The room that a key's tables depend on: none in caches that no operand of it is
    in, or comes to.

    Args:
        limits: of the goal.
        room: what one operand of that goal may take.
    """
    for memory in room.memories:
        levels = [t.level for t in key.tensors]
        if memory.is_cache and not any(
            level is memory or level.is_beyond(memory) for level in levels
        ):
            room = room.replace(memory, limits[memory])
    return room


@lru_cache(maxsize=65536)
def text_of(key: SpecKey) -> str:
    """The text of a key, which each of its tables asks for."""
    return str(key)


def base_key(identity: TableId, limits: Limits, room: Limits, kin: str) -> bytes:
    """The key without the goal's axes, which a table shares with its parts."""
    parts = (text_of(identity.key), _taken(identity, limits))
    room = room_of(identity.key, limits, room)
    text = "\n".join(("base", *parts, str(limits), str(room), kin))
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
        text_of(identity.key),
        repr(identity.sizes),
        _taken(identity, limits),
        str(limits),
        str(room_of(identity.key, limits, room)),
        kin,
    )
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=32).digest()


class TableKeys:
    """Keys under one target and the limits of one goal.

    A key is asked for when its table is looked for, and again when it is stored.

    Args:
        target: what the tables are solved for.
        limits: of the goals.
        room: what one operand of a goal may take.
        pins: the digest of the schedules that are pinned.
        goals: those that are searched together.
    """

    def __init__(
        self, target: Target, limits: Limits, room: Limits, pins: str, goals: Goals
    ) -> None:
        self._target = target
        self._limits = limits
        self._room = room
        self._pins = pins
        self._goals = goals
        self._families: dict[Target, str] = {}
        self._rows: dict[TableId, bytes] = {}
        self._bases: dict[tuple[SpecKey, Free], bytes] = {}
        self._shelf: dict[TableId, tuple[object, ...]] = {}

    def row(self, identity: TableId) -> bytes:
        """The key of a table's row."""
        key = self._rows.get(identity)
        if key is None:
            kin = self.kin(identity.key)
            key = row_key(identity, self._limits, self._room, kin)
            self._rows[identity] = key
        return key

    def base(self, identity: TableId) -> bytes:
        """The key of a table in the index, without the axes of its goal."""
        place = identity.key, identity.free
        base = self._bases.get(place)
        if base is None:
            kin = self.kin(identity.key)
            base = base_key(identity, self._limits, self._room, kin)
            self._bases[place] = base
        return base

    def kin(self, key: SpecKey) -> str:
        """The family of the tables of a key."""
        seen = seen_by(key, self._target)
        if seen not in self._families:
            self._families[seen] = family(seen, self._pins)
        return self._families[seen]

    def shelf(self, identity: TableId) -> tuple[object, ...]:
        """All that a table in memory depends on but the axes of its goal, and which
        memories may have been taken from: more of these only add points."""
        on_shelf = self._shelf.get(identity)
        if on_shelf is None:
            on_shelf = self._shelf[identity] = (
                identity.key,
                self._limits,
                room_of(identity.key, self._limits, self._room),
                seen_by(identity.key, self._target),
                self._pins,
                *self._marks(identity.sizes),
            )
        return on_shelf

    def _marks(self, sizes: tuple[Axis, ...]) -> tuple[object, ...]:
        """The part of the goals that are searched together which a table with these
        axes depends on; empty where they are those of one goal."""
        goals = self._goals
        if not goals.axes:
            return ()
        dense = tuple(axis in goals.axes for axis in sizes)
        if not any(dense):
            return ()
        is_coarse = any(a in goals.axes and a[-1] > goals.fine for a in sizes)
        return dense, goals.fine if is_coarse else None
