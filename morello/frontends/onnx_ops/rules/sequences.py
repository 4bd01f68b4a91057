"""Sequences of tensors, whose lengths are known: what reads one reads its tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from morello.frontends.onnx_ops.expansion import Arguments, Expansion, Results


def _tensors(to: Expansion, name: str) -> list[str] | None:
    """The tensors of a sequence; None where its length or an order is data."""
    own = to.maker(name)
    if own is None:
        return None
    match own.kind:
        case "SequenceEmpty":
            return []
        case "SequenceConstruct":
            return [own.input(place) for place in range(own.count)]
        case "SequenceInsert":
            return _inserted(to, own)
        case "SplitToSequence":
            return _pieces(to, own)
    return None


def _inserted(to: Expansion, own: Arguments) -> list[str] | None:
    before, place = _tensors(to, own.input(0)), to.array(own.input(2))
    if before is None or (own.input(2) and place is None):
        return None
    at = len(before) if place is None else int(place)
    before.insert(at, own.input(1))
    return before


def _pieces(to: Expansion, own: Arguments) -> list[str] | None:
    """Slices along an axis: of sizes that are known, or of one, without the axis."""
    x, sizes = own.input(0), to.array(own.input(1))
    shape = to.shape(x)
    if shape is None or (own.input(1) and sizes is None):
        return None
    axis = own.get("axis", 0) % len(shape)
    whole = shape[axis]
    most = 1 if sizes is None else int(np.max(sizes))
    is_each = sizes is None or np.ndim(sizes) == 0
    ends = np.array([*range(most, whole, most), whole]) if is_each else np.cumsum(sizes)
    pieces = [
        to.cut(x, int(start), int(end), axis=axis)
        for start, end in zip([0, *ends[:-1]], ends, strict=True)
    ]
    if own.get("keepdims", 1) or own.input(1):
        return pieces
    return [to.op("Squeeze", piece, to.numbers(axis)) for piece in pieces]


def joined(to: Expansion, own: Arguments) -> Results:
    """The tensors of a sequence along an axis, which may be new."""
    tensors = _tensors(to, own.input(0))
    axis, is_new = own.get("axis", 0), own.get("new_axis", 0)
    if not tensors:
        return None
    if is_new:
        tensors = [to.op("Unsqueeze", each, to.numbers(axis)) for each in tensors]
    return [to.op("Concat", *tensors, axis=axis)]


def picked(to: Expansion, own: Arguments) -> Results:
    """A tensor of a sequence, at a place that is known."""
    tensors, place = _tensors(to, own.input(0)), to.array(own.input(1))
    if not tensors or place is None or not -len(tensors) <= place < len(tensors):
        return None
    return [tensors[int(place)]]


def counted(to: Expansion, own: Arguments) -> Results:
    """How many tensors a sequence has."""
    tensors = _tensors(to, own.input(0))
    return None if tensors is None else [to.constant(np.int64(len(tensors)))]


RULES = {
    "ConcatFromSequence": joined,
    "SequenceAt": picked,
    "SequenceLength": counted,
}
