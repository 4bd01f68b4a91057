"""Forks wait for what must not be copied half done.

A child of ``os.fork`` has one thread, the one that has forked, and the memory of its
parent as it was at that moment. A lock that another thread held then stays held for
ever, in Python or inside a library (SQLite, LLVM). Code that calls such libraries runs
under `defer_forks`; a fork waits until no other thread does. Forks also wait for the
locks of llvmlite and numba themselves, which the garbage collector takes anywhere.

Only forks of Python wait: a library that forks by itself is not seen.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class _Gate:
    """Who is inside, by thread, and who forks."""

    def __init__(self, inside: dict[int, int] | None = None) -> None:
        self.changed = threading.Condition()
        self.inside: dict[int, int] = inside or {}
        """How many blocks each thread is in."""
        self.forking: int | None = None
        """The thread that forks now."""
        self.locks: list[Any] = []
        """Of libraries, which that thread holds meanwhile."""

    def enter(self, thread: int) -> None:
        """Wait for the fork of another thread, unless this thread is inside already."""
        with self.changed:
            while thread not in self.inside and self.forking not in (None, thread):
                self.changed.wait()
            self.inside[thread] = self.inside.get(thread, 0) + 1

    def leave(self, thread: int) -> None:
        with self.changed:
            self.inside[thread] -= 1
            if not self.inside[thread]:
                del self.inside[thread]
                self.changed.notify_all()

    def close(self, thread: int) -> None:
        """Wait until no other thread is inside, and let none in."""
        with self.changed:
            while self.forking is not None:
                self.changed.wait()
            self.forking = thread
            while self.inside.keys() - {thread}:
                self.changed.wait()
            is_inside = thread in self.inside
        if not is_inside:  # else it has forked amid a block of its own
            for prepare in _preparations:
                prepare()
        for lock in _library_locks():
            lock.__enter__()
            self.locks.append(lock)

    def open(self) -> None:
        while self.locks:
            self.locks.pop().__exit__(None, None, None)
        with self.changed:
            self.forking = None
            self.changed.notify_all()


_gate = _Gate()
_preparations: list[Callable[[], None]] = []


def before_forks(prepare: Callable[[], None]) -> None:
    """Call a function before each fork, while no thread is in a deferring block."""
    _preparations.append(prepare)


@contextmanager
def defer_forks() -> Iterator[None]:
    """Make forks of other threads wait until the block ends.

    The block should be short, and wait for nothing that a fork may hold up.
    """
    gate, thread = _gate, threading.get_ident()
    gate.enter(thread)
    try:
        yield
    finally:
        gate.leave(thread)


def _library_locks() -> Iterator[Any]:
    """The locks of numba and llvmlite, in the order in which numba takes them."""
    numba = sys.modules.get("numba.core.compiler_lock")
    llvmlite = sys.modules.get("llvmlite.binding.ffi")
    for lock in (
        getattr(numba, "global_compiler_lock", None),
        getattr(getattr(llvmlite, "lib", None), "_lock", None),
    ):
        if lock is not None:
            yield lock


def _before() -> None:
    _gate.close(threading.get_ident())


def _after_in_parent() -> None:
    _gate.open()


def _after_in_child() -> None:
    """Threads that waited at the gate are gone, and so may be what they waited by."""
    _gate.changed = threading.Condition()
    _gate.open()


os.register_at_fork(
    before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
)
