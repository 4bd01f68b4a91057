"""Products and convolutions of ranks, pads and groups that torch-mlir lacks."""

import math
from typing import Any

import numpy as np

from morello.frontends.onnx_ops.expansion import Arguments, Expansion, Results


def matmul(to: Expansion, node: Arguments) -> Results:
    """A product of a vector and a stack of matrices as one of matrices."""
    ranks = [len(to.shape(node.input(place))) for place in (0, 1)]
    if min(ranks) != 1 or max(ranks) < 3:
        return None
    first = ranks[0] == 1
    inputs = [node.input(0), node.input(1)]
    inputs[not first] = to.op(
        "Unsqueeze", inputs[not first], to.numbers(0 if first else 1)
    )
    product = to.op("MatMul", *inputs)
    return [to.op("Squeeze", product, to.numbers(-2 if first else -1))]


def einsum(to: Expansion, node: Arguments) -> Results:
    """A product whose result has the axes that one factor alone has, in order."""
    equation = node.get("equation", b"").decode().replace(" ", "")
    if "->" in equation:
        return None
    letters = equation.replace("...", "").replace(",", "")
    axes = sorted(letter for letter in letters if letters.count(letter) == 1)
    outer = "..." if "..." in equation else ""
    equation += f"->{outer}{''.join(axes)}"
    factors = [node.input(place) for place in range(node.count)]
    return [to.op("Einsum", *factors, equation=equation)]


