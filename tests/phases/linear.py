"""A check that the time of a step is linear in what it reads."""

import time
from collections.abc import Callable

FACTOR = 4
"""How much more the longer input holds."""

_LIMIT = 2.5
"""How much slower than linear a step may be; a quadratic one is `FACTOR` slower."""

_NOISE = 0.02
"""Seconds that say nothing about growth."""


def check_linear(step: Callable[[int], Callable[[], object]], size: int) -> None:
    """Check that a step on `FACTOR` times as much takes about so much longer.

    Args:
        step: prepares an input of a size and gives the call to time.
        size: so large that a quadratic step takes far longer than `_NOISE`.

    Raises:
        AssertionError: it takes longer in three tries of three.
    """
    ratios = []
    for _ in range(3):
        short, long = _seconds(step(size)), _seconds(step(FACTOR * size))
        if long <= max(_LIMIT * FACTOR * short, _NOISE):
            return
        ratios.append((short, long))
    raise AssertionError(f"seconds for {size} and {FACTOR} times as much: {ratios}")


def _seconds(call: Callable[[], object]) -> float:
    """The time on this thread's processor: others' load is not counted."""
    before = time.thread_time()
    call()
    return time.thread_time() - before
