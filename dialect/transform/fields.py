"""The fields of an action as attributes of its transform op, and back.

| field | attribute |
|---|---|
| ``str`` | ``dim = "m"`` |
| ``int`` | ``size = 48`` |
| `Level` | ``level = "L1"`` |
| `Layout` | ``layout = #morello.layout<"[0,2,1]">`` |

A field that has a default is an attribute that may be left out.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from morello.actions import Action
from morello.dialect.attributes import (
    i64_attr,
    int_of,
    layout_attr,
    layout_of,
    string_of,
)
from morello.errors import SpecError
from morello.mlir import ir
from morello.spec import Layout, Level


@dataclasses.dataclass(frozen=True)
class FieldForm:
    """How fields of one type are written.

    Args:
        constraint: the class of the attribute, as the bindings check it.
        write: from the value to the attribute, in the current context.
        read: from the attribute, and a name for errors, to the value; `SpecError`.
        example: as it is written.
    """

    constraint: Any
    write: Callable[[Any], ir.Attribute]
    read: Callable[[ir.Attribute, str], Any]
    example: str


FORMS: dict[Any, FieldForm] = {
    str: FieldForm(ir.StringAttr, ir.StringAttr.get, string_of, '"m"'),
    int: FieldForm(ir.IntegerAttr, i64_attr, int_of, "48"),
    Level: FieldForm(
        ir.StringAttr,
        lambda level: ir.StringAttr.get(str(level)),
        lambda attr, what: Level.parse(string_of(attr, what)),
        '"L1"',
    ),
    Layout: FieldForm(
        Any,  # a constraint cannot name an attribute of another dialect
        layout_attr,
        lambda attr, what: layout_of(attr),
        '#morello.layout<"[0,2,1]">',
    ),
}
"""By the type of the field."""


def field_forms(action_class: type[Action]) -> dict[str, FieldForm]:
    """The form of each field of an action, in order."""
    return {field.name: FORMS[field.type] for field in dataclasses.fields(action_class)}


def optional_fields(action_class: type[Action]) -> dict[str, Any]:
    """The fields that have a default, and it: an op may leave their attributes out."""
    return {
        field.name: field.default
        for field in dataclasses.fields(action_class)
        if field.default is not dataclasses.MISSING
    }


def write_fields(action: Action) -> dict[str, ir.Attribute]:
    """The attributes of the action's op, in the current context."""
    forms = field_forms(type(action))
    given = {name: getattr(action, name) for name in forms}
    optional = optional_fields(type(action))
    return {
        name: forms[name].write(value)
        for name, value in given.items()
        if name not in optional or value != optional[name]
    }


def read_action(action_class: type[Action], op: ir.OpView) -> Action:
    """The action that the attributes of its op give.

    Raises:
        SpecError: an attribute is missing or cannot be read.
    """
    values = dict(optional_fields(action_class))
    for name, form in field_forms(action_class).items():
        if name not in op.attributes and name in values:
            continue
        if name not in op.attributes:
            raise SpecError(
                f"has no attribute '{name}'",
                f"write for example {name} = {form.example}",
            )
        values[name] = form.read(op.attributes[name], f"'{name}'")
    return action_class(**values)
