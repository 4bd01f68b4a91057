"""Recurrences that run backwards, or in both directions, as forward ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from morello.frontends.onnx_ops.rules.cells import is_plain, stepped

if TYPE_CHECKING:
    from morello.frontends.onnx_ops.expansion import Arguments, Expansion, Results

_LENGTHS = 4
"""The input that has the length of each sequence."""

_BY_DIRECTION = (1, 2, 3, 5, 6, 7)
"""Inputs whose first axis is the direction: weights, bias, states, peepholes."""

_STATES = (5, 6)
"""Inputs that are states."""


def forward(to: Expansion, own: Arguments) -> Results:
    """A recurrence as forward ones over sequences of batches."""
    if not is_plain(to, own):
        return stepped(to, own)
    direction, is_by_batch = own.get("direction", b"forward"), own.get("layout", 0)
    if (direction == b"forward" and not is_by_batch) or own.input(_LENGTHS):
        return None
    shape = to.shape(own.input(0))
    if shape is None:
        return None
    inputs = [own.input(place) for place in range(8)]
    if is_by_batch:
        for place in (0, *_STATES):
            inputs[place] = _turned(to, inputs[place])
    backwards = {b"forward": [0], b"reverse": [1], b"bidirectional": [0, 1]}[direction]
    steps = shape[1 if is_by_batch else 0]
    each = [
        _one_way(to, own, inputs, number, len(backwards), steps if back else 0)
        for number, back in enumerate(backwards)
    ]
    results = []
    for place, parts in enumerate(zip(*each, strict=True)):
        if not parts[0]:
            results.append("")
            continue
        axis = 1 if place == 0 else 0
        whole = parts[0] if len(parts) == 1 else to.op("Concat", *parts, axis=axis)
        if is_by_batch:
            order = [2, 0, 1, 3] if place == 0 else [1, 0, 2]
            whole = to.op("Transpose", whole, perm=order)
        results.append(whole)
    return results


def _turned(to: Expansion, value: str) -> str:
    """A value by batch first with its first two axes exchanged."""
    return to.op("Transpose", value, perm=[1, 0, 2]) if value else ""


def _one_way(
    to: Expansion,
    own: Arguments,
    inputs: list[str],
    number: int,
    count: int,
    reversed_steps: int,
) -> list[str]:
    """The results of one direction of several, computed forward.

    Args:
        number: of the direction.
        count: of directions.
        reversed_steps: the length of a sequence that is read backwards; 0 for one that
            is not.
    """
    taken = list(inputs)
    if count > 1:
        for place in _BY_DIRECTION:
            if taken[place]:
                taken[place] = to.cut(taken[place], number, number + 1, axis=0)
    back = to.constant(np.arange(reversed_steps - 1, -1, -1)) if reversed_steps else ""
    if back:
        taken[0] = to.op("Gather", taken[0], back, axis=0)
    while not taken[-1]:
        taken.pop()
    attributes = _attributes(own, number, count)
    results = to.several(own.kind, taken, own.outputs, **attributes)
    if back and results[0]:
        results[0] = to.op("Gather", results[0], back, axis=0)
    return results


def _attributes(own: Arguments, number: int, count: int) -> dict[str, object]:
    """The attributes of one direction: activations are listed by direction."""
    attributes = own.attributes(without=("direction", "layout"))
    for name in ("activations", "activation_alpha", "activation_beta"):
        if name in attributes and count > 1:
            part = len(attributes[name]) // count
            attributes[name] = attributes[name][number * part : (number + 1) * part]
    return attributes


RULES = {"GRU": forward, "LSTM": forward, "RNN": forward}
