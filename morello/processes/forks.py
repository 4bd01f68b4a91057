"""Forks wait for what must not be copied half done.

A child of ``os.fork`` has one thread, the one that has forked, and the memory of its
parent as it was at that moment. A lock that another thread held then stays held for
ever, in Python or inside a library (SQLite, LLVM). Code that calls such libraries runs
under `defer_forks`; a fork waits until no other thread does. Forks also wait for the
locks of llvmlite and numba themselves, which the garbage collector takes anywhere, and
for imports of what is used here: a child would wait for a module that another thread
was importing.

Only forks of Python wait: a library that forks by itself is not seen.
"""

import concurrent.futures.thread
import importlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_REGISTERED_BEFORE = (logging, concurrent.futures.thread)
"""Modules that take locks of their own before a fork, which deferring code may
need. What is registered first is called last, so these come after the waiting."""

LONGEST = 120.0
"""Seconds that a fork waits. A thread that takes longer may wait for something that the
forking thread holds."""


class _Gate:
    """Who is inside, by thread, and who forks."""

    def __init__(self, inside: dict[int, int] | None = None) -> None:
        self.changed = threading.Condition()
        self.inside: dict[int, int] = inside or {}
        """How many blocks each thread is in."""
        self.forking: int | None = None
        """The thread that forks now."""
        self.locks: list[Any] = []
        """Locks of libraries, which that thread holds meanwhile."""

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
        end = time.monotonic() + LONGEST
        with self.changed:
            while self.forking is not None:
                self.changed.wait()
            self.forking = thread
            while self.inside.keys() - {thread} and time.monotonic() < end:
                self.changed.wait(end - time.monotonic())
            is_quiet = not self.inside
        if is_quiet:  # else it has forked amid a block of its own, or waited in vain
            for prepare in _preparations:
                prepare()
        while True:
            while _is_importing(thread) and time.monotonic() < end:
                time.sleep(0.001)
            for lock in _library_locks():
                lock.__enter__()
                self.locks.append(lock)
            if not _is_importing(thread) or time.monotonic() >= end:
                return
            self.unlock()

    def unlock(self) -> None:
        while self.locks:
            self.locks.pop().__exit__(None, None, None)

    def open(self) -> None:
        self.unlock()
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


_PACKAGES = ("llvmlite", "ml_dtypes", "mlir", "morello", "numba", "numpy", "torch_mlir")


def _is_importing(thread: int) -> bool:
    """Whether another thread than this is importing a module of `_PACKAGES`."""
    locks = getattr(importlib._bootstrap, "_module_locks", {})
    for name, reference in tuple(locks.items()):
        if name.partition(".")[0] in _PACKAGES:
            owner = getattr(reference(), "owner", None)
            if owner not in (None, thread):
                return True
    return False


def _after_in_child() -> None:
    """Threads that waited at the gate are gone, and so may be what they waited by."""
    thread = threading.get_ident()
    _gate.changed = threading.Condition()
    _gate.inside = {t: n for t, n in _gate.inside.items() if t == thread}
    _gate.open()


os.register_at_fork(
    before=lambda: _gate.close(threading.get_ident()),
    after_in_parent=_gate.open,
    after_in_child=_after_in_child,
)
