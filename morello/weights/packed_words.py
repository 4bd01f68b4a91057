"""Weights of GPTQ, AWQ and PyTorch: integers of 2 to 8 bits in words or bytes."""

import numpy as np

from morello.errors import ArgumentError
from morello.weights.scaled import Array, ScaledWeights, in_halves, unpacked

_WORD = 32
_AWQ_COLUMNS = (0, 4, 1, 5, 2, 6, 3, 7)
"""The place within a word of each of eight columns."""


def from_gptq(
    qweight: Array,
    qzeros: Array,
    scales: Array,
    g_idx: Array | None = None,
    *,
    bits: int = 4,
    zeros_less_one: bool = True,
) -> ScaledWeights:
    """The weights of a layer that GPTQ wrote, k x n.

    Args:
        qweight: int32, k·bits/32 x n: neighbours along k share a word, or two.
        qzeros: int32, k/group x n·bits/32.
        scales: floats, k/group x n.
        g_idx: the group of each of k rows; None where they are in order.
        bits: 2, 3, 4 or 8.
        zeros_less_one: whether a zero is stored less one, modulo 2^bits, as the first
            version of the format has it.

    Raises:
        ArgumentError: dtypes or shapes do not fit each other, or a group has no
            scales.
    """
    integers = _fields(qweight, "qweight", bits, 0)
    zeros = _fields(qzeros, "qzeros", bits, 1)
    _check(integers, zeros, scales, g_idx is None)
    if zeros_less_one:
        zeros = zeros + np.uint8(1) & np.uint8((1 << bits) - 1)
    order = None
    if g_idx is not None:
        order, times = _order(g_idx, len(integers), len(scales))
        zeros, scales = (np.repeat(part, times, 0) for part in (zeros, scales))
    return _weights(integers, zeros, scales, bits, order)


def from_awq(qweight: Array, qzeros: Array, scales: Array) -> ScaledWeights:
    """The weights of a layer that AWQ wrote, of 4 bits, k x n.

    Args:
        qweight: int32, k x n/8: eight columns share a word, even ones before odd ones.
        qzeros: int32, k/group x n/8, in the same way.
        scales: floats, k/group x n.

    Raises:
        ArgumentError: dtypes or shapes do not fit each other.
    """
    words, zeros = (
        _fields(array, name, 4, 1)
        .reshape(len(array), -1, 8)[..., _AWQ_COLUMNS]
        .reshape(len(array), -1)
        for array, name in ((qweight, "qweight"), (qzeros, "qzeros"))
    )
    _check(words, zeros, scales, True)
    return _weights(words, zeros, scales, 4, None)


def _weights(
    integers: Array, zeros: Array, scales: Array, bits: int, order: Array | None
) -> ScaledWeights:
    if order is not None:
        integers = integers[order]
    stored = np.ascontiguousarray(integers) if bits == 8 else in_halves(integers)
    return ScaledWeights(stored, scales, zeros, order=order, bits=max(bits, 4))


def _fields(array: Array, name: str, bits: int, axis: int) -> Array:
    """The integers that words along an axis are, u8, the first in the lowest bits."""
    if bits not in _BITS:
        raise ArgumentError(
            f"bits is {bits}", f"weights of {', '.join(map(str, _BITS))} bits are read"
        )
    if array.dtype != np.int32 or array.ndim != 2:
        raise ArgumentError(
            f"{name} has the dtype {array.dtype} and the shape {array.shape}",
            "it is a matrix of int32",
        )
    if array.shape[axis] * _WORD % bits:
        raise ArgumentError(
            f"{name} has the shape {_by(array.shape)}, whose words along axis {axis} "
            f"are no whole integers of {bits} bits",
            f"say how many bits they have, or give it a multiple of {bits} words",
        )
    rows = np.ascontiguousarray(np.moveaxis(array, axis, -1), "<i4").view(np.uint8)
    return np.moveaxis(unpacked(rows, bits), -1, axis)


_BITS = (2, 3, 4, 8)


def _check(integers: Array, zeros: Array, scales: Array, is_even: bool) -> None:
    """Check shapes.

    Args:
        is_even: each group has as many rows.
    """
    k, n = integers.shape
    fits = scales.ndim == 2 and len(scales) and k and k % 2 == 0
    fits = fits and not (is_even and k % len(scales))
    if not fits or zeros.shape != scales.shape or scales.shape[1] != n:
        raise ArgumentError(
            f"qweight has {k} x {n} integers, qzeros {_by(zeros.shape)}, and scales "
            f"are {_by(scales.shape)}",
            "give k x n, k/group x n and k/group x n",
        )


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "a number"


def _order(g_idx: Array, k: int, groups: int) -> tuple[Array | None, Array]:
    """The rows in the order of their groups, None if they are; and how many parts, all
    of one size, each group has."""
    if g_idx.shape != (k,):
        raise ArgumentError(f"g_idx has the shape {g_idx.shape}", f"give {k} numbers")
    if g_idx.min() < 0 or g_idx.max() >= groups:
        raise ArgumentError(
            f"g_idx has groups from {g_idx.min()} to {g_idx.max()}",
            f"scales have the groups 0 to {groups - 1}",
        )
    counts = np.bincount(g_idx, minlength=groups)
    order = np.argsort(g_idx, kind="stable")
    is_sorted = bool((order == np.arange(k)).all())
    return None if is_sorted else order, counts // np.gcd.reduce(counts)


def from_torch_int4(
    packed: Array, scales_and_zeros: Array, block: int = 64
) -> ScaledWeights:
    """The weights that PyTorch packs for products on CPUs, k x n, of 4 bits:
    ``scale * (integer - 8) + zero``.

    Args:
        packed: u8, n x k/2: blocks of columns, each k rows of bytes. A whole block has
            the second half of its columns in the high halves of bytes; a narrower one
            at the end has neighbours share a byte.
        scales_and_zeros: floats, k/group x n x 2.
        block: columns of a whole block: 64 where PyTorch uses AVX-512, 32 with AVX2.

    Raises:
        ArgumentError: dtypes or shapes do not fit each other.
    """
    of_groups = scales_and_zeros.shape
    if not _are_packed(packed, of_groups):
        raise ArgumentError(
            f"packed has the dtype {packed.dtype} and the shape {packed.shape}, "
            f"scales_and_zeros the shape {of_groups}",
            "give u8, n x k/2 of an even n, and k/group x n x 2",
        )
    n, k = packed.shape[0], 2 * packed.shape[1]
    integers = np.empty((k, n), np.uint8)
    for start in range(0, n, block):
        width = min(block, n - start)
        rows = packed[start : start + width].reshape(k, width // 2)
        axis = 1 if width == block else 2
        halves = np.stack((rows & 15, rows >> 4), axis=axis)
        integers[:, start : start + width] = halves.reshape(k, width)
    scales, zeros = np.moveaxis(scales_and_zeros, 2, 0)
    return ScaledWeights(
        in_halves(integers),
        np.ascontiguousarray(scales),
        8,
        np.ascontiguousarray(zeros),
        bits=4,
    )


def _are_packed(packed: Array, of_groups: tuple[int, ...]) -> bool:
    """Whether integers are packed as PyTorch does it, and groups are of these."""
    if packed.dtype != np.uint8 or packed.ndim != 2 or len(packed) % 2:
        return False
    n, half = packed.shape
    fits = of_groups[1:] == (n, 2) and of_groups[0] > 0
    return fits and 2 * half % of_groups[0] == 0
