"""A packed table as bytes, and back.

Two parts, of decisions and of costs, since a lookup needs the first alone and that is
a small fraction: each has a header of JSON, then arrays of little-endian integers, and
is deflated. What is read is checked before anything is made of it, since it may be a
stranger's: it is inflated to no more than a table can have. A table for other axes,
with actions that are not tried on its Specs, or with costs that cannot be, is refused.
"""

import json
import math
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any

import numpy as np

from morello.actions import Action
from morello.search.dp.box import Box, part_of, spans_in
from morello.search.dp.table import COST_BOUND, TableId
from morello.search.queries.pins import Pinned
from morello.search.storage.boxes import CostBoxes, LabelBoxes
from morello.search.storage.deflated import CodecError, encode_part, read_part, refusing
from morello.search.storage.packed_table import Packed
from morello.search.storage.serialize import action_data, read_action

_MOST_ACTIONS = 1 << 24
"""Candidates are numbered from 0; some thousands are the most."""


def encode_decisions(table: Packed) -> bytes:
    """The bytes of a table's decisions."""
    chosen = np.bincount(table.decisions.labels) > 0
    used = np.flatnonzero(chosen)
    labels = (np.cumsum(chosen) - 1)[table.decisions.labels]
    actions = [f"[{n},{_action_text(table.actions[n])}]" for n in used.tolist()]
    return encode_part(
        {
            "axes": _axes_text(table.box),
            "actions": f"[{','.join(actions)}]",
            "goal": _text(table.goal),
        },
        table.decisions.ends.astype("<u2"),
        labels.astype("<u2"),
    )


def encode_costs(table: Packed) -> bytes:
    """The bytes of a table's costs."""
    costs = table.costs
    return encode_part(
        {"axes": _axes_text(table.box)},
        costs.ends.astype("<u2"),
        costs.varying.astype("<u2"),
        costs.told.astype("<i8"),
    )


def decode(
    data: bytes,
    identity: TableId,
    whole: Box,
    candidates: Callable[[], Collection[Action]],
    costs: Callable[[], bytes],
) -> Packed:
    """The table in ``data``; its costs are read when they are first asked for, and may
    be refused then.

    Args:
        data: what `encode_decisions` gave.
        identity: of the table that is expected.
        whole: the box of all its points; the table may have a part of them.
        candidates: gives the actions that are tried on its Specs.
        costs: gives what `encode_costs` gave.

    Raises:
        CodecError: the bytes are damaged or another table's.
    """
    with refusing():
        header, (ends, labels) = read_part(data, ("<u2", "<u2"))
        box = _box(header["axes"], whole)
        actions = {n: read_action(data, (Pinned,)) for n, *data in header["actions"]}
        if not all(type(n) is int and 0 <= n <= _MOST_ACTIONS for n in actions):
            raise CodecError("a decision is no number of an action")
        others = set(actions.values()).difference(candidates())
        if others:
            raise CodecError(f"{min(map(str, others))} is no action of its Specs")
        known = np.asarray(tuple(actions), np.int32)
        chosen = known[labels] if known.size else _NONE
        decisions = LabelBoxes(box.shape, _ends(ends, box), chosen)
        _check(box, decisions.ends, len(labels))
        goal = header.get("goal", "")  # rows of earlier versions have none
        if not isinstance(goal, str):
            raise CodecError("the goal is no text")
    return Packed(identity, box, actions, decisions, lambda: _costs(costs(), box), goal)


def _costs(data: bytes, box: Box) -> CostBoxes:
    with refusing():
        header, (ends, varying, told) = read_part(data, ("<u2", "<u2", "<i8"))
        if header["axes"] != [list(axis) for axis in box.axes]:
            raise CodecError("the costs are those of other points")
        if told.size and not (told.min() >= 0 and told.max() < COST_BOUND):
            raise CodecError("a cost is out of range")
        masks = varying.astype(np.int32)
        costs = CostBoxes(box.axes, len(box.sizes), _ends(ends, box), masks, told)
        _check(box, costs.ends, len(costs.corners))
        return costs


def summary(decisions: bytes, costs: bytes) -> tuple[int, int, int]:
    """Count the points of a table, its boxes of decisions and its boxes of costs,
    from its bytes.

    Raises:
        CodecError: the bytes are damaged.
    """
    with refusing():
        header, (_, labels) = read_part(decisions, ("<u2", "<u2"))
        _, (_, varying, _) = read_part(costs, ("<u2", "<u2", "<i8"))
        points = math.prod(len(axis) for axis in header["axes"])
        return points, len(labels), len(varying)


_NONE = np.empty(0, np.int32)


def _box(axes: Any, whole: Box) -> Box:
    """The box of the points that a table has.

    Raises:
        CodecError: it is no part of that of all points.
    """
    count = len(whole.sizes)
    coordinates = tuple(map(tuple, axes))
    if len(coordinates) == len(whole.axes):
        box = Box(coordinates[:count], coordinates[count:], whole.caches)
        if whole.axes == box.axes or (spans := spans_in(whole, box)):
            return whole if whole.axes == box.axes else part_of(whole, spans)
    raise CodecError("the axes are others")


@lru_cache(maxsize=4096)
def _axes_text(box: Box) -> str:
    """The axes of a table as JSON: most tables share theirs."""
    return _text(box.axes)


@lru_cache(maxsize=65536)
def _action_text(action: Action) -> str:
    """The name and the fields of an action, as JSON without brackets."""
    return _text(action_data(action))[1:-1]


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _ends(flat: Any, box: Box) -> Any:
    return np.ascontiguousarray(flat.reshape(-1, 2, len(box.axes)), np.int32)


def _check(box: Box, ends: Any, count: int) -> None:
    """Boxes are written to memory: none may leave the table."""
    inside = (ends[:, 0] < ends[:, 1]) & (ends[:, 1] <= np.asarray(box.shape))
    if len(ends) != count or not inside.all():
        raise CodecError("a box is not in the table")
