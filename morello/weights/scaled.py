"""Narrow integers with scales, in one form for every format of files."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, Literal

import ml_dtypes
import numpy as np

from morello.errors import ArgumentError, SpecError
from morello.spec.elements.dtypes import Dtype

Array = np.ndarray[Any, np.dtype[Any]]


_FLOATS = tuple(map(np.dtype, (np.float32, np.float16, ml_dtypes.bfloat16)))
_BYTES = tuple(map(np.dtype, (np.uint8, np.int8)))
"""The dtypes of parts."""


@dataclasses.dataclass(frozen=True)
class ScaledWeights:
    """A matrix of weights, k x n: ``scales * (integers - zeros) + offsets``.

    ``integers[i, j]`` has the scale, the zero and the offset ``[i // group, j]``.
    Scales that are multiples of numbers of larger blocks are these and the multiples,
    and so are offsets. The arrays may have further dimensions before these two, the
    same for all.
    """

    stored: Array
    """The integers: s8 or u8, k x n; of 4 bits u8, k/2 x n, where the low half of a
    byte is of an even k, and the high half of the next."""
    scales: Array
    """f16, bf16 or f32, k/group x n, or k/block x n where there are multiples."""
    zeros: Array | float = 0
    """Numbers that stand for 0: one for all, or u8 or s8, k/group x n; 1 x n, one for
    each column."""
    offsets: Array | None = None
    """Numbers that are added, with dtypes and shapes as scales have them; None for
    nothing."""
    multiples: Array | None = None
    """Factors of the scales of blocks, u8 or s8, k/group x n; None where groups have
    scales of their own."""
    offset_multiples: Array | None = None
    """Factors of the offsets of blocks, likewise."""
    order: Array | None = None
    """The row of the weights that each row of ``stored`` is, k integers; None if they
    are in order. Activations are taken so: ``x[:, order]``."""
    bits: int = 8
    """Bits of an integer: 4 or 8."""

    def __post_init__(self) -> None:
        """Take a zero of NumPy as a number, and check that the parts fit the integers.

        Raises:
            ArgumentError: one has not as many columns, rows that do not divide k, or
                another dtype.
        """
        if np.ndim(self.zeros) == 0:
            object.__setattr__(self, "zeros", np.asarray(self.zeros).item())
        *before, k, n = self.shape
        for name in ("scales", "zeros", "offsets", "multiples", "offset_multiples"):
            part = getattr(self, name)
            if part is None or np.ndim(part) == 0:
                continue
            known = _FLOATS if name in ("scales", "offsets") else _BYTES
            if part.dtype not in known:
                raise ArgumentError(
                    f"{name} has the dtype {part.dtype}",
                    f"give it in {' or '.join(dtype.name for dtype in known)}",
                )
            *others, rows, columns = part.shape if part.ndim > 1 else (0, 0)
            if (others, columns) != (before, n) or not rows or k % rows:
                raise ArgumentError(
                    f"{name} has the shape {part.shape}, beside integers of the shape "
                    f"{self.shape}",
                    f"give it {n} columns, and a number of rows that divides {k}",
                )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the weights, k and n last."""
        *before, rows, columns = self.stored.shape
        return (*before, rows * 8 // self.bits, columns)

    @property
    def group(self) -> int:
        """Integers along k that share a scale."""
        of_groups = self.scales if self.multiples is None else self.multiples
        return self.shape[-2] // int(of_groups.shape[-2])

    @property
    def integers(self) -> Array:
        """One integer an element, u8 or s8, k x n, in the order of ``stored``."""
        if self.bits == 8:
            return self.stored
        halves = np.stack((self.stored & 15, self.stored >> 4), axis=-2)
        return halves.reshape(self.shape)

    def values(self) -> Array:
        """The weights, f32, k x n: each step is rounded to f32."""
        wide = self.integers.astype(np.float32)
        if isinstance(self.zeros, (int, float)):
            wide -= np.float32(self.zeros)
        else:
            wide -= self._along(self.zeros)
        wide *= self._along(_multiplied(self.scales, self.multiples))
        if self.offsets is not None:
            wide += self._along(_multiplied(self.offsets, self.offset_multiples))
        if self.order is None:
            return wide
        weights = np.empty_like(wide)
        weights[..., self.order, :] = wide
        return weights

    def spec(self, rows: int, activations: Literal["f32", "s8"] = "f32") -> str:
        """The Spec of ``x @ weights`` in f32, of ``rows`` rows of x.

        A kernel of it takes x and `arguments`; of ``activations="s8"`` the two arrays
        of `in_bytes` with the `group` of the weights instead of x. Rows of x in another
        order (`order`) are the caller's.

        Raises:
            SpecError: there are more dimensions than k and n.
        """
        if len(self.shape) > _MATRIX:
            raise SpecError(
                f"weights of the shape {self.shape} are no matrix",
                "take one of them: a ScaledWeights of a part of each array",
            )
        k, n = self.shape
        number = "q[k/2,n]" if self.bits < _BYTE else "q[k,n]"
        if not isinstance(self.zeros, (int, float)):
            number = f"({number}-{self._read('z', self.zeros)})"
        elif self.zeros:
            number = f"({number}-{self.zeros})"
        weight = f"{self._read('s', self.scales, self.multiples)}*{number}"
        if self.offsets is not None:
            weight += f"+{self._read('o', self.offsets, self.offset_multiples)}"
        dtypes = [_dtype(array) for array in self.arguments]
        narrow = ",".join(dtypes)
        if activations == "s8":
            graph = f"y[m,n]=sum(d[m,k//{self.group}]*a[m,k]*({weight}))"
            return f"compose:{rows}x{n}x{k}:f32,s8,{narrow},f32:graph={graph}"
        if rows == 1:
            graph = f"y[m,n]=sum(a[m,k]*({weight}))"
            return f"compose:1x{n}x{k}:f32,{narrow},f32:graph={graph}"
        # A value of its own may be kept for the rows that read it again.
        graph = f"w[k,n]={weight};y[m,n]=sum(a[m,k]*w)"
        return f"compose:{k}x{n}x{rows}:f32,{narrow},f32:graph={graph}"

    @property
    def arguments(self) -> tuple[Array, ...]:
        """The arrays that a kernel of `spec` takes after x."""
        zeros = None if isinstance(self.zeros, (int, float)) else self.zeros
        before = (self.scales, self.multiples, self.stored, zeros)
        every = (*before, self.offsets, self.offset_multiples)
        return tuple(array for array in every if array is not None)

    def _along(self, part: Array) -> Array:
        """A part of groups, in f32, for each element."""
        each = self.shape[-2] // int(part.shape[-2])
        return np.repeat(part.astype(np.float32), each, axis=-2)

    def _read(self, name: str, part: Array, multiples: Array | None = None) -> str:
        """The text that reads a part of a group, or its block's times its multiple."""
        scale = f"{name}[k//{self.shape[-2] // int(part.shape[-2])},n]"
        if multiples is None:
            return scale
        return f"{scale}*{self._read(2 * name, multiples)}"


def _multiplied(part: Array, multiples: Array | None) -> Array:
    """Scales of groups, rounded to f32 once."""
    if multiples is None:
        return part
    times = int(multiples.shape[-2]) // int(part.shape[-2])
    wide = np.repeat(part.astype(np.float32), times, axis=-2)
    product: Array = wide * multiples.astype(np.float32)
    return product


_MATRIX, _BYTE = 2, 8


def _dtype(array: Array) -> str:
    return str(next(dtype for dtype in Dtype if dtype.numpy == array.dtype))


def in_bytes(x: Array, group: int) -> tuple[Array, Array]:
    """Activations as bytes with a scale for each group: what `ScaledWeights.spec` calls
    ``s8``.

    The scale of a group is its largest magnitude over 127, in f32; a byte is the
    nearest integer (of two the even one) to the number over the scale. A group of zeros
    has the scale 0, and so has one whose scale is too small for f32: its bytes are 0.
    A group with an infinity or NaN has the scale NaN, and bytes of 0.

    Args:
        x: f32, rows x k.
        group: numbers along k that share a scale; k is a multiple.

    Returns:
        The scales, f32, rows x k/group, and the bytes, s8, rows x k.

    Raises:
        SpecError: k is no multiple of ``group``.
    """
    rows, k = x.shape
    if k % group:
        raise SpecError(
            f"x has {k} columns, no multiple of {group}",
            "add columns of zeros to it, and rows to the weights",
        )
    groups = np.ascontiguousarray(x, np.float32).reshape(-1, group)
    scales = np.empty(len(groups), np.float32)
    numbers = np.empty(groups.shape, np.int8)
    if len(groups):
        _to_bytes(*groups.shape)(groups, scales, numbers)
    return scales.reshape(rows, k // group), numbers.reshape(rows, k)


@functools.lru_cache(maxsize=256)
def _to_bytes(groups: int, group: int) -> Callable[..., Any]:
    """The kernel of `bytes_spec`, searched for once."""
    from morello.compiler.compile import compile

    return compile(bytes_spec(groups, group), threads=1, time_limit=_SECONDS)


_SECONDS = 5.0


def bytes_spec(groups: int, group: int) -> str:
    """The Spec of `in_bytes` of so many groups, all numbers of one in a row: its kernel
    takes x, groups x group, and gives the scales and the bytes."""
    # A scale of 0 is a divisor of NaN, of which bytes are 0. An infinity less itself is
    # NaN.
    graph = (
        "m[b]=max(abs(x[b,k]));out d[b]=m/127+(m-m);e[b]=d/(1-equal(d,0));"
        "y[b,k]=round_s8(x/e)"
    )
    return f"compose:{groups}x{group}:f32,f32,s8:graph={graph}"


def in_halves(integers: Array) -> Array:
    """Integers of 4 bits, k x n, as `ScaledWeights.stored` has them: k is even."""
    packed = integers[..., ::2, :] | integers[..., 1::2, :] << 4
    return np.ascontiguousarray(packed, np.uint8)


def unpacked(rows: Array, bits: int) -> Array:
    """Integers of some bits in rows of bytes, u8, the first in the lowest bits."""
    stream = np.unpackbits(rows, axis=-1, bitorder="little")
    count = stream.shape[-1] // bits
    fields = stream[..., : count * bits].reshape(*rows.shape[:-1], count, bits)
    return np.packbits(fields, axis=-1, bitorder="little")[..., 0]
