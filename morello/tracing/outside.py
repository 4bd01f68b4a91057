"""Stand-ins for what a traced function reads besides its arguments.

A function is traced with its globals, its closure, its defaults and the objects that it
is given replaced by stand-ins, which note each read (`guards.py`). Arrays of floats
become arguments of the kernel, so that their elements are always those of the moment;
numbers, texts and integers are compared before each call. What cannot be followed is
`OpaqueError`: such a function is traced anew in each call.
"""

import builtins
import dis
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from morello.tracing import guards as reads
from morello.tracing.guards import ABSENT, Check, Get, Guards, is_constant
from morello.tracing.numbers import F32, is_narrow
from morello.tracing.operands import argument
from morello.tracing.recording import Recording
from morello.tracing.refusals import noted

_MOST_STEPS = 4000
"""Reads that are checked in a call; a larger structure is traced anew."""

_WORLD = frozenset(
    {
        "__class__", "__dict__", "breakpoint", "compile", "dir", "eval", "exec",
        "fromfile", "genfromtxt", "globals", "id", "input", "load", "loadtxt", "locals",
        "memmap", "open", "random", "super", "type", "vars",
    }
)  # fmt: skip
"""Names that read or write what no guard sees."""


class OpaqueError(BaseException):
    """A read that no guard can repeat; no ``except`` of a user stops it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        noted(self)


class Outside:
    """Stand-ins for one trace.

    Args:
        recording: of the trace.
        arguments: how many arrays the function is given.
        roots: the function, and its arguments that are no arrays.
    """

    def __init__(self, recording: Recording, arguments: int, roots: list[Any]) -> None:
        self.guards = Guards(len(roots))
        self._recording = recording
        self._arguments = arguments
        self._known: dict[int, tuple[int, Any, Any]] = {}
        """By identity: the number of a value, its stand-in, and the value."""
        self.roots = [self._of(value, number) for number, value in enumerate(roots)]

    def read(self, parent: int, get: Get, key: Any) -> Callable[[Any], Any]:
        """How to note a value that was read, and get its stand-in."""

        def note(value: Any) -> Any:
            check, before = _check(value)
            number = self.guards.step(parent, get, key, check, before)
            if number > _MOST_STEPS:
                raise OpaqueError("it reads too much")
            return before if check is reads.same_elements else self._of(value, number)

        return note

    def _of(self, value: Any, number: int) -> Any:
        if value is ABSENT or is_constant(value):
            return value
        if id(value) in self._known:
            first, stand_in, _ = self._known[id(value)]
            self.guards.alias(first, number)
            return stand_in
        return self._stand_in(value, number)

    def _keep(self, value: Any, number: int, stand_in: Any) -> Any:
        self._known[id(value)] = number, stand_in, value
        return stand_in

    def _stand_in(self, value: Any, number: int) -> Any:
        match value:
            case types.FunctionType():
                return self._function(value, number)
            case np.ndarray():
                place = self._arguments + self.guards.array(number)
                dtype = value.dtype if is_narrow(value.dtype) else F32
                stand_in = argument(self._recording, place, value.shape, dtype)
                return self._keep(value, number, stand_in)
            case tuple() | list() | dict():
                return self._keep(value, number, self._several(value, number))
            case types.MethodType():
                function = self._part(value, number, "__func__")
                return types.MethodType(function, self._part(value, number, "__self__"))
            case functools.partial():
                parts = (self._part(value, number, n) for n in _PARTIAL)
                function, args, kwargs = parts
                return functools.partial(function, *args, **kwargs)
        if hasattr(type(value), "__morello_jit__"):
            return self._part(value, number, "_function")
        return self._keep(value, number, stand_in_of(value, number, self))

    def _part(self, value: Any, number: int, name: str) -> Any:
        return self.read(number, reads.of_part, name)(getattr(value, name))

    def _several(self, value: Any, number: int) -> Any:
        keys = value if isinstance(value, dict) else range(len(value))
        parts = [self.read(number, reads.of_element, k)(value[k]) for k in [*keys]]
        match value:
            case dict():
                return _Dict(zip(keys, parts, strict=True))
            case list():
                return _List(parts)
        kind = type(value)
        return kind(*parts) if hasattr(kind, "_fields") else tuple(parts)

    def _function(self, value: types.FunctionType, number: int) -> types.FunctionType:
        """A function of the same code that reads stand-ins."""
        reason = _opaque(value.__code__)
        if reason:
            raise OpaqueError(reason)
        cells = tuple(types.CellType() for _ in value.__closure__ or ())
        names = _Globals(self, value, number)
        copy = types.FunctionType(value.__code__, names, value.__name__, None, cells)
        copy.__qualname__ = value.__qualname__
        self._keep(value, number, copy)
        copy.__defaults__ = self._part(value, number, "__defaults__")
        copy.__kwdefaults__ = self._part(value, number, "__kwdefaults__")
        for place, cell in enumerate(cells):
            held = reads.of_cell(value, place)
            cell.cell_contents = self.read(number, reads.of_cell, place)(held)
        return copy


_PARTIAL = "func", "args", "keywords"


def _check(value: Any) -> tuple[Check, Any]:
    """How a value is compared before a call, and with what.

    Raises:
        OpaqueError: what it holds cannot be seen.
    """
    kind = type(value)
    if value is ABSENT:
        return reads.is_same, value
    if isinstance(value, types.FunctionType):
        return reads.same_code, value
    if is_constant(value):
        return reads.same, value
    if kind is np.ndarray and (value.dtype.kind in "fiub" or is_narrow(value.dtype)):
        return _check_of_array(value)
    if kind is dict:
        return reads.same_length, (kind, tuple(value))
    if kind in (tuple, list) or (isinstance(value, tuple) and hasattr(kind, "_fields")):
        return reads.same_length, (kind, len(value))
    if isinstance(value, types.ModuleType | type):
        return reads.is_same, value
    if isinstance(value, types.MethodType | functools.partial) or is_plain(kind):
        return reads.same_type, kind
    raise OpaqueError(f"it reads an object of the class {kind.__name__}")


def _check_of_array(array: Any) -> tuple[Check, Any]:
    is_float = array.dtype.kind == "f" or is_narrow(array.dtype)
    if is_float and array.size:
        return reads.same_form, (array.shape, array.dtype)
    copy = array.copy()
    copy.flags.writeable = False
    return reads.same_elements, copy


def is_plain(kind: Any) -> bool:
    """Whether objects of a class are attributes alone: it is written in Python."""
    return (
        bool(kind.__flags__ & _HEAP)
        and kind.__new__ is object.__new__
        and kind.__getattribute__ is object.__getattribute__
        and all(base.__flags__ & _HEAP for base in kind.__mro__[:-1])
    )


_HEAP = 1 << 9
"""CPython's flag of classes that are made while a program runs."""


