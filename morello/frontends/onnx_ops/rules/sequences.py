"""Sequences of tensors, whose lengths are known: what reads one reads its tensors."""

from typing import Any

import numpy as np

from morello.frontends.onnx_ops.expansion import (
    Arguments,
    Expansion,
    Results,
    UnknownError,
)


def _tensors(to: Expansion, name: str) -> list[str]:
    """The tensors of a sequence, whose length and order are no data."""
    node = to.maker(name)
    if node is None:
        raise UnknownError
    match node.kind:
        case "SequenceEmpty":
            return []
        case "SequenceConstruct":
            return [node.input(place) for place in range(node.count)]
        case "SequenceInsert":
            return _inserted(to, node)
        case "SplitToSequence":
            return _pieces(to, node)
    raise UnknownError


def _inserted(to: Expansion, node: Arguments) -> list[str]:
    before = _tensors(to, node.input(0))
    at = int(to.known(node.input(2))) if node.input(2) else len(before)
    before.insert(at, node.input(1))
    return before


def _pieces(to: Expansion, node: Arguments) -> list[str]:
    """Slices along an axis: of sizes that are known, or of one, without the axis."""
    x = node.input(0)
    sizes: Any = to.known(node.input(1)) if node.input(1) else None
    shape = to.shape(x)
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
    tensors, place = _tensors(to, node.input(0)), to.known(node.input(1))
    if not -len(tensors) <= place < len(tensors):
        return None
    return [tensors[int(place)]]


def counted(to: Expansion, node: Arguments) -> Results:
    """How many tensors a sequence has."""
    return [to.constant(np.int64(len(_tensors(to, node.input(0)))))]


RULES = {"ConcatFromSequence": joined, "SequenceAt": picked, "SequenceLength": counted}
