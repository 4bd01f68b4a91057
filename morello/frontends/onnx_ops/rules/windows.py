"""Ops of ONNX whose windows or places torch-mlir lacks, by rules of `expanded`.

Each is written in ops that it has: known places are slices and repetitions.
"""

import math
from typing import Any

import numpy as np

from morello.frontends.onnx_ops.expansion import Arguments, Expansion, Results
from morello.frontends.onnx_ops.rules.places import check_within

_MOST_FACTORS = 16
"""Factors of a product along an axis."""


def picked(to: Expansion, node: Arguments) -> Results:
    """Elements at constant places along an axis.

    Raises:
        CompileError: a place is outside.
    """
    x, places = node.input(0), to.known(node.input(1))
    shape = to.shape(x)
    if len(shape) != places.ndim:
        return None
    axis = node.get("axis", 0) % len(shape)
    check_within(node, places, shape[axis])
    wrapped: Any = np.where(places < 0, places + shape[axis], places)
    grid = np.indices(places.shape)
    first = np.moveaxis(wrapped, axis, 0).reshape(places.shape[axis], -1)
    others = [i for i in range(len(shape)) if i != axis]
    if (first == first[:, :1]).all() and all(
        shape[i] == places.shape[i] for i in others
    ):
        return [to.op("Gather", x, to.constant(first[:, 0].copy()), axis=axis)]
    grid[axis] = wrapped
    flat = np.ravel_multi_index(tuple(grid), shape).reshape(-1)
    elements = to.op("Gather", to.reshape(x, -1), to.constant(flat), axis=0)
    return [to.reshape(elements, *places.shape)]


def places(node: Arguments, size: int, new: int, scale: float) -> Any:
    """The nearest place of each new one; None for rules that are not known."""
    place = _coordinates(node, size, new, scale)
    if place is None:
        return None
    match node.get("nearest_mode", b"round_prefer_floor"):
        case b"round_prefer_floor":
            nearest = np.ceil(place - 0.5)
        case b"round_prefer_ceil":
            nearest = np.floor(place + 0.5)
        case b"floor":
            nearest = np.floor(place)
        case b"ceil":
            nearest = np.ceil(place)
        case b"simple":  # of version 10, in f32 as onnxruntime has it
            place = np.arange(new, dtype=np.float32) / np.float32(scale)
            nearest = np.ceil(place) if scale < 1 else np.floor(place)
        case _:
            return None
    return np.clip(nearest, 0, size - 1).astype(np.int64)


def _coordinates(node: Arguments, size: int, new: int, scale: float) -> Any:
    """The place of each new element among the old ones, as fractions; None for rules
    that are not known."""
    i = np.arange(new, dtype=np.float64)
    match node.get("coordinate_transformation_mode", b"half_pixel"):
        case b"half_pixel":
            return (i + 0.5) / scale - 0.5
        case b"pytorch_half_pixel":
            return (i + 0.5) / scale - 0.5 if new > 1 else 0 * i
        case b"tf_half_pixel_for_nn":
            return (i + 0.5) / scale
        case b"asymmetric":
            return i / scale
        case b"align_corners":
            return i * (size - 1) / (new - 1) if new > 1 else 0 * i
    return None


def rows(to: Expansion, x: str, places: Any, axis: int, now: list[int]) -> str:
    """Rows that are picked along an axis: each several times, every so many, or any."""
    size = now[axis]
    times = len(places) // size
    if np.array_equal(places, np.repeat(np.arange(size), times)):
        before, after = now[: axis + 1], now[axis + 1 :]
        wide = to.op("Unsqueeze", x, to.numbers(axis + 1))
        wide = to.op("Expand", wide, to.numbers(*before, times, *after))
        return to.reshape(wide, *now[:axis], size * times, *after)
    step = int(places[1] - places[0]) if len(places) > 1 else 1
    first, last = int(places[0]), int(places[-1])
    if step > 0 and np.array_equal(places, np.arange(first, last + 1, step)):
        return to.cut(x, first, last + 1, step, axis)
    return to.op("Gather", x, to.constant(places), axis=axis)


def normalised(to: Expansion, node: Arguments) -> Results:
    """Mean-variance normalization: (x - mean) / (standard deviation + 1e-9)."""
    x, axes = node.input(0), node.get("axes", [0, 2, 3])
    centred = to.op("Sub", x, to.mean(x, axes))
    deviation = to.op("Sqrt", to.mean(to.op("Mul", centred, centred), axes))
    return [to.op("Div", centred, to.op("Add", deviation, to.number(1e-9)))]


def product_along(to: Expansion, node: Arguments) -> Results:
    """A product of few elements, one after the other."""
    x = node.input(0)
    node.get("keepdims", 1)  # which the shape of the result has in it
    shape, y_shape = to.shape(x), to.shape(node.output(0))
    axes = to.array(node.input(1)) if node.input(1) else node.get("axes", None)
    is_noop = node.get("noop_with_empty_axes", 0)
    if axes is not None and not len(axes):
        if is_noop:
            return [to.op("Identity", x)]
        axes = range(len(shape))
    if axes is None and (node.input(1) or is_noop):
        return None
    every = range(len(shape)) if axes is None else [int(a) % len(shape) for a in axes]
    if math.prod(shape[a] for a in every) > _MOST_FACTORS:
        return None
    for axis in every:
        parts = [to.cut(x, i, i + 1, axis=axis) for i in range(shape[axis])]
        x = parts[0]
        for part in parts[1:]:
            x = to.op("Mul", x, part)
    return [to.reshape(x, *y_shape)]


def depth_to_space(to: Expansion, node: Arguments) -> Results:
    """Channels as pixels: the order CRD is that of a pixel shuffle, which torch-mlir
    takes for the other one."""
    x, block = node.input(0), node.get("blocksize", 0)
    shape = to.shape(x)
    if len(shape) != 4 or not block or shape[1] % block**2:
        return None
    batch, channels, height, width = shape
    left = channels // block**2
    if node.get("mode", b"DCR") == b"CRD":
        sizes, order = (batch, left, block, block, height, width), [0, 1, 4, 2, 5, 3]
    else:
        sizes, order = (batch, block, block, left, height, width), [0, 3, 4, 1, 5, 2]
    turned = to.op("Transpose", to.reshape(x, *sizes), perm=order)
    return [to.reshape(turned, batch, left, height * block, width * block)]


RULES = {
    "DepthToSpace": depth_to_space,
    "GatherElements": picked,
    "MeanVarianceNormalization": normalised,
    "ReduceProd": product_along,
}
