"""Products with weights of files, as kernels."""

from typing import Any

import numpy as np
import pytest

import morello
from morello.errors import SpecError
from morello.weights import ScaledWeights
from morello.weights.scaled import in_halves

Array = np.ndarray[Any, np.dtype[Any]]
K, N, GROUP = 64, 33, 32


def parts() -> dict[str, ScaledWeights]:
    """Every combination of parts that a format has, of small whole numbers."""
    rng = np.random.default_rng(2)
    nibbles = rng.integers(0, 16, (K, N), np.uint8)
    scales = (2.0 ** rng.integers(-2, 3, (K // GROUP, N))).astype(np.float16)
    wide = scales.astype(np.float32)
    zeros = rng.integers(0, 16, scales.shape, np.uint8)
    offsets = rng.integers(-8, 8, scales.shape).astype(np.float32)
    halves = in_halves(nibbles)
    signed = nibbles.astype(np.int8) - np.int8(8)
    return {
        "a zero": ScaledWeights(halves, scales, 8, bits=4),
        "zeros": ScaledWeights(halves, scales, zeros, bits=4),
        "offsets": ScaledWeights(halves, wide, offsets=offsets, bits=4),
        "bytes": ScaledWeights(signed, wide),
        "bytes with zeros": ScaledWeights(nibbles, scales, zeros),
    }


@pytest.mark.parametrize("name", parts())
def test_a_kernel_multiplies_by_the_values(name: str) -> None:
    weights = parts()[name]
    assert all(array.flags.c_contiguous for array in weights.arguments)
    kernel = morello.compile(weights.spec(2), threads=1, target="avx2", time_limit=1)
    x = np.random.default_rng(3).integers(-4, 5, (2, K)).astype(np.float32)
    wanted = x.astype(np.float64) @ weights.values().astype(np.float64)
    assert np.array_equal(kernel(x, *weights.arguments), wanted)


def test_weights_of_more_dimensions_are_no_spec() -> None:
    weights = ScaledWeights(np.zeros((3, 8, 4), np.int8), np.ones((3, 1, 4), "f4"))
    assert weights.values().shape == (3, 8, 4)
    with pytest.raises(SpecError, match=r"shape \(3, 8, 4\) are no matrix"):
        weights.spec(1)