@functools.lru_cache(maxsize=4096)
def _opaque(code: types.CodeType) -> str:
    """Why reads of a function cannot be noted; empty where they can."""
    return next(_reasons(code, frozenset(code.co_freevars)), "")


def _reasons(code: types.CodeType, outer: frozenset[str]) -> Iterator[str]:
    names = _WORLD.intersection(code.co_names) | outer & {"__class__"}
    if names:
        yield f"it uses {', '.join(sorted(names))}"
    for step in dis.get_instructions(code):
        name, argument = step.opname, step.argval
        writes = name in ("STORE_DEREF", "DELETE_DEREF") and argument in outer
        if writes or name in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            yield f"it writes {argument}"
        if name == "IMPORT_NAME" and argument.partition(".")[0] not in reads.PURE:
            yield f"it imports {argument}"
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _reasons(inner, outer)


class _Globals(dict[str, Any]):
    """The globals of a function, of which each read is noted.

    The interpreter looks names up by `__getitem__` where globals are no plain `dict`.
    """

    def __init__(self, outside: Outside, function: Any, number: int) -> None:
        super().__init__(__builtins__=vars(builtins), __name__=function.__module__)
        self._outside = outside
        self._function = function
        self._number = number

    def __getitem__(self, name: str) -> Any:
        value = reads.of_global(self._function, name)
        note = self._outside.read(self._number, reads.of_global, name)
        noted = note(value)
        if noted is ABSENT:
            raise KeyError(name)
        return noted


