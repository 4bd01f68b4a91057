"""`Attention` as products, softmax and masks, by a rule of `expanded`."""

import math

import numpy as np

from morello.frontends.nodes.tensors import Array
from morello.frontends.onnx_ops.expansion import (
    Arguments,
    Expansion,
    Results,
    UnknownError,
)


def attention(to: Expansion, node: Arguments) -> Results:
    """Products, softmax and masks; past keys and values come before the others."""
    shape = to.shape(node.input(0))
    node.get("softmax_precision", 1)  # at least f32 here
    if node.input(6):
        return None
    counts = [node.get("q_num_heads", 0), *[node.get("kv_num_heads", 0)] * 2]
    (q, q_shape), (k, k_shape), (v, v_shape) = (
        _heads(to, node.input(place), n) for place, n in enumerate(counts)
    )
    length, past = k_shape[2], 0
    if node.input(4):
        past = to.shape(node.input(4))[2]
        if not node.input(5):
            return None
        k = to.op("Concat", node.input(4), k, axis=2)
        v = to.op("Concat", node.input(5), v, axis=2)
        length += past
    present = [k, v]
    k = _repeated(to, k, (*k_shape[:2], length, k_shape[3]), q_shape[1])
    v = _repeated(to, v, (*v_shape[:2], length, v_shape[3]), q_shape[1])
    scale = node.get("scale", None)
    scale = 1 / math.sqrt(q_shape[3]) if scale is None else scale
    turned = to.op("Transpose", k, perm=[0, 1, 3, 2])
    stages = [to.op("Mul", to.op("MatMul", q, turned), to.number(scale))]
    stages.append(_capped(to, node, stages[0]))
    masked, may_be_whole = _masked(to, node, stages[1], (q_shape[2], length, past))
    weights = to.op("Softmax", masked, axis=-1)
    if may_be_whole:
        weights = _zero_where_masked(to, masked, weights)
    stages += [masked, weights]
    y = to.op("MatMul", weights, v)
    if len(shape) == 3:
        y = to.op("Transpose", y, perm=[0, 2, 1, 3])
        y = to.reshape(y, shape[0], shape[1], q_shape[1] * v_shape[3])
    return [y, *present, stages[node.get("qk_matmul_output_mode", 0)]]


def _heads(to: Expansion, value: str, count: int) -> tuple[str, tuple[int, ...]]:
    """A value by batch, heads, places and elements, and this shape."""
    shape = to.shape(value)
    if len(shape) == 4:
        return value, shape
    if len(shape) != 3 or not count:
        raise UnknownError
    batch, places, width = shape
    apart = to.reshape(value, batch, places, count, width // count)
    turned = to.op("Transpose", apart, perm=[0, 2, 1, 3])
    return turned, (batch, count, places, width // count)


def _repeated(to: Expansion, value: str, shape: tuple[int, ...], heads: int) -> str:
    """Each head of keys or values as often as heads of queries share it."""
    batch, count, rows, columns = shape
    if count == heads:
        return value
    wide = to.op("Unsqueeze", value, to.numbers(2))
    sizes = to.numbers(batch, count, heads // count, rows, columns)
    return to.reshape(to.op("Expand", wide, sizes), batch, heads, rows, columns)


def _capped(to: Expansion, node: Arguments, scores: str) -> str:
    cap = node.get("softcap", 0.0)
    if not cap > 0:
        return scores
    divided = to.op("Mul", scores, to.number(1 / cap))
    return to.op("Mul", to.op("Tanh", divided), to.number(cap))


def _masked(
    to: Expansion, node: Arguments, scores: str, sizes: tuple[int, int, int]
) -> tuple[str, bool]:
    """Scores with their masks, and whether a row may be masked whole."""
    rows, columns, past = sizes
    mask = node.input(3)
    seen = _seen(node, rows, columns, past)
    may_be_whole = not seen.any(1).all()
    if mask:
        shape = to.shape(mask)
        missing = columns - shape[-1]
        known = to.array(mask)
        if known is not None:
            bias = np.where(known, 0, -np.inf) if known.dtype == np.bool_ else known
            around = [(0, 0)] * (known.ndim - 1) + [(0, missing)]
            bias = np.pad(bias, around, constant_values=-np.inf)
            bias = (bias + np.where(seen, 0, -np.inf)).astype(np.float32)
            whole = bool(np.isneginf(bias).all(-1).any())
            return to.op("Add", scores, to.constant(bias)), whole
        may_be_whole = True
        seen[:, shape[-1] :] = False
        if missing:
            mask = _lengthened(to, mask, (*shape[:-1], missing))
        if to.has(node.input(3), "BOOL"):
            scores = to.op("Where", mask, scores, to.number(-math.inf))
        else:
            scores = to.op("Add", scores, mask)
    if not seen.all():
        hidden = np.where(seen, 0, -np.inf).astype(np.float32)
        scores = to.op("Add", scores, to.constant(hidden))
    return scores, may_be_whole


def _lengthened(to: Expansion, mask: str, shape: tuple[int, ...]) -> str:
    """A mask with keys that none sees after its own."""
    fill: Array = np.full(shape, -np.inf, np.float32)
    if to.has(mask, "BOOL"):
        fill = np.zeros(shape, np.bool_)
    return to.op("Concat", mask, to.constant(fill), axis=-1)


def _seen(node: Arguments, rows: int, columns: int, past: int) -> Array:
    """The keys that a query sees, by cause and windows."""
    behind = np.arange(rows)[:, None] + past - np.arange(columns)
    seen = np.ones((rows, columns), np.bool_)
    if node.get("is_causal", 0):
        seen &= behind >= 0
    left, right = node.get("left_window_size", -1), node.get("right_window_size", -1)
    if left >= 0:
        seen &= behind <= left
    if right >= 0:
        seen &= -behind <= right
    return seen


def _zero_where_masked(to: Expansion, scores: str, weights: str) -> str:
    """Weights that are 0 in rows of which all scores are -inf."""
    most = to.reduced("ReduceMax", scores, [-1])
    is_masked = to.op("Equal", most, to.number(-math.inf))
    return to.op("Where", is_masked, to.number(0.0), weights)


RULES = {"Attention": attention}