def transposed(to: Expansion, node: Arguments) -> Results:
    """A transposed convolution without pads, each group by itself, and what its pads
    leave of that."""
    x, weights = node.input(0), node.input(1)
    shape, filters = to.shape(x), to.shape(weights)
    y_shape = to.shape(node.output(0))
    groups, _ = node.get("group", 1), node.get("kernel_shape", None)
    padding, wanted = node.get("auto_pad", b"NOTSET"), node.get("output_shape", None)
    is_plain = padding == b"NOTSET" and wanted is None
    rank = len(shape) - 2
    extra = node.get("output_padding", [0] * rank)
    pads = node.get("pads", [0] * 2 * rank)
    if is_plain and groups == 1 and pads[:rank] == pads[rank:]:
        return None
    strides = node.get("strides", [1] * rank)
    dilations = node.get("dilations", [1] * rank)
    whole = [
        strides[i] * (shape[i + 2] - 1) + (filters[i + 2] - 1) * dilations[i] + 1
        for i in range(rank)
    ]
    if is_plain:
        before = pads[:rank]
    else:
        total = [n + extra[i] - y_shape[i + 2] for i, n in enumerate(whole)]
        half = [max(n, 0) // 2 for n in total]
        before = [
            h if padding == b"SAME_UPPER" else max(n, 0) - h
            for n, h in zip(total, half, strict=True)
        ]
    common = {"strides": strides, "dilations": dilations}
    per = shape[1] // groups
    parts = [
        to.op(
            "ConvTranspose",
            to.cut(x, g * per, (g + 1) * per, axis=1) if groups > 1 else x,
            to.cut(weights, g * per, (g + 1) * per, axis=0) if groups > 1 else weights,
            **common,
        )
        for g in range(groups)
    ]
    y = parts[0] if len(parts) == 1 else to.op("Concat", *parts, axis=1)
    for i, size in enumerate(whole):
        end = before[i] + y_shape[i + 2]
        if end > size:
            added = [0] * 2 * len(shape)
            added[len(shape) + i + 2] = end - size
            y = to.op("Pad", y, to.numbers(*added))
        y = to.cut(y, before[i], end, axis=i + 2)
    if node.input(2):
        bias = to.reshape(node.input(2), 1, y_shape[1], *[1] * rank)
        y = to.op("Add", y, bias)
    return [y]


def columns_to_image(to: Expansion, node: Arguments) -> Results:
    """Sums of blocks at their places: each element of a block is an image of its own,
    spread by the strides."""
    x, image, block = node.input(0), to.known(node.input(1)), to.known(node.input(2))
    shape = to.shape(x)
    rank = len(image)
    strides = node.get("strides", [1] * rank)
    dilations = node.get("dilations", [1] * rank)
    pads = node.get("pads", [0] * 2 * rank)
    padded = [int(n) + pads[i] + pads[i + rank] for i, n in enumerate(image)]
    counts = [
        (n - dilations[i] * (int(block[i]) - 1) - 1) // strides[i] + 1
        for i, n in enumerate(padded)
    ]
    each = math.prod(map(int, block))
    if each > _MOST_BLOCKS:
        return None
    channels = shape[1] // each
    apart = to.reshape(x, shape[0], channels, each, *counts)
    total = ""
    for number, place in enumerate(np.ndindex(*map(int, block))):
        part = to.op(
            "Squeeze", to.cut(apart, number, number + 1, axis=2), to.numbers(2)
        )
        starts = [at * step for at, step in zip(place, dilations, strict=True)]
        spread = _spread(to, part, (shape[0], channels), counts, strides)
        spans = [(n - 1) * s + 1 for n, s in zip(counts, strides, strict=True)]
        ends = [
            n - start - span
            for n, start, span in zip(padded, starts, spans, strict=True)
        ]
        whole = to.op("Pad", spread, to.numbers(0, 0, *starts, 0, 0, *ends))
        total = to.op("Add", total, whole) if total else whole
    for i in range(rank):
        total = to.cut(total, pads[i], pads[i] + int(image[i]), axis=i + 2)
    return [total]


_MOST_BLOCKS = 64
"""Elements of a block, each of which is an addition."""


def _spread(
    to: Expansion, x: str, outer: tuple[int, ...], sizes: list[int], steps: list[int]
) -> str:
    """An image with zeros between its elements."""
    for i, step in enumerate(steps):
        if step == 1 or sizes[i] == 1:
            continue
        now = [*outer, *_spans(sizes[:i], steps[:i]), *sizes[i:]]
        axis = len(outer) + i
        wide = to.op("Unsqueeze", x, to.numbers(axis + 1))
        pads = [0] * 2 * (len(now) + 1)
        pads[len(now) + 1 + axis + 1] = step - 1
        wide = to.op("Pad", wide, to.numbers(*pads))
        now[axis] *= step
        x = to.cut(to.reshape(wide, *now), 0, now[axis] - step + 1, axis=axis)
    return x


def _spans(sizes: list[int], steps: list[int]) -> list[int]:
    return [(n - 1) * s + 1 for n, s in zip(sizes, steps, strict=True)]


def transform(to: Expansion, node: Arguments) -> Results:
    """A discrete Fourier transform as products with cosines and sines."""
    x = node.input(0)
    shape = to.shape(x)
    axis, length = node.get("axis", 1), None
    if node.input(2):
        axis = int(to.known(node.input(2)).reshape(-1)[0])
    elif node.get("axis", None) is None and to.version >= _AXIS_IS_INPUT:
        axis = -2
    if node.input(1):
        length = int(to.known(node.input(1)).reshape(-1)[0])
    axis %= len(shape)
    inverse, one_sided = node.get("inverse", 0), node.get("onesided", 0)
    have = shape[axis]
    count = length or (2 * (have - 1) if inverse and one_sided else have)
    if count > _MOST_TRANSFORMED:
        return None
    parts = [to.cut(x, part, part + 1) for part in range(shape[-1])]
    waves = _waves(have, count, inverse, one_sided)
    return [
        _turned_products(to, parts, waves, (len(shape), axis), inverse and one_sided)
    ]


_AXIS_IS_INPUT = 20
"""The version of the operators from which on `DFT` has its axis as an input, and
transforms the last but one axis where there is none."""

_MOST_TRANSFORMED = 4096


def _waves(have: int, count: int, inverse: int, one_sided: int) -> Any:
    """The matrix of a discrete Fourier transform: a row for each input, a column per
    result."""
    if inverse and one_sided:
        bins = min(have, count // 2 + 1)
        rows = np.arange(bins)
        twice = np.where((rows == 0) | (2 * rows == count), 1.0, 2.0)
        angles = 2 * np.pi * np.outer(rows, np.arange(count)) / count
        waves = twice[:, None] * np.exp(1j * angles) / count
    else:
        bins = min(have, count)
        results = count // 2 + 1 if one_sided else count
        angles = 2 * np.pi * np.outer(np.arange(bins), np.arange(results)) / count
        waves = np.exp(1j * angles) / count if inverse else np.exp(-1j * angles)
    return waves


def _turned_products(
    to: Expansion, parts: list[str], waves: Any, along: tuple[int, int], is_real: int
) -> str:
    """Real and imaginary parts times a matrix of complex numbers.

    Args:
        along: the rank of the parts, and the axis.
    """
    rank, axis = along

    def product(part: str, matrix: Any) -> str:
        cut = to.cut(part, 0, len(matrix), axis=axis)
        last = to.op("Transpose", cut, perm=order)
        out = to.op("MatMul", last, to.constant(matrix.astype(np.float32)))
        return to.op("Transpose", out, perm=back)

    order = [*(i for i in range(rank) if i != axis), axis]
    back = [order.index(i) for i in range(rank)]
    real = product(parts[0], waves.real)
    if len(parts) > 1:
        real = to.op("Sub", real, product(parts[1], waves.imag))
    if is_real:
        return real
    imaginary = product(parts[0], waves.imag)
    if len(parts) > 1:
        imaginary = to.op("Add", imaginary, product(parts[1], waves.real))
    return to.op("Concat", real, imaginary, axis=-1)


RULES = {
    "Col2Im": columns_to_image,
    "ConvTranspose": transposed,
    "DFT": transform,
    "Einsum": einsum,
    "MatMul": matmul,
}
