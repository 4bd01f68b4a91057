"""Turns: every contender is sampled once a round, in another order each time."""

import time
from collections.abc import Callable, Mapping

Sampler = Callable[[], float]


def interleave(
    samplers: Mapping[str, Sampler],
    seconds: float,
    least: int = 5,
    most: int = 1000,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Samples of each, round by round, so that all see the same machine.

    The order turns by one each round: nobody always comes after the same one.

    Args:
        samplers: take one sample each.
        seconds: when no further round begins; at least ``least`` are run.
        most: rounds at most.
    """
    samples: dict[str, list[float]] = {name: [] for name in samplers}
    names = list(samplers)
    end = clock() + seconds
    for number in range(most):
        if number >= least and clock() >= end:
            break
        start = number % len(names) if names else 0
        for name in names[start:] + names[:start]:
            samples[name].append(samplers[name]())
    return samples
