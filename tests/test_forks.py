"""Forks wait for what must not be copied half done, and children go on from there."""

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import morello
from morello.lazy import cached_property
from morello.processes.forks import defer_forks
from morello.processes.interrupts import defer_sigint
from tests.child import python
from tests.guarded import check_in_child
from tests.threads import in_threads

HANG = 60
"""Seconds after which a child counts as hanging."""


def forked(work: Callable[[], object]) -> int:
    """Start a child that does this work and ends with 0; its number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(HANG)
        try:
            work()
        except BaseException:  # noqa: BLE001 (the process ends here)
            os._exit(1)
        os._exit(0)
    return child


def ending(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def held_while_forking(hold: Callable[[threading.Event], None]) -> None:
    """Fork while a thread is in ``hold``, which ends some time after its event is set;
    the child does the same itself."""

    def child() -> None:
        inside = threading.Event()
        thread = threading.Thread(target=hold, args=(inside,))
        thread.start()
        inside.wait()
        number = forked(lambda: hold(threading.Event()))
        thread.join()
        assert ending(number) == 0

    check_in_child(child)


def test_a_fork_waits_for_the_end_of_a_block() -> None:
    ended: list[float] = []

    def hold(inside: threading.Event) -> None:
        with defer_forks():
            inside.set()
            time.sleep(0.2)
            ended.append(time.monotonic())

    def child() -> None:
        inside = threading.Event()
        thread = threading.Thread(target=hold, args=(inside,))
        thread.start()
        inside.wait()
        number = forked(lambda: hold(threading.Event()))
        assert ended
        thread.join()
        assert ending(number) == 0

    check_in_child(child)


def test_a_thread_may_fork_inside_its_own_block() -> None:
    def child() -> None:
        with defer_forks():
            number = forked(lambda: None)
        assert ending(number) == 0
        with defer_forks():
            pass

    check_in_child(child)


def test_many_threads_fork_and_defer_at_once() -> None:
    def child() -> None:
        def work() -> None:
            for _ in range(20):
                with defer_forks(), defer_forks():
                    time.sleep(0.001)

        def fork() -> None:
            for _ in range(5):
                assert ending(forked(work)) == 0

        in_threads(lambda function: function(), (work, fork, work, fork))

    check_in_child(child)


def test_forks_wait_for_the_lock_of_llvmlite() -> None:
    from llvmlite.binding import ffi

    def hold(inside: threading.Event) -> None:
        with ffi.lib._lock:
            inside.set()
            time.sleep(0.2)

    held_while_forking(hold)


def test_forks_wait_for_the_lock_of_numba() -> None:
    from numba.core.compiler_lock import global_compiler_lock

    def hold(inside: threading.Event) -> None:
        with global_compiler_lock:
            inside.set()
            time.sleep(0.2)

    held_while_forking(hold)


def test_attributes_are_computed_without_a_lock() -> None:
    class Slow:
        @cached_property
        def value(self) -> int:
            """Some value."""
            counted.append(1)
            inside.set()
            time.sleep(0.2)
            return 7

    counted: list[int] = []
    inside = threading.Event()
    assert Slow.value.__doc__ == "Some value."

    def hold(begun: threading.Event) -> None:
        slow = Slow()
        begun.set()
        assert slow.value == slow.value == 7

    held_while_forking(hold)
    counted.clear()
    hold(threading.Event())
    assert len(counted) == 1


def test_a_child_of_another_thread_gets_sigint() -> None:
    """The main thread defers it at the fork, and is not there to end that."""

    def child() -> None:
        numbers: list[int] = []
        signal.signal(signal.SIGINT, signal.default_int_handler)

        def press() -> None:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)

        with defer_sigint():
            thread = threading.Thread(target=lambda: numbers.append(forked(press)))
            thread.start()
            thread.join()
        assert ending(numbers[0]) == 0

    check_in_child(child)


@pytest.mark.sampled(5)
def test_forks_amid_compilations(tmp_path: Path) -> None:
    """A thread compiles, with a database; children compile, too."""
    path = tmp_path / "tables.sqlite"

    def compile_one(number: int) -> None:
        morello.compile(f"fill:{3 + number % 7}x{5 + number % 11}", db=path)

    def child() -> None:
        compile_one(0)
        stop = threading.Event()
        counts: list[int] = []

        def work() -> None:
            while not stop.is_set():
                counts.append(len(counts))
                compile_one(counts[-1])

        thread = threading.Thread(target=work)
        thread.start()
        children = []
        for number in range(12):
            time.sleep(0.013 * number)
            children.append(forked(lambda number=number: compile_one(number)))  # type: ignore[misc]
        stop.set()
        thread.join()
        assert [ending(number) for number in children] == [0] * 12
        assert counts

    check_in_child(child)


FIRST = """
import os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)

def work():
    import morello
    morello.compile("move:7x9:f32", threads=1, db=sys.argv[1])

thread = threading.Thread(target=work)
thread.start()
children = []
while thread.is_alive() and len(children) < 4:
    time.sleep(0.25)
    child = os.fork()
    if child == 0:
        signal.alarm(90)
        work()
        os._exit(0)
    children.append(child)
thread.join()
print([os.waitpid(child, 0)[1] for child in children])
"""


def test_forks_amid_the_first_compilation_of_a_process(tmp_path: Path) -> None:
    """Modules are imported, and the search is loaded."""
    run = python("-c", FIRST, str(tmp_path / "tables.sqlite"))
    pids = run.stdout.strip().strip("[]").split(", ")
    assert run.returncode == 0, run.stderr
    assert set(pids) == {"0"}, run
