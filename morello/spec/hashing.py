"""Values that are keys of dicts very often: hashed once, or one object of all equal."""

import dataclasses
import os
import threading
import weakref
from abc import ABCMeta
from collections import deque
from operator import attrgetter
from typing import Any, ClassVar

_HASH = "_hash"


def _nothing(value: object) -> tuple[()]:
    """Hashed fields of a class that has none."""
    return ()


class HashedOnce:
    """A frozen dataclass that keeps its hash.

    A subclass names it: ``__hash__ = HashedOnce.__hash__``, for else the decorator
    writes one. The hash stays in the process: it differs in the next.
    """

    _fields: ClassVar[Any] = None
    _hash: int

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            value = hash(self._values())
            object.__setattr__(self, _HASH, value)
            return value

    def _values(self) -> Any:
        cls = type(self)
        if cls._fields is None:
            names = [f.name for f in dataclasses.fields(self)]  # type: ignore[arg-type]
            cls._fields = attrgetter(*names) if names else _nothing
        return cls._fields(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: v for name, v in self.__dict__.items() if name != _HASH}


class _Guard:
    """The lock of what is listed. A thread that holds it may make values meanwhile,
    when it collects garbage, and a forked process must not wait for its parent's."""

    lock = threading.RLock()

    @classmethod
    def renew(cls) -> None:
        """A lock that nobody holds."""
        cls.lock = threading.RLock()


os.register_at_fork(after_in_child=_Guard.renew)


class _Reference(weakref.ref[Any]):
    """A reference to the value that has some fields."""

    __slots__ = ("fields",)
    fields: tuple[Any, ...]


class _OneOfEach(ABCMeta):
    """The class of `Interned` classes, which makes their values.

    Threads may make equal values at once: the one that is listed first is used.
    """

    _listed: dict[tuple[Any, ...], _Reference]
    """The values that are in use, by their fields."""
    _unused: deque[_Reference]
    """References to values that are in use no more, and may be listed still. A method
    of it is what a reference calls: Python drops a Ctrl-C that code of Python takes in
    such a call."""
    _names: tuple[str, ...] | None
    """The names of the fields, from the first value on."""
    _count: int
    """How many those are; -1 before."""
    _defaults: tuple[Any, ...]

    def __new__(
        mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]
    ) -> "_OneOfEach":
        body |= {"__eq__": object.__eq__, "__hash__": object.__hash__}
        cls = super().__new__(mcs, name, bases, body)
        cls._listed, cls._unused = {}, deque()
        cls._names, cls._count = None, -1
        return cls

    def __call__(cls, *args: Any, **named: Any) -> Any:
        """The value of these fields, which is made if it is not in use."""
        is_plain = len(args) == cls._count and not named
        values = args if is_plain else cls._values(args, named)
        reference = cls._listed.get(values)
        if reference is not None and (value := reference()) is not None:
            return value
        fresh = super().__call__(*args, **named)
        weak = _Reference(fresh, cls._unused.append)
        weak.fields = values
        with _Guard.lock:  # else another thread may list an equal value in between
            while cls._unused:
                cls._forget(cls._unused.popleft())
            while (value := (listed := cls._listed.setdefault(values, weak))()) is None:
                cls._forget(listed)
        return value

    def _values(cls, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """The fields in their order; the arguments as they are, where they are wrong:
        no value has these."""
        if cls._names is None:
            fields: Any = dataclasses.fields(cls)  # type: ignore[arg-type]
            cls._defaults = tuple(field.default for field in fields)
            cls._names = tuple(field.name for field in fields)
            cls._count = len(fields)
        count = len(args)
        if not named:
            return args + cls._defaults[count:]
        names = cls._names[count:]
        if not named.keys() <= {*names}:
            return (args, *named.items())
        return (*args, *map(named.get, names, cls._defaults[count:]))

    def _forget(cls, reference: _Reference) -> None:
        """Lists a value no more, by a thread that has the lock."""
        if cls._listed.get(reference.fields) is reference:
            cls._listed.pop(reference.fields, None)


class Interned(metaclass=_OneOfEach):
    """A frozen dataclass of which equal values are one object, so that to compare and
    to hash them is quick. Its fields stay as they are given, and can be hashed."""

    def __reduce__(self) -> tuple[Any, ...]:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return type(self), tuple(getattr(self, field.name) for field in fields)
