"""Ops of ONNX as smaller ones, where torch-mlir lacks the op: `expanded`.

The standard defines most of them by functions, which compute with shapes; here shapes
are numbers. `_RULES` has a rule for each op. A rule gives None for arguments that it
does not know, or asks for what is not known, and the op stays, to be refused by its
name.
"""

import itertools
from typing import Any

import numpy as np

from morello.errors import CompileError
from morello.frontends.onnx_ops.expansion import Arguments, Expansion, Results, Rules
from morello.frontends.onnx_ops.folding import folded
from morello.frontends.onnx_ops.functions import inlined
from morello.frontends.onnx_ops.loops import without_loops
from morello.frontends.onnx_ops.rules import (
    attention,
    bits,
    deformed,
    dropout,
    integers,
    places,
    pools,
    products,
    qlinear,
    quantized,
    recurrent,
    resizing,
    running,
    sampling,
    sequences,
    slices,
    stable,
    windows,
)


def expanded(proto: Any) -> Any:
    """A model without the ops that torch-mlir lacks, as far as there are rules.

    Args:
        proto: its inputs have shapes, its nodes names, which the new nodes have, too.
    """
    final: set[str] = set()
    for _ in range(_MOST_ROUNDS):
        before = proto
        if any(
            (f"{node.domain}." if node.domain else "") + node.op_type in _RULES
            for node in proto.graph.node
        ):
            changed = Expansion(proto, final, _RULES, _OF_ANY_DTYPE).run()
            proto = proto if changed is proto else folded(changed)
        proto = without_loops(inlined(proto))
        if proto is before:
            break
    return proto


_MOST_ROUNDS = 8
"""The most rounds of rules for nodes that rules and functions give."""


def _layer_norm(to: Expansion, node: Arguments) -> Results:
    """A norm whose mean or deviation is a result, too, which torch-mlir lacks."""
    x, scale, bias = (node.input(place) for place in range(3))
    shape = to.shape(x)
    if not any(node.outputs[1:]):
        return None
    node.get("stash_type", 1)  # f32, which has all of these
    axes = range(node.get("axis", -1) % len(shape), len(shape))
    mean = to.mean(x, axes)
    centred = to.op("Sub", x, mean)
    variance = to.mean(to.op("Mul", centred, centred), axes)
    root = to.op("Sqrt", to.op("Add", variance, to.number(node.get("epsilon", 1e-5))))
    y = to.op("Mul", to.op("Div", centred, root), scale)
    inverse = to.op("Reciprocal", root)
    return [to.op("Add", y, bias) if bias else y, mean, inverse]


def _even_response(to: Expansion, node: Arguments) -> Results:
    """LRN over an even number of channels, of which torch-mlir takes the wrong ones."""
    x, size = node.input(0), node.get("size", 1)
    shape = to.shape(x)
    if size % 2 or size > _MOST_CHANNELS:
        return None
    before = (size - 1) // 2
    edges = [np.zeros((shape[0], n, *shape[2:]), np.float32) for n in (before, size)]
    zeros = [to.constant(edge) for edge in edges if edge.size]
    squares = to.op("Concat", *zeros[:-1], to.op("Mul", x, x), zeros[-1], axis=1)
    parts = [to.cut(squares, n, n + shape[1], axis=1) for n in range(size)]
    scaled = to.op(
        "Mul", to.op("Sum", *parts), to.number(node.get("alpha", 1e-4) / size)
    )
    bottom = to.op("Add", scaled, to.number(node.get("bias", 1.0)))
    return [to.op("Div", x, to.op("Pow", bottom, to.number(node.get("beta", 0.75))))]


_MOST_CHANNELS = 16


