"""Pools with a ceiling, of any power, or with indices, by rules of `expanded`.

A pool whose last window ends beyond the image is a pool of a padded image.
"""

import dataclasses
import math
from typing import Any

import numpy as np

from morello.frontends.nodes.tensors import Array
from morello.frontends.onnx_ops.expansion import (
    Arguments,
    Expansion,
    Results,
    Rules,
    UnknownError,
)


@dataclasses.dataclass(frozen=True)
class _Axis:
    """The windows along an axis."""

    size: int
    """The size of the image."""
    kernel: int
    stride: int
    dilation: int
    before: int
    after: int
    """Elements of padding at both ends."""
    count: int
    """The number of windows. Each begins in the image, or in the padding before it."""

    @property
    def beyond(self) -> int:
        """How far the last window goes beyond the image."""
        last = (self.count - 1) * self.stride - self.before
        return last + (self.kernel - 1) * self.dilation + 1 - self.size

    @property
    def high(self) -> int:
        """The padding after the image that windows have."""
        return max(self.beyond, 0)

    @property
    def padded(self) -> int:
        """The size of the padded image."""
        return self.before + self.size + self.high

    @property
    def padded_count(self) -> int:
        """How many windows a padded image has."""
        return (self.padded - 1 - (self.kernel - 1) * self.dilation) // self.stride + 1

    def seen(self, with_padding: bool) -> Array:
        """How many elements each window has."""
        starts = np.arange(self.count) * self.stride - self.before
        places = starts[:, None] + np.arange(self.kernel) * self.dilation
        low, high = (self.before, self.after) if with_padding else (0, 0)
        counts: Array = ((places >= -low) & (places < self.size + high)).sum(1)
        return counts


