"""Pools over windows that differ in size, and over windows of three axes."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

Reduction = Callable[[Any, int], Any]
"""Reduces a tensor along an axis."""


def means(x: Any, sizes: Sequence[int]) -> Any:
    """Means of windows that differ in size, along one axis after the other."""
    shape = x.shape[-len(sizes) :]
    if len(sizes) == 2 and not any(a % b for a, b in zip(shape, sizes, strict=True)):
        return NotImplemented
    return _reduced(x, sizes, lambda window, axis: window.mean(axis))


def greatest(x: Any, sizes: Sequence[int]) -> tuple[Any, Any]:
    """The greatest elements of windows that differ in size; places are not read."""
    result = _reduced(x, sizes, lambda window, axis: window.amax(axis))
    return result, result


def _reduced(x: Any, sizes: Sequence[int], reduced: Reduction) -> Any:
    for axis, count in enumerate(sizes, x.dim() - len(sizes)):
        x = _windows(x, axis, count, reduced)
    return x


def _windows(x: Any, axis: int, count: int, reduced: Reduction) -> Any:
    """A number of windows along an axis, whose sizes repeat in equal rounds."""
    length = x.shape[axis]
    rounds = math.gcd(length, count)
    rows = x.unflatten(axis, (rounds, length // rounds))
    results = []
    for i in range(count // rounds):
        begin, end = i * length // count, -(-(i + 1) * length // count)
        results.append(reduced(rows.narrow(axis + 1, begin, end - begin), axis + 1))
    return torch.stack(results, axis + 1).flatten(axis, axis + 1)


def greatest_in_space(
    x: Any,
    sizes: Sequence[int],
    strides: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    has_ceiling: bool = False,
) -> tuple[Any, Any]:
    """The greatest elements of windows of three axes: of the last two, then of the
    first; their places are not read."""
    options = (sizes, strides or sizes, padding, dilation)
    deep, *flat = zip(*(_three(value) for value in options), strict=True)

    def pooled(image: Any, windows: Sequence[Sequence[int]]) -> Any:
        arguments = [list(of_axes) for of_axes in zip(*windows, strict=True)]
        return torch.max_pool2d(image, *arguments, has_ceiling)

    *batch, depth, height, width = x.shape
    x = pooled(x.reshape(-1, depth, height, width), flat)
    height, width = x.shape[-2:]
    x = pooled(x.reshape(-1, 1, depth, height * width), (deep, (1, 1, 0, 1)))
    result = x.reshape(*batch, -1, height, width)
    return result, result


def _three(value: Sequence[int]) -> Sequence[int]:
    return value if len(value) == 3 else [*value] * 3
