"""The arguments of a function as arrays and what else is fixed, and its results."""

import dataclasses
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

from morello.errors import MorelloError
from morello.tracing.guards import is_constant
from morello.tracing.numbers import F32, element_type, other_meaning
from morello.tracing.operands import tracers
from morello.tracing.refusals import noted

Shape = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Leaf:
    """Array in the pattern of arguments, by its shape and dtype."""

    shape: Shape
    dtype: np.dtype[Any] = F32
    is_number: bool = False
    """Whether it is a number of Python, which takes the dtype of arrays."""


@dataclasses.dataclass(frozen=True)
class Fixed:
    """Argument that is no array: a constant of the traced function."""

    type: type
    value: Hashable


@dataclasses.dataclass(frozen=True)
class Object:
    """An object that may change: what a function reads of it is checked."""

    type: type


@dataclasses.dataclass(frozen=True)
class Several:
    """A tuple, a list or a dictionary of patterns."""

    type: type
    keys: tuple[Hashable, ...] | None
    parts: tuple["Pattern", ...]


Pattern = Leaf | Fixed | Object | Several

Pick = Callable[[Any, str], Pattern]
"""The pattern of what is no tuple, list or dictionary; the text says where it is."""


def pattern_of(argument: Any, pick: Pick, place: str = "") -> Pattern:
    """The form of arguments or results."""
    if isinstance(argument, dict):
        parts = tuple(
            pattern_of(part, pick, f"{place}[{key!r}]")
            for key, part in argument.items()
        )
        return Several(dict, tuple(argument), parts)
    if isinstance(argument, tuple | list):
        parts = tuple(
            pattern_of(part, pick, f"{place}[{i}]") for i, part in enumerate(argument)
        )
        return Several(type(argument), None, parts)
    return pick(argument, place)


_NONE: Iterator[Any] = iter(())


def filled(
    pattern: Pattern, arrays: Iterator[Any], objects: Iterator[Any] = _NONE
) -> Any:
    """Arrays in the place of the leaves of a pattern, and objects in theirs."""
    match pattern:
        case Leaf():
            return next(arrays)
        case Object():
            return next(objects)
        case Fixed(value=value):
            return value
        case Several(type=kind, keys=keys, parts=parts):
            items = [filled(part, arrays, objects) for part in parts]
            if keys is not None:
                return dict(zip(keys, items, strict=True))
            return kind(*items) if hasattr(kind, "_fields") else kind(items)


def function_name(function: Any) -> str:
    """The name of a function, for messages."""
    return str(getattr(function, "__qualname__", function))


def is_traced(arguments: Any) -> bool:
    """Whether an array that is being traced is among arguments."""
    return any(True for _ in tracers(arguments))


class Arrays:
    """Collects arrays from the arguments of a call.

    Args:
        name: of the function, for messages.
    """

    def __init__(self, name: str) -> None:
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.objects: list[Any] = []
        self._name = name

    def __call__(self, argument: Any, place: str) -> Pattern:
        """A leaf for an array and a number that is no integer, and what is fixed.

        Raises:
            MorelloError: no graph reads an array's dtype.
        """
        is_number = isinstance(argument, float) and not isinstance(argument, np.generic)
        if is_number:
            argument = self._number(argument, place)
        if isinstance(argument, np.integer) or not _is_array(argument):
            return _fixed(argument, self.objects)
        other = other_meaning(argument)
        if other is not None:
            raise self._refusal(place, f"is {other[0]}", other[1])
        array = np.asarray(argument)
        if element_type(array.dtype) is None:
            what = f"has the dtype {array.dtype}, which is not traced"
            raise self._refusal(place, what, _remedy(array))
        self.arrays.append(array)
        return Leaf(array.shape, array.dtype, is_number)

    def _number(self, value: float, place: str) -> np.float32:
        with np.errstate(over="ignore"):
            number = np.float32(value)
        if np.isinf(number) and np.isfinite(value):
            remedy = "give np.finfo(np.float32).max, or np.inf"
            raise self._refusal(place, f"is {value}, too large for float32", remedy)
        return number

    def _refusal(self, place: str, what: str, remedy: str) -> MorelloError:
        text = f"argument {_plain(place)} of {self._name} {what}"
        return noted(MorelloError(text, remedy))


def _remedy(array: np.ndarray[Any, Any]) -> str:
    """How an array of another dtype can be given."""
    kind = array.dtype.kind
    if kind not in "fiu":
        return "give real numbers of float32"
    if array.ndim:
        return "write x.astype(np.float32)"
    return "write int(x) or np.float32(x)" if kind in "iu" else "write np.float32(x)"


def _plain(place: str) -> str:
    """Location of an argument, `0`, or `0['w']` for a part of it, without the prefix
    that distinguishes a positional argument, `[0]`, from a named one, `[1]`."""
    first, _, rest = place[len("[0][") :].partition("]")
    return first + rest


def _is_array(argument: Any) -> bool:
    return isinstance(argument, np.ndarray | np.generic) or any(
        hasattr(argument, name) for name in ("__array__", "__dlpack__")
    )


def _fixed(argument: Any, objects: list[Any]) -> Pattern:
    """Pattern of an argument that is no array: a constant, or an object that may
    change, which is added to ``objects``."""
    if is_constant(argument):
        return Fixed(type(argument), argument)
    objects.append(argument)
    return Object(type(argument))


def shape_pattern(argument: Any, objects: list[Any]) -> Pattern:
    """The pattern of an argument that is given by its shape, or by an array.

    Args:
        objects: gets what may change.
    """
    if isinstance(argument, tuple) and all(
        isinstance(n, int | np.integer) for n in argument
    ):
        return Leaf(tuple(map(int, argument)))
    if isinstance(argument, float):
        return Leaf((), is_number=True)
    if isinstance(argument, dict):
        parts = tuple(shape_pattern(part, objects) for part in argument.values())
        return Several(dict, tuple(argument), parts)
    if isinstance(argument, tuple | list):
        parts = tuple(shape_pattern(part, objects) for part in argument)
        return Several(type(argument), None, parts)
    if _is_array(argument) and not isinstance(argument, np.integer):
        dtype = np.asarray(argument).dtype
        return Leaf(np.shape(argument), dtype if element_type(dtype) else F32)
    return _fixed(argument, objects)


def leaves(pattern: Pattern) -> Iterator[Leaf]:
    """The arrays of a pattern, in order."""
    if isinstance(pattern, Leaf):
        yield pattern
    elif isinstance(pattern, Several):
        for part in pattern.parts:
            yield from leaves(part)