def _axes(to: Expansion, node: Arguments) -> list[_Axis]:
    """The windows along each axis of an image."""
    shape = to.shape(node.input(0))
    kernel = node.get("kernel_shape", [])
    rank = len(kernel)
    padding = node.get("auto_pad", b"NOTSET").decode()
    strides = node.get("strides", [1] * rank)
    dilations = node.get("dilations", [1] * rank)
    pads = node.get("pads", [0] * 2 * rank)
    has_ceiling = node.get("ceil_mode", 0)
    if len(shape) != rank + 2 or not rank:
        raise UnknownError
    axes = []
    for i in range(rank):
        size, stride = shape[i + 2], strides[i]
        reach = (kernel[i] - 1) * dilations[i] + 1
        before, after = pads[i], pads[i + rank]
        if padding.startswith("SAME"):
            count = -(-size // stride)
            around = max((count - 1) * stride + reach - size, 0)
            lesser = around // 2
            before = lesser if padding == "SAME_UPPER" else around - lesser
            after = around - before
        else:
            if padding == "VALID":
                before = after = 0
            free = size + before + after - reach
            count = (-(-free // stride) if has_ceiling else free // stride) + 1
            if (count - 1) * stride >= size + before:
                count -= 1  # it would begin in the padding after the image
        if count < 1:
            raise UnknownError
        windows = kernel[i], stride, dilations[i]
        axes.append(_Axis(size, *windows, before, after, count))
    return axes


def _padded(to: Expansion, x: str, axes: list[_Axis], border: float) -> str:
    """An image padded with one number as far as windows reach."""
    low = [axis.before for axis in axes]
    high = [axis.high for axis in axes]
    if not any(low) and not any(high):
        return x
    return to.op("Pad", x, to.numbers(0, 0, *low, 0, 0, *high), to.number(border))


def _options(axes: list[_Axis]) -> dict[str, Any]:
    """The attributes of a pool of an image that is padded."""
    options = {
        "kernel_shape": [axis.kernel for axis in axes],
        "strides": [axis.stride for axis in axes],
    }
    if any(axis.dilation > 1 for axis in axes):
        options["dilations"] = [axis.dilation for axis in axes]
    return options


def _pooled(to: Expansion, kind: str, x: str, axes: list[_Axis], border: float) -> str:
    """A pool of an image that is padded with one number."""
    return _cut(to, to.op(kind, _padded(to, x, axes, border), **_options(axes)), axes)


def _cut(to: Expansion, whole: str, axes: list[_Axis]) -> str:
    """A pool without the windows that are left over: those within long padding."""
    for i, axis in enumerate(axes):
        if axis.padded_count > axis.count:
            whole = to.cut(whole, 0, axis.count, axis=i + 2)
    return whole


def average_pool(to: Expansion, node: Arguments) -> Results:
    """Averages of a padded image, each by the number of elements that it is of."""
    with_padding = bool(node.get("count_include_pad", 0))
    axes = _axes(to, node)
    if not node.get("ceil_mode", 0):
        return None
    counts: Any = np.ones((1,) * (len(axes) + 2), np.float32)
    for i, axis in enumerate(axes):
        along = [1] * counts.ndim
        along[i + 2] = axis.count
        counts = counts * axis.seen(with_padding).reshape(along)
    whole = _pooled(to, "AveragePool", node.input(0), axes, 0.0)
    scale = math.prod(axis.kernel for axis in axes) / counts
    return [to.op("Mul", whole, to.constant(scale.astype(np.float32)))]


def max_pool(to: Expansion, node: Arguments) -> Results:
    """Maxima of a padded image; of bytes as f32, since torch-mlir takes unsigned ones
    for signed, and pads signed ones with 0. Indices count over the whole tensor;
    torch-mlir's count within a plane of what it pads."""
    x, is_by_column = node.input(0), node.get("storage_order", 0)
    shape, axes = to.shape(x), _axes(to, node)
    code = next((code for name, code in _BYTES.items() if to.has(x, name)), 0)
    has_bytes = code != 0
    if not (has_bytes or to.has(x, "FLOAT")):
        return None
    if has_bytes:
        x = to.op("Cast", x, to=_FLOAT)
    if not any(node.outputs[1:]):
        is_longer = any(axis.beyond > axis.after for axis in axes)
        if not (node.get("ceil_mode", 0) or is_longer or has_bytes):
            return None
        y = _pooled(to, "MaxPool", x, axes, -math.inf)
        return [to.op("Cast", y, to=code) if has_bytes else y]
    padded = _padded(to, x, axes, -math.inf)
    pooled = to.several("MaxPool", [padded], [True, True], **_options(axes))
    y, index = (_cut(to, result, axes) for result in pooled)
    total = to.constant(
        np.arange(shape[0] * shape[1]).reshape(*shape[:2], *[1] * len(axes))
        * math.prod(shape[2:])
    )
    for i, axis in enumerate(axes):
        step = math.prod(shape[2 : i + 2] if is_by_column else shape[i + 3 :])
        place = _place(to, index, axes, i)
        within = to.op("Max", place, to.numbers(0))  # of a window of -inf alone
        within = to.op("Min", within, to.numbers(axis.size - 1))
        total = to.op("Add", total, to.op("Mul", within, to.numbers(step)))
    return [to.op("Cast", y, to=code) if has_bytes else y, total]


_FLOAT = 1
_BYTES = {"UINT8": 2, "INT8": 3}
"""The numbers of types in ONNX."""


def _place(to: Expansion, index: str, axes: list[_Axis], number: int) -> str:
    """The place along an axis of an index into a plane of a padded image."""
    after = math.prod(axis.padded for axis in axes[number + 1 :])
    place = to.op("Div", index, to.numbers(after))
    place = to.op("Mod", place, to.numbers(axes[number].padded))
    return to.op("Sub", place, to.numbers(axes[number].before))


def lp_pool(to: Expansion, node: Arguments) -> Results:
    """The root of sums of powers."""
    x, p = node.input(0), node.get("p", 2)
    axes = _axes(to, node)
    powers = to.op("Mul", x, x) if p == 2 else to.op("Abs", x)
    if p > 2:
        powers = to.op("Pow", powers, to.number(p))
    mean = _pooled(to, "AveragePool", powers, axes, 0.0)
    total = to.op("Mul", mean, to.number(math.prod(axis.kernel for axis in axes)))
    if p == 1:
        return [total]
    root = to.op("Sqrt", total) if p == 2 else to.op("Pow", total, to.number(1 / p))
    return [root]


RULES: Rules = {"AveragePool": average_pool, "LpPool": lp_pool, "MaxPool": max_pool}
