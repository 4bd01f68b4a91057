"""Sequences of tensors, whose lengths are known: what reads one reads its tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from morello.frontends.onnx_ops.expansion import Arguments, Expansion, Results


def _tensors(to: Expansion, name: str) -> list[str] | None:
    """The tensors of a sequence; None where its length or an order is data."""
    node = to.maker(name)
    if node is None:
        return None
    match node.kind:
        case "SequenceEmpty":
            return []
        case "SequenceConstruct":
            return [node.input(place) for place in range(node.count)]
        case "SequenceInsert":
            return _inserted(to, node)
        case "SplitToSequence":
            return _pieces(to, node)
    return None


def _inserted(to: Expansion, node: Arguments) -> list[str] | None:
    before, place = _tensors(to, node.input(0)), to.array(node.input(2))
    if before is None or (node.input(2) and place is None):
        return None
    at = len(before) if place is None else int(place)
    before.insert(at, node.input(1))
    return before


def _pieces(to: Expansion, node: Arguments) -> list[str] | None:
    """Slices along an axis: of sizes that are known, or of one, without the axis."""
    x, sizes = node.input(0), to.array(node.input(1))
    shape = to.shape(x)
    if shape is None or (node.input(1) and sizes is None):
        return None
    axis = node.get("axis", 0) % len(shape)
    whole = shape[axis]
    most = 1 if sizes is None else int(np.max(sizes))
    is_each = sizes is None or np.ndim(sizes) == 0
    ends = np.array([*range(most, whole, most), whole]) if is_each else np.cumsum(sizes)
    pieces = [
        to.cut(x, int(start), int(end), axis=axis)
        for start, end in zip([0, *ends[:-1]], ends, strict=True)
    ]
    if node.get("keepdims", 1) or node.input(1):
        return pieces
    return [to.op("Squeeze", piece, to.numbers(axis)) for piece in pieces]


def joined(to: Expansion, node: Arguments) -> Results:
    """The tensors of a sequence along an axis, which may be new."""
    tensors = _tensors(to, node.input(0))
    axis, is_new = node.get("axis", 0), node.get("new_axis", 0)
    if not tensors:
        return None
    if is_new:
        tensors = [to.op("Unsqueeze", each, to.numbers(axis)) for each in tensors]
    return [to.op("Concat", *tensors, axis=axis)]


def picked(to: Expansion, node: Arguments) -> Results:
    """A tensor of a sequence, at a place that is known."""
    tensors, place = _tensors(to, node.input(0)), to.array(node.input(1))
    if not tensors or place is None or not -len(tensors) <= place < len(tensors):
        return None
    return [tensors[int(place)]]


def counted(to: Expansion, node: Arguments) -> Results:
    """How many tensors a sequence has."""
    tensors = _tensors(to, node.input(0))
    return None if tensors is None else [to.constant(np.int64(len(tensors)))]


RULES = {"ConcatFromSequence": joined, "SequenceAt": picked, "SequenceLength": counted}
