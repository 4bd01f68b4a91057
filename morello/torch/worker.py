"""The thread that compiles groups, one after the other, beside the calls of a model.

It does not keep a process from ending: a search stops when the interpreter does.
"""

import atexit
import concurrent.futures
import os
import queue
import threading
from collections.abc import Callable

from morello.errors import MorelloError
from morello.search import Patience, Statistics

Future = concurrent.futures.Future[None]

LONGEST = 10.0
"""Seconds that a process waits at its end for the step that the thread is at."""


class _Worker:
    """The queue of tasks of a process, and its thread; a forked child begins anew."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.tasks: queue.SimpleQueue[tuple[Callable[[], None], Future] | None]
        self.tasks = queue.SimpleQueue()
        self.pending: set[Future] = set()
        self.thread: threading.Thread | None = None
        self.is_over = False

    def run(self) -> None:
        while (task := self.tasks.get()) is not None:
            self.do(*task)

    def do(self, task: Callable[[], None], future: Future) -> None:
        """Run a task, and hand its result or its exception to a future."""
        try:
            if not self.is_over:
                task()
        except BaseException as error:  # noqa: BLE001 (it is whoever waits that asks)
            future.set_exception(error)
        else:
            future.set_result(None)
        with self.lock:
            self.pending.discard(future)

    def begin(self) -> bool:
        """Start the thread that does tasks; whether there is one."""
        if self.thread is None:
            thread = threading.Thread(
                target=self.run, name="morello-torch", daemon=True
            )
            try:
                thread.start()
            except RuntimeError:  # no more threads can be made
                return False
            self.thread = thread
        return True


_worker = _Worker()


def submit(task: Callable[[], None]) -> Future:
    """Do a task when those before it are done; where no thread can be made, now."""
    future: Future = concurrent.futures.Future()
    with _worker.lock:
        _worker.pending.add(future)
        is_begun = _worker.begin()
    if is_begun:
        _worker.tasks.put((task, future))
    else:
        _worker.do(task, future)
    return future


def wait(timeout: float | None = None) -> bool:
    """Wait until every group that is being compiled is compiled or left to eager.

    Args:
        timeout: seconds; None for as long as it takes.

    Returns:
        Whether all are done.
    """
    with _worker.lock:
        pending = list(_worker.pending)
    return not concurrent.futures.wait(pending, timeout).not_done


def patience(seconds: float | None) -> Patience:
    """When the search of a task stops: at a limit, or when the process ends."""

    def watch(statistics: Statistics) -> None:
        del statistics
        if _worker.is_over:
            raise MorelloError("the process ends")

    return Patience(seconds, watch=watch)


def _stop() -> None:
    _worker.is_over = True
    if _worker.thread is not None:
        _worker.tasks.put(None)
        _worker.thread.join(LONGEST)


def _begin_anew() -> None:
    """In a forked child, which has no such thread."""
    global _worker
    _worker = _Worker()


atexit.register(_stop)
os.register_at_fork(after_in_child=_begin_anew)
