"""Actions in their text form, as tables of tests have them."""

import dataclasses
import re
import typing

from morello.actions import ACTIONS, Action
from morello.spec import MEMORIES, Layout, Memory

READERS: dict[type, typing.Callable[[str], object]] = {
    int: int,
    str: str,
    Layout: Layout.parse,
    Memory: {str(memory): memory for memory in MEMORIES}.get,
}


def action_of(text: str) -> Action:
    """An action as it is printed."""
    name, _, words = text.removesuffix(")").partition("(")
    kind = next(kind for kind in ACTIONS if kind.name == name)
    types = typing.get_type_hints(kind)
    fields = [field.name for field in dataclasses.fields(kind)]
    values = re.split(r", (?![^\[]*\])", words) if words else []
    fields_with_values = zip(fields, values, strict=False)
    action = kind(
        **{field: READERS[types[field]](value) for field, value in fields_with_values}
    )
    assert str(action) == text
    return action
