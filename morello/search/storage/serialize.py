"""Actions as JSON values, and back: how rows of a database and programs have them.

An action is its name and the values of its fields, in order: strings, integers and
booleans as they are, others as they print.
"""

import dataclasses
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from morello.actions import ACTIONS, Action
from morello.errors import MorelloError
from morello.search.storage.strangers import MOST_NUMBER

Data = Sequence[Any]
"""A name and a list of values."""

_PLAIN = (str, int, bool)
"""Types of fields that JSON has."""


@lru_cache(maxsize=65536)
def action_data(action: Action) -> Data:
    """The name of an action and its fields."""
    values = (getattr(action, f.name) for f in dataclasses.fields(action))
    return action.name, [v if type(v) in _PLAIN else str(v) for v in values]


def read_action(data: Data, more: tuple[type[Action], ...] = ()) -> Action:
    """The action that `action_data` wrote.

    Args:
        data: what it wrote.
        more: actions that no program has, but may be here.

    Raises:
        ValueError, TypeError: it wrote no such thing, or another version of Morello
            did.
    """
    name, values = data
    return _read_action(more, name, *values)


@lru_cache(maxsize=65536, typed=True)  # True is no 1
def _read_action(more: tuple[type[Action], ...], name: str, *values: Any) -> Action:
    action, kinds = _known(more).get(name, (None, ()))
    if action is None:
        raise ValueError(f"there is no action '{name}'")
    return action(*(_read(kind, v) for kind, v in zip(kinds, values, strict=True)))


@cache
def _known(
    more: tuple[type[Action], ...],
) -> dict[str, tuple[type[Action], tuple[Any, ...]]]:
    """Every action by its name, with the types of its fields."""
    return {
        action.name: (action, tuple(f.type for f in dataclasses.fields(action)))
        for action in (*ACTIONS, *more)
    }


def _read(kind: Any, value: Any) -> Any:
    """The value of a field."""
    if kind in _PLAIN:
        if type(value) is not kind:
            raise TypeError(f"{value!r} is not of type {kind.__name__}")
        if kind is int and not -MOST_NUMBER < value < MOST_NUMBER:
            raise ValueError(f"{value:.0e} is out of range")
        return value
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    try:
        return _parsed(kind, value)
    except MorelloError as error:
        raise ValueError(str(error)) from error


@lru_cache(maxsize=4096)
def _parsed(kind: Any, text: str) -> Any:
    return kind.parse(text)
