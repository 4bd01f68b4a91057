"""Products with weights of files, as kernels."""

from typing import Any

import numpy as np
import pytest

import morello
from morello.errors import ArgumentError, SpecError
from morello.weights import ScaledWeights, bytes_spec, in_bytes
from morello.weights.scaled import in_halves
from tests.guarded import check_canaries, guarded_array

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
        "a half for zero": ScaledWeights(halves, scales, np.float32(7.5), bits=4),
        "zeros": ScaledWeights(halves, scales, zeros, bits=4),
        "zeros of columns": ScaledWeights(halves, scales, zeros[:1], bits=4),
        "zeros of groups": ScaledWeights(halves, scales[:1], zeros, bits=4),
        "offsets": ScaledWeights(halves, wide, offsets=offsets, bits=4),
        "multiples": ScaledWeights(
            halves,
            scales[:1],
            offsets=offsets[1:].astype(np.float16),
            multiples=zeros,
            offset_multiples=zeros[::-1].copy(),
            bits=4,
        ),
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


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["a zero", "zeros", "offsets", "multiples"])
def test_a_kernel_of_bytes_multiplies_by_the_values(name: str) -> None:
    """Each group of x has 127 in it, so that its scale is 1."""
    weights = parts()[name]
    x = np.random.default_rng(4).integers(-127, 128, (2, K)).astype(np.float32)
    x[:, ::GROUP] = 127
    opened = "".join(f":x{2 + i}=any" for i in range(len(weights.arguments)))
    text = weights.spec(2, "s8") + opened
    kernel = morello.compile(text, threads=1, target="avx2", time_limit=30)
    assert "scaled_bytes" in kernel.schedule
    scales, integers = in_bytes(x, GROUP)
    assert (scales == 1).all()
    assert (integers == x).all()
    arrays = (scales, integers, *weights.arguments)
    physical = [kernel.spec.to_physical(i, array) for i, array in enumerate(arrays)]
    wanted = x.astype(np.float64) @ weights.values().astype(np.float64)
    assert np.array_equal(kernel(*physical), wanted)


@pytest.mark.parametrize(
    ("numbers", "scale", "integers"),
    [
        ([254.0, -254.0, 3.0, 5.0], 2.0, [127, -127, 2, 2]),
        ([0.0, -0.0, 0.0, 0.0], 0.0, [0, 0, 0, 0]),
        ([1e-45, 0.0, 0.0, 0.0], 0.0, [0, 0, 0, 0]),
        ([np.inf, 1.0, 0.0, 0.0], np.nan, [0, 0, 0, 0]),
        ([1.0, -np.inf, np.nan, 0.0], np.nan, [0, 0, 0, 0]),
        ([1.0, np.nan, 0.0, 0.0], np.nan, [0, 0, 0, 0]),
        (
            [3e38, -3e38, 0.0, 1e38],
            np.float32(3e38) / np.float32(127),
            [127, -127, 0, 42],
        ),
    ],
)
def test_bytes_of_groups(
    numbers: list[float], scale: float, integers: list[int]
) -> None:
    scales, stored = in_bytes(np.array([[1.0] * 4 + numbers], np.float32), 4)
    np.testing.assert_array_equal(scales, np.array([[1 / 127, scale]], np.float32))
    np.testing.assert_array_equal(stored, [[127] * 4 + integers])


@pytest.mark.sampled(5)
@pytest.mark.parametrize("target", ["avx2", "avx512"])
@pytest.mark.parametrize("sizes", [(3, 37), (5, 16), (64, 32), (1, 200), (9, 1)])
def test_a_kernel_gives_scales_and_bytes(target: str, sizes: tuple[int, int]) -> None:
    """Ties, zeros, numbers without a scale, and those that are no numbers."""
    rng = np.random.default_rng(sum(sizes))
    x = rng.integers(-254, 255, sizes).astype(np.float32) / 2
    x[:, 0] = rng.choice([127, -127, 1e-45, np.inf, np.nan, 3e38], sizes[0])
    x[rng.random(sizes[0]) < 0.2] = 0
    most = np.abs(x).max(axis=1, keepdims=True)
    scales = np.where(np.isfinite(most), most / np.float32(127), np.float32(np.nan))
    with np.errstate(all="ignore"):
        numbers = np.where(scales > 0, np.rint(x / scales), 0).astype(np.int8)
    kernel = morello.compile(bytes_spec(*sizes), threads=1, target=target)
    for side in ("end", "start"):
        guarded = guarded_array(x, side)
        out = [
            guarded_array(np.zeros(sizes[0], np.float32), side),
            guarded_array(np.full(sizes, 99, np.int8), side),
        ]
        kernel(guarded, *out)
        for array in out:
            check_canaries(array)
        np.testing.assert_array_equal(out[0], scales[:, 0])
        np.testing.assert_array_equal(out[1], numbers)


def test_bytes_are_rounded_to_by_name() -> None:
    with pytest.raises(SpecError, match=r"no dtype s8.* round_s8 of something"):
        morello.compile("compose:4:f32,s8:graph=y[n]=abs(x[n])", threads=1)
    with pytest.raises(SpecError, match="no dtype s8"):
        morello.compile("compose:4x5:f32,s8:graph=y[n]=sum(x[n,k])", threads=1)


def test_groups_of_bytes_are_whole() -> None:
    with pytest.raises(SpecError, match="33 columns, no multiple of 32"):
        in_bytes(np.zeros((1, 33), np.float32), 32)


def test_a_zero_of_numpy_is_a_number() -> None:
    stored, scales = np.zeros((8, 4), np.uint8), np.ones((1, 4), np.float16)
    for zero in (np.int64(8), np.array(8, np.uint8), 8):
        weights = ScaledWeights(stored, scales, zero, bits=4)
        assert weights.spec(1) == ScaledWeights(stored, scales, 8, bits=4).spec(1)
        assert (weights.values() == -8).all()


@pytest.mark.parametrize(
    "parts",
    [
        {"scales": np.ones((3, 4), np.float16)},
        {"scales": np.ones((2, 5), np.float16)},
        {"scales": np.ones(4, np.float16)},
        {"scales": np.ones((0, 4), np.float16)},
        {"zeros": np.ones((5, 4), np.uint8)},
        {"offsets": np.ones((1, 2, 4), np.float16)},
    ],
)
def test_parts_fit_the_integers(parts: dict[str, Any]) -> None:
    whole = {"stored": np.zeros((8, 4), np.uint8), "scales": np.ones((1, 4), "f2")}
    with pytest.raises(ArgumentError, match=r"4 columns, .* that divides 16"):
        ScaledWeights(**{**whole, **parts}, bits=4)


def test_parts_have_dtypes_that_kernels_read() -> None:
    for scales, message in (
        (np.ones((1, 4)), "scales has the dtype float64; give it in float32 or"),
        (np.ones((1, 4), np.uint8), "scales has the dtype uint8"),
    ):
        with pytest.raises(ArgumentError, match=message):
            ScaledWeights(np.zeros((8, 4), np.uint8), scales, bits=4)


def test_weights_of_more_dimensions_are_no_spec() -> None:
    weights = ScaledWeights(np.zeros((3, 8, 4), np.int8), np.ones((3, 1, 4), "f4"))
    assert weights.values().shape == (3, 8, 4)
    with pytest.raises(SpecError, match=r"shape \(3, 8, 4\) are no matrix"):
        weights.spec(1)
