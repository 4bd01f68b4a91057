"""The fields of an action as attributes of its transform op, and back.

`value_forms.py` has the attribute of each type. A field that has a default is an
attribute that may be left out.
"""

import dataclasses
from typing import Any

from morello.actions import Action
from morello.dialect.value_forms import FORMS, ValueForm
from morello.errors import SpecError
from morello.mlir import ir


def field_forms(action_class: type[Action]) -> dict[str, ValueForm]:
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
    values = {name: getattr(action, name) for name in forms}
    optional = optional_fields(type(action))
    return {
        name: forms[name].write(value)
        for name, value in values.items()
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