class _List(list[Any]):
    """List from outside of the traced function, of which writes are refused."""


class _Dict(dict[Any, Any]):
    """A dictionary from outside, which is not written."""


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise OpaqueError("it writes a list or a dictionary from outside")


_OF_LISTS = "append clear extend insert pop remove reverse sort __iadd__ __imul__"
_OF_BOTH = " __setitem__ __delitem__"
for _name in (_OF_LISTS + _OF_BOTH).split():
    setattr(_List, _name, _refuse)
for _name in ("clear pop popitem setdefault update __ior__" + _OF_BOTH).split():
    setattr(_Dict, _name, _refuse)


class _Object:
    """An object, a class or a module from outside, of which each read is noted."""

    def __getattribute__(self, name: str) -> Any:
        return _attribute(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise OpaqueError(f"it writes the attribute {name}")

    def __delattr__(self, name: str) -> None:
        raise OpaqueError(f"it deletes the attribute {name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise OpaqueError("it calls a class, or an object that is no function")


def stand_in_of(value: Any, number: int, outside: Outside) -> Any:
    """Wrap an object from outside so that reads of its attributes are noted."""
    _check(value)
    owner: Any = type(value)
    kind = _stand_in_class(owner)
    stand_in: Any = object.__new__(kind)
    object.__setattr__(stand_in, "_state", (value, number, outside))
    return stand_in


@functools.lru_cache(maxsize=1024)
def _stand_in_class(kind: Any) -> type:
    special = {
        name: _forwarded(name)
        for base in kind.__mro__[:-1]
        for name, value in vars(base).items()
        if isinstance(value, types.FunctionType)
        and name.startswith("__")
        and name not in ("__init__", "__new__", "__setattr__", "__delattr__", "__del__")
    }
    return type(f"Outside{kind.__name__}", (_Object,), special)


def _forwarded(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _attribute(self, name)(*args, **kwargs)

    return method


def _attribute(self: Any, name: str) -> Any:
    value, number, outside = object.__getattribute__(self, "_state")
    if name == "__class__":
        return type(value)
    if isinstance(value, types.ModuleType | type):
        held = ABSENT
    else:
        held = _of_class(type(value), name)
        _check_descriptor(held, value, name)
    if isinstance(held, property):
        kind = outside.guards.step(number, _class_of, None, reads.is_same, type(value))
        place = outside.guards.step(kind, _of_class, name, reads.is_same, held)
        return outside._part(held, place, "fget")(self)
    read = reads.of_object(value, name)
    if isinstance(read, types.MethodType) and read.__self__ is value:
        place = outside.guards.step(
            number, reads.of_object, name, reads.same_type, types.MethodType
        )
        return types.MethodType(outside._part(read, place, "__func__"), self)
    noted = outside.read(number, reads.of_object, name)(read)
    if noted is ABSENT:
        raise AttributeError(name)
    return noted


def _class_of(value: Any, _: None) -> type:
    return type(value)


def _of_class(kind: type, name: str) -> Any:
    return next((vars(c)[name] for c in kind.__mro__ if name in vars(c)), ABSENT)


_FOLLOWED: tuple[Any, ...] = (
    staticmethod,
    classmethod,
    property,
    types.FunctionType,
    types.MemberDescriptorType,
)


def _check_descriptor(held: Any, value: Any, name: str) -> None:
    """Refuse an attribute that is computed by what is no function."""
    if isinstance(held, _FOLLOWED):
        return
    if hasattr(type(held), "__morello_jit__") or not hasattr(type(held), "__get__"):
        return
    if name not in getattr(value, "__dict__", {}):
        raise OpaqueError(f"{name} is computed by a {type(held).__name__}")
