"""The options of a kind in the text form: ``value=lowest``, ``pads=1,1``."""

import dataclasses
from collections.abc import Callable
from typing import Any

from morello.errors import SpecError


def _bool(text: str) -> bool:
    return {"true": True, "false": False}[text]


def _ints(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",")) if text else ()


_READERS: dict[Any, tuple[Callable[[str], Any], str]] = {
    bool: (_bool, "{0}=true or {0}=false"),
    int: (int, "{0}=1"),
    str: (str, "{0}=…"),
    tuple[int, ...]: (_ints, "{0}=1,2"),
}
"""How an option of a type is read, and what to write for it."""


def text_value(field: "dataclasses.Field[Any]", text: str) -> Any:
    """Parse the text of an option's value.

    Raises:
        SpecError: the text is no value of its type.
    """
    read, example = _READERS[field.type]
    try:
        return read(text)
    except (KeyError, ValueError):
        raise SpecError(
            f"option {field.name}={text}", f"write {example.format(field.name)}"
        ) from None


def text_options(kind: Any, names: tuple[str, ...]) -> dict[str, str]:
    """The options that are not at their defaults, as text."""
    return {
        field.name: _text(value)
        for field in dataclasses.fields(kind)
        if field.name in names and (value := getattr(kind, field.name)) != field.default
    }


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
