"""Images that are resized without aliasing, by products with weights of each axis."""

from collections.abc import Callable, Sequence
from typing import Any

import torch


def _linear(x: Any) -> Any:
    return (1 - x.abs()).clamp(min=0)


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


linear, cubic = _resized(_linear), _resized(_cubic)
