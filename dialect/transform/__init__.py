"""The ``morello_transform`` dialect: one op an action.

Read `action_op.py` first. To add an action: write its module here with its rewriting
and list its op in `ACTION_OPS`.
"""

from collections.abc import Sequence
from typing import Any

from morello.actions import Action
from morello.dialect.definition import transform
from morello.dialect.transform.action_op import ActionOp
from morello.dialect.transform.copies.move import MOVE
from morello.dialect.transform.copies.pad import PAD
from morello.dialect.transform.copies.unfold import UNFOLD
from morello.dialect.transform.definition import MorelloTransform
from morello.dialect.transform.dims.collapse import COLLAPSE
from morello.dialect.transform.dims.drop import DROP
from morello.dialect.transform.dims.merge import MERGE
from morello.dialect.transform.dims.squeeze import SQUEEZE
from morello.dialect.transform.fields import read_action, write_fields
from morello.dialect.transform.graphs.cut import CUT
from morello.dialect.transform.graphs.cut_in_place import CUT_IN_PLACE
from morello.dialect.transform.graphs.online import ONLINE
from morello.dialect.transform.loops.border import BORDER
from morello.dialect.transform.loops.grid_parallel import GRID_PARALLEL
from morello.dialect.transform.loops.peel import PEEL
from morello.dialect.transform.loops.split import SPLIT
from morello.dialect.transform.loops.split_parallel import SPLIT_PARALLEL
from morello.dialect.transform.loops.taps import TAPS
from morello.dialect.transform.loops.tile import TILE
from morello.dialect.transform.loops.tile_parallel import TILE_PARALLEL
from morello.dialect.transform.select import SELECT
from morello.dialect.transform.sizes.range import RANGE
from morello.dialect.transform.specialize_range import SPECIALIZE_RANGE
from morello.dialect.transform.to_accum import TO_ACCUM
from morello.errors import ScheduleError
from morello.mlir import ir

ACTION_OPS: dict[str, ActionOp] = {
    row.action.name: row
    for row in (
        TILE,
        TILE_PARALLEL,
        GRID_PARALLEL,
        SPLIT,
        SPLIT_PARALLEL,
        PEEL,
        MOVE,
        SPECIALIZE_RANGE,
        TO_ACCUM,
        CUT,
        CUT_IN_PLACE,
        ONLINE,
        SQUEEZE,
        MERGE,
        UNFOLD,
        COLLAPSE,
        DROP,
        PAD,
        BORDER,
        TAPS,
        RANGE,
        SELECT,
    )
}
"""The op of each action, by the action's name."""


def attach_interfaces() -> None:
    """Give every op its interfaces in the current context."""
    for row in ACTION_OPS.values():
        row.attach()


def action_of(op: Any) -> Action:
    """The action that a transform op stands for.

    Raises:
        ScheduleError: it is not an op of this dialect.
        SpecError: an attribute is missing or cannot be read.
    """
    view = op.operation.opview
    dialect, _, name = view.operation.name.partition(".")
    if dialect != MorelloTransform.DIALECT_NAMESPACE or name not in ACTION_OPS:
        raise ScheduleError(
            f"'{view.operation.name}' is not the op of an action",
            f"those are {', '.join(row.name for row in ACTION_OPS.values())}",
        )
    return read_action(ACTION_OPS[name].action, view)


def roles_of(action: type[Action]) -> tuple[str, ...]:
    """The names of the handles that the action's op gives, in order."""
    return ACTION_OPS[action.name].roles


def build_action_op(action: Action, handle: ir.Value) -> Sequence[ir.Value]:
    """The op of an action at the current insertion point; its handles, in order.

    Args:
        action: what to do.
        handle: to the Spec ops; is consumed.
    """
    row = ACTION_OPS[action.name]
    any_op = transform.AnyOpType.get()
    op = ir.Operation.create(
        row.name,
        results=[any_op] * len(row.roles),
        operands=[handle],
        attributes=write_fields(action),
    )
    return list(op.results)


__all__ = [
    "ACTION_OPS",
    "ActionOp",
    "MorelloTransform",
    "action_of",
    "attach_interfaces",
    "build_action_op",
    "roles_of",
]
