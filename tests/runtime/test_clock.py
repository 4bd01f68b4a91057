"""The length of a cycle, by a chain of additions whose time is made up."""

import ctypes

import pytest

from morello.runtime import clock

pytestmark = pytest.mark.quick

MASK = (1 << 64) - 1


def test_the_chain_adds_and_xors_one_after_another() -> None:
    """A trip has 128 operations: a cycle is divided by their number."""
    _, chain = clock._compiled()
    for trips in (1, 2, 7):
        value = y = 3
        for _ in range(trips * clock.CHAIN // 2):
            value = (value + y & MASK) ^ 5
        assert ctypes.c_uint64(chain(trips, 3, 5)).value == value


def test_a_cycle_is_what_one_more_operation_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither the time of a call nor interrupts of some calls are in it."""
    now, calls = [0.0], [0]

    def chain(trips: int, y: int, z: int) -> None:
        calls[0] += 1
        interrupt = 0.5 if calls[0] % 3 else 0.0
        now[0] += 7.0 + interrupt + trips * clock.CHAIN * 0.25

    monkeypatch.setattr(clock.time, "thread_time", lambda: now[0])
    assert clock.cycle_by(chain, 4) == pytest.approx(0.25)
    assert calls[0] == 8


def test_a_plausible_cycle() -> None:
    assert 1e-10 < clock.cycle() < 5e-9
