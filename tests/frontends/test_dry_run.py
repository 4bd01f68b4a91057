"""What may crash is tried in a child: its end is told, what it raises is not."""

import os
import signal
import time

import pytest

from morello.errors import CompileError
from morello.frontends import dry_run
from morello.frontends.dry_run import check_survival

pytestmark = pytest.mark.usefixtures("tried_first")


def test_a_signal_is_an_error_that_names_it() -> None:
    with pytest.raises(CompileError, match=r"text makes MLIR end .*\(SIGSEGV\)"):
        check_survival(lambda: os.kill(os.getpid(), signal.SIGSEGV), "text")


def test_what_is_raised_is_left_to_the_parent(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def read() -> None:
        os.write(1, b"seen by nobody")
        raise ValueError

    check_survival(read, "text")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("limit", ["PATIENCE", "MOST_IDLE"])
def test_a_child_that_waits_for_ever_is_given_up(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    children: list[int] = []
    fork = os.fork

    def recorded() -> int:
        children.append(fork())
        return children[-1]

    monkeypatch.setattr(dry_run, limit, 0.2)
    monkeypatch.setattr(os, "fork", recorded)
    check_survival(lambda: time.sleep(600), "text")
    (child,) = children  # others of this process are not its concern
    with pytest.raises(ChildProcessError):
        os.waitpid(child, os.WNOHANG)


def _compute() -> None:
    end = time.monotonic() + 600
    while time.monotonic() < end:
        pass


def test_a_child_that_computes_for_ever_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dry_run, "PATIENCE", 0.3)
    monkeypatch.setattr(dry_run, "MOST_BUSY", 0.5)
    with pytest.raises(CompileError, match=r"text takes MLIR more than .* given up"):
        check_survival(_compute, "text")


def test_a_child_that_computes_long_may_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def read() -> None:
        end = time.process_time() + 0.5
        while time.process_time() < end:
            pass
        os.kill(os.getpid(), signal.SIGSEGV)

    monkeypatch.setattr(dry_run, "PATIENCE", 0.3)
    with pytest.raises(CompileError, match="SIGSEGV"):
        check_survival(read, "text")
