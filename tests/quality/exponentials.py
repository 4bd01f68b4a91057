"""A6: exp of f32 in a kernel, beside exp in f64, on blocks of all bit patterns."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

import morello
from morello.machine import find_target
from morello.machine.host import missing_features
from tests.kernels.harness import features_text

BLOCK = 1 << 24
"""Patterns of a block. Of 256 blocks each pattern is in one."""

BLOCKS = (1 << 32) // BLOCK

SPEC = f"compose:{BLOCK >> 12}x{1 << 12}:f32:graph=y[m,n]=exp(x[m,n])"

TARGETS = ("avx2", "avx512")

MOST = 2
"""ULP."""

LARGEST = np.finfo(np.float32).max

Floats = np.ndarray[Any, np.dtype[np.float32]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]


def near(numbers: Floats, results: Floats) -> Mask:
    """Where a number is what exp of another should be."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        exact = np.exp(numbers.astype(np.float64))
        nearest = exact.astype(np.float32)
        unit = np.spacing(np.minimum(nearest, LARGEST)).astype(np.float64)
        within = np.abs(results - exact) <= MOST * unit
    bare = (nearest == 0) | np.isinf(nearest)
    bare &= (numbers < -104) | (numbers > 0)
    result: Mask = np.where(bare, results == nearest, within)
    return result | (np.isnan(numbers) & np.isnan(results))


def check_exponentials(seeds: Sequence[int]) -> int:
    """For each seed one block of f32's patterns, spread over all exponents; how many
    numbers were compared. Seeds 0 to 255 are all patterns.

    At most `MOST` ULP from the function, 0 where f32 has nothing but that, Inf above
    the largest number, and NaN of NaN: on each target that this CPU can run.

    Raises:
        AssertionError: begins with the command that shows it again.
    """
    machines = [find_target(name) for name in TARGETS]
    kernels = [
        morello.compile(SPEC, target=machine, threads=1)
        for machine in machines
        if not missing_features(machine.isa.cpu, features_text(machine.isa))
    ]
    for seed, kernel in itertools.product(seeds, kernels):
        label = f"python -m tests.soak exponentials --count 1 --seed {seed}"
        first = np.uint32(seed % BLOCKS)
        bits = np.arange(BLOCK, dtype=np.uint32) * np.uint32(BLOCKS) + first
        numbers = bits.view(np.float32)
        wrong = ~near(numbers, kernel(numbers.reshape(BLOCK >> 12, -1)).reshape(-1))
        assert not wrong.any(), (
            f"{label}  # {kernel.target.name}, {numbers[wrong][:4]!r}"
        )
    return BLOCK * len(kernels) * len(seeds)
