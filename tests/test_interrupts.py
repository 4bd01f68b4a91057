"""Ctrl-C is deferred inside a block, and is not lost."""

import signal
import threading
from collections.abc import Callable

import pytest

from morello.processes.interrupts import check_sigint, defer_sigint
from tests.child import python

pytestmark = pytest.mark.quick


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def while_deferred(*steps: Callable[[], object]) -> None:
    with defer_sigint():
        for step in steps:
            step()


def test_sigint_comes_at_the_end_of_the_block() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        while_deferred(press, lambda: done.append("after"))
    assert done == ["after"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_sigint_comes_when_it_is_checked_and_only_once() -> None:
    with defer_sigint():
        press()
        press()
        with pytest.raises(KeyboardInterrupt):
            check_sigint()
        check_sigint()


def test_an_inner_block_leaves_it_to_the_outer() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        while_deferred(lambda: while_deferred(press), lambda: done.append("between"))
    assert done == ["between"]


def test_sigint_comes_at_once_outside_a_block() -> None:
    check_sigint()
    with pytest.raises(KeyboardInterrupt):
        press()


def test_sigint_does_not_hide_the_error_of_the_block() -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        while_deferred(press, {}.popitem)
    assert isinstance(caught.value.__context__, KeyError)


def test_the_handler_of_the_program_is_called() -> None:
    told: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: told.append(number))
    try:
        with defer_sigint():
            press()
            assert told == []
        assert told == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_thread_neither_defers_nor_delivers_it() -> None:
    done: list[object] = []

    def ask_elsewhere() -> None:
        thread = threading.Thread(target=while_deferred, args=(check_sigint,))
        thread.start()
        thread.join()
        done.append(signal.getsignal(signal.SIGINT))

    with pytest.raises(KeyboardInterrupt):
        while_deferred(press, ask_elsewhere)
    assert done != [signal.default_int_handler]
    assert len(done) == 1


@pytest.mark.parametrize(
    ("handler", "status"), [("SIG_IGN", 0), ("SIG_DFL", -signal.SIGINT)]
)
def test_handlers_outside_python_stay(handler: str, status: int) -> None:
    script = (
        "import signal\n"
        "from morello.processes.interrupts import defer_sigint\n"
        f"signal.signal(signal.SIGINT, signal.{handler})\n"
        "with defer_sigint(): signal.raise_signal(signal.SIGINT)\n"
    )
    done = python("-c", script)
    assert done.returncode == status
