"""Words of GPTQ and AWQ, packed here as their definitions say, element by element."""

from typing import Any

import numpy as np
import pytest

from morello.errors import ArgumentError
from morello.weights import from_awq, from_gptq, from_torch_int4

Array = np.ndarray[Any, np.dtype[Any]]
K, N, GROUPS = 64, 32, 4
AWQ = (0, 2, 4, 6, 1, 3, 5, 7)
"""The column that each field of a word has."""


def words(integers: Array, axis: int, bits: int, order: Any = range(8)) -> Array:
    """Integers along an axis in words, the first of ``order`` in the lowest bits: one
    may be in two words."""
    moved = np.moveaxis(integers, axis, -1)
    rows = np.zeros((*moved.shape[:-1], moved.shape[-1] * bits // 32), np.int64)
    for place in range(moved.shape[-1]):
        start = place // 8 * 8
        value = moved[..., start + order[place - start]].astype(np.int64)
        for bit in range(bits):
            word, shift = divmod(place * bits + bit, 32)
            rows[..., word] |= (value >> bit & 1) << shift
    return np.moveaxis(rows, -1, axis).astype(np.uint32).view(np.int32)


def layer(bits: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(bits)
    integers = rng.integers(0, 1 << bits, (K, N))
    zeros = rng.integers(0, 1 << bits, (GROUPS, N))
    scales = 2.0 ** rng.integers(-3, 4, (GROUPS, N))
    return integers, zeros, scales.astype(np.float16)


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("less", [True, False])
def test_gptq(bits: int, less: bool) -> None:
    integers, zeros, scales = layer(bits)
    stored = (zeros - less) % (1 << bits)
    weights = from_gptq(
        words(integers, 0, bits),
        words(stored, 1, bits),
        scales,
        np.arange(K) // (K // GROUPS),
        bits=bits,
        zeros_less_one=less,
    )
    assert (weights.shape, weights.group, weights.order) == ((K, N), K // GROUPS, None)
    assert np.array_equal(weights.integers, integers)
    assert weights.stored.shape == (K * weights.bits // 8, N)
    groups = np.arange(K) // (K // GROUPS)
    wanted = scales.astype(np.float64)[groups] * (integers - zeros[groups])
    assert weights.values().dtype == np.float32
    assert np.array_equal(weights.values(), wanted)


@pytest.mark.parametrize("group", [16, 24])
def test_gptq_of_rows_in_another_order(group: int) -> None:
    """The last group may have fewer rows, and there may be none of some."""
    integers, zeros, scales = layer(4)
    groups = np.random.default_rng(1).permutation(np.arange(K) // group)
    packed = words(integers, 0, 4), words(zeros, 1, 4), scales
    weights = from_gptq(*packed, groups.astype(np.int32), zeros_less_one=False)
    wanted = scales.astype(np.float64)[groups] * (integers - zeros[groups])
    assert np.array_equal(weights.values(), wanted)
    assert weights.order is not None
    # The rows as they are stored go with activations that are taken in this order.
    assert isinstance(weights.zeros, np.ndarray)
    each = weights.group
    plain = weights.scales.astype(np.float64).repeat(each, 0) * (
        weights.integers.astype(np.float64) - weights.zeros.repeat(each, 0)
    )
    x = np.arange(2.0 * K).reshape(2, K)
    assert np.array_equal(x[:, weights.order] @ plain, x @ wanted)


@pytest.mark.quick
def test_awq() -> None:
    integers, zeros, scales = layer(4)
    packed = words(integers, 1, 4, AWQ), words(zeros, 1, 4, AWQ)
    weights = from_awq(*packed, scales)
    groups = np.arange(K) // (K // GROUPS)
    assert np.array_equal(weights.integers, integers)
    assert np.array_equal(weights.zeros, zeros)
    wanted = scales.astype(np.float64)[groups] * (integers - zeros[groups])
    assert np.array_equal(weights.values(), wanted)


@pytest.mark.quick
@pytest.mark.parametrize(("n", "block"), [(80, 64), (64, 64), (80, 32), (16, 32)])
def test_torch_int4(n: int, block: int) -> None:
    """Bytes written element by element."""
    rng = np.random.default_rng(n + block)
    integers = rng.integers(0, 16, (K, n))
    packed = np.zeros(n * K // 2, np.uint8)
    for column in range(n):
        start = column // block * block
        width, place = min(block, n - start), column - start
        half, byte = divmod(place, width // 2)
        if width < block:
            byte, half = divmod(place, 2)
        for row in range(K):
            at = start * K // 2 + row * (width // 2) + byte
            packed[at] |= integers[row, column] << 4 * half
    both = 2.0 ** rng.integers(-3, 4, (GROUPS, n, 2))
    weights = from_torch_int4(packed.reshape(n, K // 2), both.astype(np.float32), block)
    assert (weights.shape, weights.group) == ((K, n), K // GROUPS)
    assert np.array_equal(weights.integers, integers)
    scales, zeros = np.moveaxis(both.repeat(K // GROUPS, 0), 2, 0)
    assert np.array_equal(weights.values(), (integers - 8) * scales + zeros)


@pytest.mark.parametrize(
    ("packed", "both"),
    [
        (np.zeros((16, 32), np.int8), (2, 16, 2)),
        (np.zeros((15, 32), np.uint8), (2, 15, 2)),
        (np.zeros((16, 32), np.uint8), (2, 15, 2)),
        (np.zeros((16, 32), np.uint8), (3, 16, 2)),
        (np.zeros((16, 32), np.uint8), (0, 16, 2)),
        (np.zeros((16, 32), np.uint8), (16, 2)),
    ],
)
def test_what_torch_does_not_pack_so(packed: Array, both: tuple[int, ...]) -> None:
    with pytest.raises(ArgumentError, match="give u8, n x k/2 of an even n"):
        from_torch_int4(packed, np.zeros(both, np.float32))


def test_every_nibble_has_its_place() -> None:
    """The low half of a byte is of an even k."""
    for place in range(8):
        integers = np.zeros((8, 8), np.int64)
        integers[place] = range(8, 16)
        words_of_it = words(integers, 0, 4), words(np.zeros((1, 8)), 1, 4)
        weights = from_gptq(*words_of_it, np.ones((1, 8), np.float32))
        wanted = np.zeros((4, 8), np.uint8)
        wanted[place // 2] = integers[place] << 4 * (place % 2)
        assert np.array_equal(weights.stored, wanted)
        assert np.array_equal(weights.values(), integers - 1)


def test_what_does_not_fit_is_said() -> None:
    integers, zeros, scales = layer(4)
    packed = words(integers, 0, 4), words(zeros, 1, 4)
    for arguments, message in (
        (
            (packed[0].astype(np.int64), packed[1], scales),
            "qweight has the dtype int64",
        ),
        ((packed[0], packed[1][:3], scales), "64 x 32 integers, qzeros 3 x 32"),
        ((*packed, scales[:3]), "and scales are 3 x 32; give k x n"),
        ((*packed, scales, np.full(K, 4)), "g_idx has groups from 4 to 4"),
        ((*packed, scales, np.zeros(3, np.int32)), "g_idx has the shape (3,)"),
    ):
        with pytest.raises(ArgumentError) as error:
            from_gptq(*arguments)
        assert message in str(error.value)
    with pytest.raises(ArgumentError, match="bits is 5; weights of 2, 3, 4, 8 bits"):
        from_gptq(*packed, scales, bits=5)
    with pytest.raises(ArgumentError, match="8 x 32, whose words along axis 0 are no"):
        from_gptq(*packed, scales, bits=3)
