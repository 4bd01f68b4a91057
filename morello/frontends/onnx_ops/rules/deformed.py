"""`DeformConv`, by a rule of `expanded`: samples of the image, then a product."""

import math

import numpy as np

from morello.frontends.nodes.tensors import Array
from morello.frontends.onnx_ops.expansion import Arguments, Expansion, Results
from morello.frontends.onnx_ops.rules import sampling

_MOST_TAPS = 64
"""Elements of a filter, each of which is sampled by itself."""


def deformed(to: Expansion, node: Arguments) -> Results:
    """A convolution of an image whose elements each tap of the filter reads at places
    of its own."""
    x, weights, offsets = (node.input(place) for place in range(3))
    shape, filters, y_shape = to.shape(x), to.shape(weights), to.shape(node.output(0))
    taps, parts = math.prod(filters[2:]), node.get("offset_group", 1)
    node.get("kernel_shape", None)
    if len(shape) != 4 or taps > _MOST_TAPS:
        return None
    batch, channels, rows, columns = y_shape[0], shape[1], *y_shape[2:]
    sides = [to.constant(side) for side in _sides(node, filters, y_shape)]
    whole = to.reshape(offsets, batch, parts, taps, 2, rows, columns)
    masks = node.input(4)
    if masks:
        masks = to.reshape(masks, batch, parts, 1, taps, rows, columns)
    each = channels // parts
    samples = []
    for part in range(parts):
        moved = to.cut(whole, part, part + 1, axis=1)
        moved = to.reshape(moved, batch, taps, 2, rows, columns)
        places = [
            to.reshape(
                to.op("Add", to.cut(moved, n, n + 1, axis=2), side), batch, 1, -1
            )
            for n, side in enumerate(sides)
        ]
        image = to.cut(x, part * each, (part + 1) * each, axis=1)
        elements = sampling.interpolated(
            to, image, (batch, each, *shape[2:]), places, taps * rows * columns
        )
        elements = to.reshape(elements, batch, 1, each, taps, rows, columns)
        if masks:
            elements = to.op("Mul", elements, to.cut(masks, part, part + 1, axis=1))
        samples.append(to.reshape(elements, batch, each * taps, rows, columns))
    read = samples[0] if parts == 1 else to.op("Concat", *samples, axis=1)
    flat = to.reshape(weights, filters[0], filters[1] * taps, 1, 1)
    bias = [node.input(3)] if node.input(3) else []
    return [to.op("Conv", read, flat, *bias, group=node.get("group", 1))]


def _sides(
    node: Arguments, filters: tuple[int, ...], y_shape: tuple[int, ...]
) -> list[Array]:
    """The rows and the columns that each tap reads for each element of the result,
    where nothing is moved."""
    strides = node.get("strides", [1, 1])
    dilations = node.get("dilations", [1, 1])
    pads = node.get("pads", [0] * 4)
    sides = []
    for i in range(2):
        starts = np.arange(y_shape[i + 2]) * strides[i] - pads[i]
        taps = np.arange(filters[i + 2]) * dilations[i]
        side = (starts + taps[:, None]).astype(np.float32)
        shape = (
            (len(side), 1, y_shape[2], 1) if i == 0 else (1, len(side), 1, y_shape[3])
        )
        whole = np.broadcast_to(side.reshape(shape), (*filters[2:], *y_shape[2:]))
        sides.append(whole.reshape(1, -1, 1, *y_shape[2:]))
    return sides


RULES = {"DeformConv": deformed}
