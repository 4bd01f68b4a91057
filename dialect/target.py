"""The target that a module is compiled for.

The attribute ``morello.target`` on the module, or on any op around the one that asks
(the nearest counts), names it. Whoever makes a module for a particular target sets it,
as `morello.dialect.build.spec_function` does and `morello-apply-schedule` with its
option; without one it is `UNNAMED`. A module may be untrusted: it names no file.
"""

from typing import Any

from morello.dialect.attributes import attribute_of, string_of
from morello.machine import Target, parse_target
from morello.machine.text import UNNAMED
from morello.mlir import ir

TARGET_ATTRIBUTE = "morello.target"


def named_target(op: Any) -> str | None:
    """The name of the target that the ops around ``op`` or itself give, if any.

    Raises:
        SpecError: the attribute is not a string.
    """
    holder: ir.Operation | None = op.operation
    while holder is not None:
        text = attribute_of(holder, TARGET_ATTRIBUTE)
        if text is not None:
            return string_of(text, f"'{TARGET_ATTRIBUTE}'")
        parent = holder.parent
        holder = None if parent is None else parent.operation
    return None


def target_of(op: Any) -> Target:
    """The target that code around ``op`` is made for.

    Raises:
        SpecError: the attribute is not a string.
        TargetError: no target has this name.
    """
    return parse_target(named_target(op) or UNNAMED)
