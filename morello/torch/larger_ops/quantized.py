"""Ops on integers that have scales and zero points, in f32."""

from typing import Any

import torch


def scaled_product(x: Any, weights: Any, scales: Any) -> Any:
    """A product with rows of integers that have a scale each, rounded once."""
    wide = torch.mm(x.float(), weights.float().t())
    return (wide * scales.float()).to(x.dtype)


def integer_product(x: Any, weights: Any) -> Any:
    """A product of bytes in s32."""
    return torch.mm(x.to(torch.int32), weights.to(torch.int32))


def _of_channels(value: Any, x: Any, axis: int) -> Any:
    """Scales or zero points of the places along an axis of a tensor, in f32."""
    shape = [1] * x.dim()
    shape[axis] = -1
    return value.float().reshape(shape)


def quantized(
    x: Any, scale: Any, zero: Any, least: int, most: int, dtype: torch.dtype
) -> Any:
    """The nearest integers to numbers over their scale, from a zero point on."""
    return torch.clamp(torch.round(x.float() * (1.0 / scale)) + zero, least, most).to(
        dtype
    )


def quantized_channels(x: Any, scales: Any, zeros: Any, axis: int, *limits: Any) -> Any:
    """`quantized`, by a scale and a zero point for each place along an axis."""
    scales, zeros = (_of_channels(value, x, axis) for value in (scales, zeros))
    return quantized(x, scales, zeros, *limits)


def dequantized(
    x: Any, scale: Any, zero: Any, *limits: Any, out_dtype: torch.dtype | None = None
) -> Any:
    """Integers less their zero point, times their scale: exact but for the product."""
    del limits  # of the integers, which they are within
    return ((x.float() - zero) * scale).to(out_dtype or torch.float32)


def dequantized_channels(
    x: Any, scales: Any, zeros: Any, axis: int, *limits: Any, **options: Any
) -> Any:
    """`dequantized`, by a scale and a zero point for each place along an axis."""
    zeros = 0 if zeros is None else _of_channels(zeros, x, axis)
    return dequantized(x, _of_channels(scales, x, axis), zeros, *limits, **options)
