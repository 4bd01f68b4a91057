"""Reads of a traced function besides its arguments, made again before each call.

A read is a step: how a value is reached from an earlier one, and what it has to be.
"""

import enum
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from morello.tracing.numbers import is_narrow

Array = np.ndarray[Any, np.dtype[Any]]

Check = Callable[[Any, Any], bool]
"""Whether a value is as it was when the function was traced."""

Get = Callable[[Any, Any], Any]

ABSENT = object()
"""Stands for a name that an object or a module does not have."""

PURE = frozenset(
    {
        "builtins", "collections", "copy", "dataclasses", "enum", "functools",
        "itertools", "math", "morello", "numpy", "operator", "string", "typing",
    }
)  # fmt: skip
"""Modules whose functions give the same for the same arguments."""

_NUMBERS = (int, float, complex, np.generic)
_CONSTANTS = (
    *_NUMBERS,
    str,
    bytes,
    type(None),
    type(...),
    range,
    slice,
    enum.Enum,
    np.dtype,
    np.ufunc,
)


def is_pure(value: Any) -> bool:
    """Whether a module, a class or a function is of one that reads nothing else."""
    name = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
    return str(name).partition(".")[0] in PURE


def is_constant(value: Any) -> bool:
    """Whether a value cannot change: nothing in it has to be read again."""
    if isinstance(value, _CONSTANTS):
        return True
    if isinstance(value, frozenset):
        return all(map(is_constant, value))
    if isinstance(value, types.ModuleType | type | types.FunctionType):
        return is_pure(value)
    if isinstance(value, types.BuiltinFunctionType):
        return isinstance(value.__self__, types.ModuleType | None) and is_pure(value)
    return type(value) is type(np.sum) and is_pure(value)


def same(value: Any, before: Any) -> bool:
    """Whether a constant is the same: its type, and its value to the bit."""
    if value is before:
        return True
    if type(value) is not type(before) or not isinstance(value, (*_NUMBERS, str)):
        return type(value) is type(before) and bool(value == before)
    return repr(value) == repr(before)


def same_form(value: Any, before: Any) -> bool:
    """Whether an array has the same type, shape and dtype; its elements are read."""
    return type(value) is np.ndarray and (value.shape, value.dtype) == before


def same_elements(value: Any, before: Array) -> bool:
    """Whether an array holds what a copy of it holds."""
    is_same = same_form(value, (before.shape, before.dtype))
    return is_same and value.tobytes() == before.tobytes()


def same_length(value: Any, before: tuple[Any, Any]) -> bool:
    """Whether a list, a tuple or a dictionary has the same length or keys."""
    if type(value) is not before[0]:
        return False
    held: Any = tuple(value) if isinstance(value, dict) else len(value)
    return bool(held == before[1])


def same_code(value: Any, before: types.FunctionType) -> bool:
    """Whether a function has the same instructions."""
    return type(value) is types.FunctionType and value.__code__ is before.__code__


def same_type(value: Any, before: type) -> bool:
    """Whether an object has the same class."""
    return type(value) is before


def is_same(value: Any, before: Any) -> bool:
    """Whether it is that very object."""
    return value is before


def of_global(function: Any, name: str) -> Any:
    """A global variable of a function."""
    return function.__globals__.get(name, ABSENT)


def of_cell(function: Any, place: int) -> Any:
    """A variable of the function around a function."""
    return function.__closure__[place].cell_contents


def of_object(value: Any, name: str) -> Any:
    """An attribute of an object, which is there or not, without `__getattr__`."""
    if isinstance(value, type):
        get: Get = type.__getattribute__
    else:
        module = isinstance(value, types.ModuleType)
        get = types.ModuleType.__getattribute__ if module else object.__getattribute__
    try:
        return get(value, name)
    except AttributeError:
        return ABSENT


of_element: Get = operator.getitem
of_part: Get = getattr

_BROKEN = (AttributeError, LookupError, TypeError, ValueError)
"""A read that fails is another one than before."""


class Guards:
    """The reads of one trace.

    Args:
        roots: how many values they begin with: the function, and its arguments that
            are no arrays.
    """

    def __init__(self, roots: int) -> None:
        self._roots = roots
        self._steps: list[tuple[int, Get, Any, Check, Any]] = []
        self._known: dict[tuple[int, Get, Any], int] = {}
        self._aliases: list[tuple[int, int]] = []
        self._arrays: list[int] = []

    def step(self, parent: int, get: Get, key: Any, check: Check, before: Any) -> int:
        """A read of a value; the number that the value has from now on."""
        place = parent, get, key
        if place not in self._known:
            self._steps.append((parent, get, key, check, before))
            self._known[place] = self._roots + len(self._steps) - 1
        return self._known[place]

    def alias(self, one: int, other: int) -> None:
        """Two values that are one object."""
        if one != other:
            self._aliases.append((one, other))

    def array(self, number: int) -> int:
        """Makes a value an argument of the kernel; its place among these."""
        self._arrays.append(number)
        return len(self._arrays) - 1

    def arrays(self, roots: Sequence[Any]) -> list[Array] | None:
        """The arrays that the function reads now; None where a value is another."""
        values = [*roots]
        try:
            for parent, get, key, check, before in self._steps:
                value = get(values[parent], key)
                if value is not before and not check(value, before):
                    return None
                values.append(value)
        except _BROKEN:
            return None
        if any(values[one] is not values[other] for one, other in self._aliases):
            return None
        return [_floats(values[i]) for i in self._arrays]


def _floats(array: Array) -> Array:
    """An array of floats as an argument: what graphs lack becomes float32."""
    return array if is_narrow(array.dtype) else np.asarray(array, np.float32)
