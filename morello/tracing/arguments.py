"""The arguments of a function as arrays and what else is fixed, and its results."""

import dataclasses
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

from morello.errors import MorelloError
from morello.tracing.guards import is_constant
from morello.tracing.numbers import F32, element_type
from morello.tracing.refusals import noted
from morello.tracing.tracer import tracers

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


def pattern_of(given: Any, pick: Pick, place: str = "") -> Pattern:
    """The form of arguments or results."""
    if isinstance(given, dict):
        parts = tuple(
            pattern_of(part, pick, f"{place}[{key!r}]") for key, part in given.items()
        )
        return Several(dict, tuple(given), parts)
    if isinstance(given, tuple | list):
        parts = tuple(
            pattern_of(part, pick, f"{place}[{i}]") for i, part in enumerate(given)
        )
        return Several(type(given), None, parts)
    return pick(given, place)


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


def is_traced(given: Any) -> bool:
    """Whether an array that is being traced is among arguments."""
    return any(True for _ in tracers(given))


class Arrays:
    """Collects arrays from the arguments of a call.

    Args:
        name: of the function, for messages.
    """

    def __init__(self, name: str) -> None:
        self.found: list[np.ndarray[Any, Any]] = []
        self.objects: list[Any] = []
        self._name = name

    def __call__(self, given: Any, place: str) -> Pattern:
        """A leaf for an array and a number that is no integer, and what is fixed.

        Raises:
            MorelloError: no graph reads an array's dtype.
        """
        is_number = isinstance(given, float) and not isinstance(given, np.generic)
        if is_number:
            given = self._number(given, place)
        if isinstance(given, np.integer) or not _is_array(given):
            return _fixed(given, self.objects)
        if isinstance(given, np.ma.MaskedArray):
            raise self._refusal(
                place,
                "is a masked array, whose mask would be ignored",
                "give numpy.ma.filled(array, value)",
            )
        array = np.asarray(given)
        if element_type(array.dtype) is None:
            what = f"has the dtype {array.dtype}, which is not traced"
            raise self._refusal(place, what, _remedy(array))
        self.found.append(array)
        return Leaf(array.shape, array.dtype, is_number)

    def _number(self, given: float, place: str) -> np.float32:
        with np.errstate(over="ignore"):
            number = np.float32(given)
        if np.isinf(number) and np.isfinite(given):
            remedy = "give np.finfo(np.float32).max, or np.inf"
            raise self._refusal(place, f"is {given}, too large for float32", remedy)
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


def _is_array(given: Any) -> bool:
    return isinstance(given, np.ndarray | np.generic) or any(
        hasattr(given, name) for name in ("__array__", "__dlpack__")
    )


def _fixed(given: Any, objects: list[Any]) -> Pattern:
    """Pattern of an argument that is no array: a constant, or an object that may
    change, which is added to ``objects``."""
    if is_constant(given):
        return Fixed(type(given), given)
    objects.append(given)
    return Object(type(given))


def shape_pattern(given: Any, objects: list[Any]) -> Pattern:
    """The pattern of an argument that is given by its shape, or by an array.

    Args:
        objects: gets what may change.
    """
    if isinstance(given, tuple) and all(isinstance(n, int | np.integer) for n in given):
        return Leaf(tuple(map(int, given)))
    if isinstance(given, float):
        return Leaf((), is_number=True)
    if isinstance(given, dict):
        parts = tuple(shape_pattern(part, objects) for part in given.values())
        return Several(dict, tuple(given), parts)
    if isinstance(given, tuple | list):
        parts = tuple(shape_pattern(part, objects) for part in given)
        return Several(type(given), None, parts)
    if _is_array(given) and not isinstance(given, np.integer):
        dtype = np.asarray(given).dtype
        return Leaf(np.shape(given), dtype if element_type(dtype) else F32)
    return _fixed(given, objects)


def leaves(pattern: Pattern) -> Iterator[Leaf]:
    """The arrays of a pattern, in order."""
    if isinstance(pattern, Leaf):
        yield pattern
    elif isinstance(pattern, Several):
        for part in pattern.parts:
            yield from leaves(part)
