"""The options of a pass: its dataclass fields, from text and back."""

import dataclasses
import difflib
import re
from collections.abc import Sequence
from typing import Any, TypeVar

from morello.errors import PipelineError

T = TypeVar("T")

_TRUE = {"true", "1"}
_FALSE = {"false", "0"}


@dataclasses.dataclass(frozen=True)
class Option:
    """One option of a pass, as help and errors show it.

    Args:
        name: as spelled in a pipeline (``-`` for the field's ``_``).
        kind: ``bool``, ``int`` or ``str``.
        default: the value when it is not given.
        text: its effect.
    """

    name: str
    kind: type
    default: bool | int | str
    text: str

    def __str__(self) -> str:
        return f"{self.name}=<{self.kind.__name__}>"


def options_of(cls: type[Any]) -> tuple[Option, ...]:
    """The options of a pass class, in the order of its fields."""
    return tuple(map(_option, dataclasses.fields(cls)))


def make(cls: type[T], texts: Sequence[tuple[str, str | None]]) -> T:
    """The pass ``cls`` with the options that a pipeline gave.

    Args:
        cls: a `Pass` or a `Bundle`.
        texts: (name, text) of each option; text is None for a bare flag.

    Raises:
        PipelineError: an option that the pass does not have, is given twice, or has a
            value of another type; its message starts after the name of the pass.
    """
    legal = {option.name: option for option in options_of(cls)}
    values: dict[str, bool | int | str] = {}
    for name, text in texts:
        option = legal.get(name) or legal.get(name.replace("_", "-"))
        if option is None:
            raise PipelineError(f"has no option '{name}'", _remedy(name, legal))
        field = option.name.replace("-", "_")
        if field in values:
            raise PipelineError(f"is given option '{name}' twice", "give it once")
        values[field] = _value(option, text)
    return cls(**values)


def render(element: Any, whole: bool = False) -> str:
    """``name{options}`` for a pass.

    Args:
        element: a `Pass` or a `Bundle`.
        whole: all options, not only those that are not the default.
    """
    parts = []
    for option in options_of(type(element)):
        value = getattr(element, option.name.replace("-", "_"))
        if whole or value != option.default:
            parts.append(f"{option.name}={_quoted(value)}")
    name = str(element.name)
    return f"{name}{{{' '.join(parts)}}}" if parts else name


def _option(field: "dataclasses.Field[Any]") -> Option:
    default = field.default
    if not isinstance(default, bool | int | str):
        raise TypeError(f"option '{field.name}' needs a default: bool, int or str")
    text = str(field.metadata.get("help", ""))
    return Option(field.name.replace("_", "-"), type(default), default, text)


def _remedy(name: str, legal: dict[str, Option]) -> str:
    if not legal:
        return "it takes none"
    close = difflib.get_close_matches(name, legal, 1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"{hint}its options are: {', '.join(map(str, legal.values()))}"


def _value(option: Option, text: str | None) -> bool | int | str:
    if option.kind is bool:
        word = "true" if text is None else text.lower()
        if word in _TRUE | _FALSE:
            return word in _TRUE
        raise _mismatch(option, text, "write true or false")
    if text is None:
        raise PipelineError(
            f"is given option '{option.name}' without a value", f"write {option}"
        )
    if option.kind is int:
        if re.fullmatch(r"[+-]?[0-9]+", text):
            return int(text)
        raise _mismatch(option, text, "write a decimal integer")
    return text


def _mismatch(option: Option, text: str | None, remedy: str) -> PipelineError:
    kind = option.kind.__name__
    return PipelineError(f"cannot read '{text}' as {option.name}=<{kind}>", remedy)


def _quoted(value: bool | int | str) -> str:
    """A value as the grammar reads it back: quoted where it must be."""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    if text and not re.search(r"[\s{}()'\",=]", text):
        return text
    for left, right in ("''", '""'):
        if left not in text:
            return f"{left}{text}{right}"
    return f"{{{text}}}"
