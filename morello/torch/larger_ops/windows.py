"""Images of which windows are columns (`col2im`)."""

import math
from collections.abc import Sequence
from typing import Any

import torch


def folded(
    x: Any,
    sizes: Sequence[int],
    kernel: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Any:
    """Images of which windows are columns: each element is a sum of those at its
    place."""
    counts = [
        (sizes[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1
        for i in range(2)
    ]
    channels = x.shape[-2] // math.prod(kernel)
    x = x.reshape(*x.shape[:-2], channels, *kernel, *counts)
    for i in (1, 0):  # columns of windows, then rows: taps come before the places
        taps = x.unbind(-3)
        x = _spread(taps, i - 2, sizes[i], dilation[i], padding[i], stride[i])
    return x


def _spread(
    taps: Sequence[Any], axis: int, size: int, dilation: int, padding: int, stride: int
) -> Any:
    """The sum of tensors along an axis, where each lies with a stride, the next one a
    dilation further on."""
    count = -(-size // stride)
    phases = []
    for phase in range(stride):
        begins = [phase + padding - dilation * i for i in range(len(taps))]
        terms = [
            _shifted(tap, axis, begin // stride, count)
            for tap, begin in zip(taps, begins, strict=True)
            if not begin % stride
        ]
        shape = [*taps[0].shape]
        shape[axis] = count
        phases.append(sum(terms) if terms else taps[0].new_zeros(shape))
    wide = torch.stack(phases, taps[0].dim() + axis + 1)
    first = wide.dim() + axis - 1
    return wide.flatten(first, first + 1).narrow(axis, 0, size)


def _shifted(x: Any, axis: int, begin: int, count: int) -> Any:
    """``count`` elements from a place on, and zeros where there are none."""
    low = min(max(begin, 0), x.shape[axis])
    high = min(max(begin + count, low), x.shape[axis])
    around = [low - begin, begin + count - high] if high > low else [count, 0]
    edges = [0, 0] * (-axis - 1) + around
    return torch.constant_pad_nd(x.narrow(axis, low, high - low), edges)
