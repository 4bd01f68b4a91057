"""The actions of a table in groups: loops, first parts, and what leaves the table."""

import dataclasses
from functools import lru_cache

from morello.actions import Action
from morello.spec import SpecKey


@dataclasses.dataclass(frozen=True)
class Grouped:
    """The actions of a table, by their number among them.

    Args:
        loops: by dimension and key of the tiles, the sizes of one loop together.
        parts: reductions that are peeled, of which a first part stays in the table.
        gathers: actions whose holes are in other tables.
    """

    loops: dict[tuple[int, SpecKey], dict[int, Action]]
    parts: dict[int, Action]
    gathers: dict[int, Action]


@lru_cache(maxsize=16384)
def grouped(actions: tuple[Action, ...], key: SpecKey) -> Grouped:
    """Group the actions of a key."""
    loops: dict[tuple[int, SpecKey], dict[int, Action]] = {}
    parts: dict[int, Action] = {}
    gathers: dict[int, Action] = {}
    along: dict[int, Action] = {}
    before: tuple[type[Action], str] | None = None
    for index, action in enumerate(actions):
        if (type(action), getattr(action, "dim", None)) == before:
            along[index] = action  # another size of the loop before it
            continue
        dim = action.loop_dim(key)
        if dim is None:
            stays = action.first_part(key) is not None
            (parts if stays else gathers)[index] = action
            before = None
            continue
        along = loops.setdefault((dim, action.loop_key(key)), {})
        along[index] = action
        before = type(action), key.kind.dims[dim]
    return Grouped(loops, parts, gathers)
