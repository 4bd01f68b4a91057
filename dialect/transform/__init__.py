"""The ``morello_transform`` dialect: one op an action.

Read `action_op.py` first. To add an action: write its rewriting in a module here that
has the place and the name of the action's module.
"""

import importlib
from collections.abc import Sequence
from typing import Any

from morello.actions import ACTIONS, Action
from morello.dialect.definition import transform
from morello.dialect.transform.action_op import ACTION_OPS, ActionOp
from morello.dialect.transform.definition import MorelloTransform
from morello.dialect.transform.fields import read_action, write_fields
from morello.errors import ScheduleError
from morello.mlir import ir

for _action in ACTIONS:  # each adds its op
    importlib.import_module(_action.__module__.replace("morello.actions", __name__))


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
