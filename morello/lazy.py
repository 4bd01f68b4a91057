"""Attributes that are computed when they are first read.

`functools.cached_property` of Python 3.11 holds a lock while it computes. A process
that is forked meanwhile by another thread has that lock held for ever.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class cached_property(Generic[Value]):  # noqa: N801 (read like functools' own)
    """An attribute that is computed once, by whichever thread reads it first.

    Threads that read it at the same time may each compute it; the values are equal.

    Args:
        compute: gives the value of an object.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: Any) -> "cached_property[Value]": ...
    @overload
    def __get__(self, instance: object, owner: Any) -> Value: ...
    def __get__(
        self, instance: object | None, owner: Any = None
    ) -> "Value | cached_property[Value]":
        if instance is None:
            return self
        value = self._compute(instance)
        instance.__dict__[self._name] = value
        return value
