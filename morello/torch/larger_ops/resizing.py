"""Images that are resized, axis by axis: without aliasing by products with weights,
else by sums of the elements around each place."""

import contextlib
import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._C import DispatchKey

aten: Any = torch.ops.aten


def _cubic(x: Any) -> Any:
    x = x.abs()
    near = (1.5 * x - 2.5) * x * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return torch.where(x < 1, near, torch.where(x < 2, far, 0.0))


def _weights(size: int, count: int, step: float, kernel: Callable[..., Any]) -> Any:
    """The part that each of some elements has in each result, as a matrix.

    Args:
        step: between the centres of results, in elements.
        kernel: the part by the distance; it is widened to a step.
    """
    centres = (torch.arange(count, dtype=torch.float32) + 0.5) * step
    places = torch.arange(size, dtype=torch.float32).unsqueeze(1) + 0.5
    parts = kernel((places - centres) / max(step, 1.0))
    return parts / parts.sum(0)


def _resized(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A rule for resizing by a kernel."""

    def rule(x: Any, sizes: Sequence[int], aligns: bool, *scales: float | None) -> Any:
        x = x.float()
        for axis, count in enumerate(sizes):
            size, scale = x.shape[axis - 2], (*scales, None, None)[axis]
            step = size / count if scale is None else 1 / scale
            if aligns:
                step = (size - 1) / (count - 1) if count > 1 else 0.0
            weights = _weights(size, count, step, kernel)
            x = x @ weights if axis else weights.T @ x
        return x

    return rule


linear = _resized(lambda x: (1 - x.abs()).clamp(min=0))
cubic = _resized(_cubic)


def _step(size: int, count: int, aligns: bool, scale: float | None) -> float:
    """The distance between the centres of results, in elements."""
    if aligns:
        return (size - 1) / (count - 1) if count > 1 else 0.0
    return size / count if scale is None or scale <= 0 else 1 / scale


def _places(count: int, step: float, aligns: bool) -> Any:
    """The places of the centres of results among elements."""
    numbers = torch.arange(count, dtype=torch.float32)
    return numbers * step if aligns else (numbers + 0.5) * step - 0.5


Neighbours = tuple[Any, list[Any]]
"""The number of the first neighbour of each place, and the part that each has."""


def two(places: Any) -> Neighbours:
    """The two around each place, which is at least 0, by their distances."""
    places = places.clamp(min=0)
    apart = places - places.floor()
    return places.floor(), [1 - apart, apart]


def four(places: Any) -> Neighbours:
    """The four around each place, by cubic convolution with a slope of -3/4."""
    x = places - places.floor()
    return places.floor() - 1, [_far(x + 1), _near(x), _near(1 - x), _far(2 - x)]


def _near(x: Any) -> Any:
    return (1.25 * x - 2.25) * x * x + 1


def _far(x: Any) -> Any:
    return ((-0.75 * x + 3.75) * x - 6) * x + 3


def between(
    neighbours: Callable[[Any], Neighbours], otherwise: Callable[..., Any]
) -> Callable[..., Any]:
    """A rule for resizing by the neighbours of each place.

    Args:
        neighbours: those of some places.
        otherwise: the rule for images of integers.
    """

    def along(x: Any, axis: int, places: Any) -> Any:
        first, parts = neighbours(places)
        first, most = first.to(torch.int64), x.shape[axis] - 1
        shape = [-1, *[1] * (x.dim() - 1 - axis)]
        terms = [
            x.index_select(axis, (first + offset).clamp(0, most)) * part.reshape(shape)
            for offset, part in enumerate(parts)
        ]
        return functools.reduce(operator.add, terms)

    def rule(x: Any, sizes: Sequence[int], aligns: bool, *scales: float | None) -> Any:
        if not x.is_floating_point():
            return otherwise(x, sizes, aligns, *scales)
        wide = x if x.dtype is torch.float64 else x.float()
        # The last axis is the dearest: it is taken where there are fewest elements.
        for n in sorted(range(len(sizes)), key=lambda n: _turn(n, x, sizes)):
            scale = scales[n] if scales else None
            step = _step(x.shape[2 + n], sizes[n], aligns, scale)
            wide = along(wide, 2 + n, _places(sizes[n], step, aligns))
        return wide.to(x.dtype)

    return rule


def _turn(n: int, x: Any, sizes: Sequence[int]) -> tuple[bool, int]:
    """Axes that shrink come first."""
    grows = sizes[n] > x.shape[2 + n]
    return grows, -n if grows else n


def by_factors(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A rule for sizes, or for factors of the sizes that an image has."""

    def vec(
        x: Any,
        sizes: Sequence[int] | None,
        aligns: bool,
        factors: Sequence[float] | None = None,
    ) -> Any:
        if factors is None:
            return rule(x, sizes, aligns)
        pairs = zip(x.shape[2:], factors, strict=True)
        return rule(x, [int(size * factor) for size, factor in pairs], aligns, *factors)

    return vec


NEIGHBOURS = {
    aten.upsample_bicubic2d: four,
    aten.upsample_bilinear2d: two,
    aten.upsample_linear1d: two,
    aten.upsample_trilinear3d: two,
}
"""The neighbours that resized images are sums of, by the op."""

_DECOMPOSED = (DispatchKey.Autograd, DispatchKey.CompositeImplicitAutograd)


@contextlib.contextmanager
def whole() -> Iterator[None]:
    """While it lasts, traces have these ops whole: PyTorch has lookups of pixels in
    their place, of each neighbour's at once."""
    ops = [o for op in NEIGHBOURS for o in (op.default, op.vec)]
    before = [dict(op.py_kernels) for op in ops]
    for op in ops:
        for key in _DECOMPOSED:
            op.py_kernels.pop(key, None)
        op._dispatch_cache.clear()
    try:
        yield
    finally:
        for op, kernels in zip(ops, before, strict=True):
            op.py_kernels.update(kernels)
            op._dispatch_cache.clear()
