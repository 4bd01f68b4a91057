"""Jobs in processes of their own: results, deaths, ends."""

import os
import sys
from collections.abc import Callable
from typing import Any

import pytest

from morello.errors import MorelloError
from morello.processes.pool import work_off


def jobs(count: int) -> Callable[[int], int | None]:
    """Hands out the numbers below ``count``."""
    left = list(range(count))
    return lambda place: left.pop(0) if left else None


def test_each_job_has_its_result() -> None:
    ended = list(work_off(jobs(5), abs, 2))
    assert sorted(one.job for one in ended) == [0, 1, 2, 3, 4]
    assert all(one.result == one.job and not one.death for one in ended)


def test_no_more_processes_than_jobs() -> None:
    assert [one.result for one in work_off(jobs(1), _process, 9)] != [os.getpid()]
    assert list(work_off(jobs(0), abs, 2)) == []


def _process(job: int) -> int:
    return os.getpid() + job


def test_a_process_that_dies_fails_its_job_alone() -> None:
    left: list[Any] = [3, 0, 0]
    ended = list(work_off(lambda place: left.pop(0) if left else None, _die, 1))
    assert [one.death for one in ended] == [
        "its process ended with exit code 3",
        "",
        "",
    ]
    assert [one.result for one in ended] == [None, "alive", "alive"]


def _die(code: int) -> str:
    if code:
        os._exit(code)
    return "alive"


def test_seconds_end_it() -> None:
    assert list(work_off(jobs(1), _sleep, 1, seconds=0.2)) == []


def _sleep(job: int) -> int:
    import time

    time.sleep(600)
    return job


def test_a_program_that_is_no_python_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(MorelloError, match="names no Python; use one process"):
        list(work_off(jobs(1), abs, 1))
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(MorelloError, match="no other process can be started"):
        list(work_off(jobs(1), abs, 1))