def _padded(to: Expansion, node: Arguments) -> Results:
    """With what is cut off cut first, since MLIR takes a tensor of equal shape for
    itself; repeated elements as rows that are picked, axis by axis.

    Raises:
        CompileError: how many is known only in a call; torch-mlir would not end.
    """
    mode, x = node.get("mode", b"constant"), node.input(0)
    shape, pads = to.shape_if_known(x), to.array(node.input(1))
    axes: Any = range(len(shape or ()))
    if node.input(3):
        axes = to.array(node.input(3))
    if shape is None or pads is None or axes is None:
        if mode != b"wrap":
            return None
        raise CompileError(
            f"{node.name} (onnx.Pad) wraps by numbers that are known only in a call",
            "make 'pads' and 'axes' constants",
        )
    is_plain = _has_number(node, mode)
    if is_plain and (pads >= 0).all():
        return None
    wide = np.zeros((2, len(shape)), np.int64)
    wide[:, list(axes)] = pads.reshape(2, -1)
    cut, wide = np.maximum(-wide, 0), np.maximum(wide, 0)
    for axis, size in enumerate(shape):
        start, end = int(cut[0, axis]), size - int(cut[1, axis])
        if cut[:, axis].any():
            x = to.cut(x, start, end, axis=axis)
        if is_plain or not wide[:, axis].any():
            continue
        before, after = map(int, wide[:, axis])
        if mode == b"edge":
            first, last = (
                to.cut(x, place, place + 1, axis=axis) for place in (0, end - start - 1)
            )
            parts = [first] * before, [x], [last] * after
            x = to.op("Concat", *itertools.chain(*parts), axis=axis)
        else:
            places = np.pad(np.arange(end - start), (before, after), mode.decode())
            x = to.op("Gather", x, to.constant(places), axis=axis)
    if is_plain and wide.any():
        value = [node.input(2)] if node.input(2) else []
        x = to.op("Pad", x, to.numbers(*wide.reshape(-1)), *value, mode=mode.decode())
    return [x]


def _has_number(node: Arguments, mode: bytes) -> bool:
    """Whether a border has the number that is given, which other modes ignore."""
    is_read = mode == b"constant"
    if not is_read:
        node.input(2), node.get("value", 0.0)
    return is_read


def _rotary(to: Expansion, node: Arguments) -> Results:
    """Rotary position embedding: pairs of elements rotated by angles that grow with the
    position."""
    x, places = node.input(0), node.input(3)
    shape = to.shape(x)
    heads = node.get("num_heads", 0)
    whole = shape
    if len(shape) == 3:
        if not heads:
            return None
        whole = (*shape[:2], heads, shape[2] // heads)
        x = to.reshape(x, *whole)
    turned = node.get("rotary_embedding_dim", 0) or whole[-1]
    axis = to.numbers(2 if len(shape) == 3 else 1)
    tables = [node.input(1), node.input(2)]
    if places:
        tables = [to.op("Gather", table, places) for table in tables]
    cosines, sines = (to.op("Unsqueeze", table, axis) for table in tables)
    if node.get("interleaved", 0):
        first, second = (to.cut(x, start, turned, 2) for start in (0, 1))
    else:
        middle = turned // 2
        first, second = to.cut(x, 0, middle), to.cut(x, middle, turned)
    parts = [
        to.op("Sub", to.op("Mul", first, cosines), to.op("Mul", second, sines)),
        to.op("Add", to.op("Mul", first, sines), to.op("Mul", second, cosines)),
    ]
    if node.get("interleaved", 0):
        last = to.numbers(-1)
        pairs = (to.op("Unsqueeze", part, last) for part in parts)
        parts = [to.reshape(to.op("Concat", *pairs, axis=-1), *whole[:-1], turned)]
    if turned < whole[-1]:
        parts.append(to.cut(x, turned, whole[-1]))
    result = to.op("Concat", *parts, axis=-1) if len(parts) > 1 else parts[0]
    return [to.reshape(result, *shape)]


_OF_ANY_DTYPE = frozenset(
    {
        "Compress",
        "CumProd",
        "CumSum",
        "Dropout",
        "Gather",
        "GatherElements",
        "GatherND",
        "MaxPool",
        "OneHot",
        "Pad",
        "ReduceL2",
        "ReduceLogSum",
        "ReverseSequence",
        "Slice",
        "Split",
        *bits.RULES,
        *(name.rpartition(".")[2] for name in (*qlinear.RULES, *quantized.RULES)),
        *integers.RULES,
        *sequences.RULES,
    }
)
"""Ops whose rules do not compute with elements as f32."""

_OURS: Rules = {
    "LRN": _even_response,
    "LayerNormalization": _layer_norm,
    "Pad": _padded,
    "RotaryEmbedding": _rotary,
}

_MODULES = (
    *(attention, bits, deformed, dropout, places, pools, products, qlinear, quantized),
    *(recurrent, resizing, running, sampling, sequences, slices, stable, windows),
    integers,  # whose rules ask those of floats
)

_RULES: Rules = {
    **{op: rule for module in _MODULES for op, rule in module.RULES.items()},
    **_OURS,
}
