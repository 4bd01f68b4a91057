"""The tables of other goals that have a table as their part: `Likeness`.

Where the axes of both goals begin alike as far as the box of a table goes, and it is a
beginning of the box of the other, both choose among the same programs at each point:
tiles and remainders are smaller than what they are cut from, and what is known to be
contiguous has the sizes of whole goals in either.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from morello.actions import Action, may_drop
from morello.search.dp.axes import Dense, lies
from morello.search.dp.box import Axis, Box
from morello.search.dp.table import TableId
from morello.search.storage.strangers import bounded_json, read_axis
from morello.spec import Limits
from morello.spec.structure import is_common

_MOST_POINTS = 1 << 31
"""The most points of a table that an index may name: no search solves a larger one."""

Candidates = Callable[[TableId], tuple[Action, ...]]
"""Gives the actions that are tried on the Specs of a table."""

Wholes = Callable[[TableId], Box]
"""Gives the box of all points of a table."""


@dataclasses.dataclass(frozen=True)
class Likeness:
    """Compares tables of goals.

    Args:
        room: what one operand of a goal may take.
        dense: the axes of sizes that are goals each.
    """

    room: Limits
    dense: Dense

    def is_longer(
        self, other: TableId, one: TableId, wholes: Wholes, actions: Candidates
    ) -> bool:
        """Whether the table of one goal contains that of another, with shorter axes."""
        box = wholes(one)
        is_part = _begins(box.axes, wholes(other).axes)
        return is_part and self._is_alike(one, other, box, actions)

    def has_part(
        self, other: TableId, one: TableId, wholes: Wholes, actions: Candidates
    ) -> bool:
        """Whether a table in memory has another one as its part: it may also be of
        Specs that have less of a memory left."""
        box, whole = wholes(one), wholes(other)
        limits = zip(box.limits, whole.limits, strict=True)
        if not all(left == theirs[-len(left) :] for left, theirs in limits):
            return False
        return one.sizes == other.sizes or (
            one.key.serial
            and _begin_alike(one.sizes, other.sizes, box)
            and _begins(box.sizes, whole.sizes)
            and self._is_alike(one, other, box, actions)
        )

    def _is_alike(
        self, one: TableId, other: TableId, box: Box, actions: Candidates
    ) -> bool:
        """Whether two goals leave the same programs out of a box (`axes.lies`), and
        share out the dimensions of which no two elements have something in common in
        the same way: that depends on the whole of others. A dimension that is always 1
        in one alone is dropped there first."""
        kind = one.key.kind
        if may_drop(kind, one.sizes) != may_drop(kind, other.sizes):
            return False
        if any(is_common(kind, d) for d in range(len(kind.dims))) and not set(
            actions(one)
        ) <= set(actions(other)):
            return False
        masks = [
            lies(t.key, t.sizes, box, self.room, self._dense_like(one, t))
            for t in (one, other)
        ]
        return np.array_equal(*masks)

    def _dense_like(self, one: TableId, other: TableId) -> Dense:
        """The axes of another table that correspond to the dense axes of a table."""
        pairs = zip(one.sizes, other.sizes, strict=True)
        return frozenset(long for axis, long in pairs if axis in self.dense)


def cut_from(identity: TableId, text: str, box: Box) -> TableId | None:
    """The table of an index, if its goal's axes begin as those of a table's do.

    Args:
        identity: of the table.
        text: the axes in the index.
        box: of all points of the table.
    """
    try:
        axes = bounded_json(text)
        sizes = tuple(map(read_axis, axes))
    except (ValueError, TypeError):
        return None
    if math.prod(map(len, sizes)) > _MOST_POINTS:
        return None
    if not _begin_alike(identity.sizes, sizes, box):
        return None
    return dataclasses.replace(identity, sizes=sizes)


def _begins(short: tuple[Axis, ...], long: tuple[Axis, ...]) -> bool:
    """Whether each axis of one table is the beginning of the same axis of another."""
    return len(short) == len(long) and all(
        a == b[: len(a)] for a, b in zip(short, long, strict=True)
    )


def _begin_alike(one: tuple[Axis, ...], other: tuple[Axis, ...], box: Box) -> bool:
    """Whether the axes of two goals are alike up to the greatest sizes of a box, which
    is the first one's."""
    return len(one) == len(other) and all(
        a[:count] == b[:count]
        for a, b, sizes in zip(one, other, box.sizes, strict=True)
        for count in [a.index(sizes[-1]) + 1 if sizes else 0]
    )
