"""`Scan` and `Loop` of few trips, written out: `without_loops`."""

import importlib
from typing import Any

import numpy as np

from morello.frontends.linalg.unrolling import MOST_TRIPS
from morello.frontends.onnx_ops.expansion import Arguments, Expansion, Results, Rules


def without_loops(proto: Any) -> Any:
    """A model in which the trips of loops stand one after the other.

    A loop of unknown or too many trips, or one that data may end, stays.

    Args:
        proto: its inputs have shapes, its nodes names. It is not changed.

    Returns:
        The same object where there is none.
    """
    if not any(node.op_type in _RULES for node in proto.graph.node):
        return proto
    return Expansion(proto, set(), _RULES, frozenset(_RULES)).run()


def _scanned(to: Expansion, node: Arguments) -> Results:
    body, count = node.get("body", None), node.get("num_scan_inputs", 1)
    inputs = [node.input(place) for place in range(node.count)]
    states, scanned = inputs[:-count], inputs[-count:]
    results = len(node.outputs) - len(states)
    axes = node.get("scan_input_axes", [0] * count)
    back = node.get("scan_input_directions", [0] * count)
    trips = to.extent(scanned[0], axes[0])
    if not 0 < trips <= MOST_TRIPS:
        return None
    rows: list[list[str]] = [[] for _ in range(results)]
    for trip in range(trips):
        inputs = list(states)
        for name, axis, is_back in zip(scanned, axes, back, strict=True):
            place = to.constant(np.int64(trips - 1 - trip if is_back else trip))
            inputs.append(to.op("Gather", name, place, axis=axis))
        outputs = _trip(to, body, trip, inputs)
        states = outputs[: len(states)]
        for row, result in zip(rows, outputs[len(states) :], strict=True):
            row.append(result)
    axes = node.get("scan_output_axes", [0] * results)
    back = node.get("scan_output_directions", [0] * results)
    return states + [
        _stacked(to, row[::-1] if is_back else row, axis)
        for row, axis, is_back in zip(rows, axes, back, strict=True)
    ]


def _looped(to: Expansion, node: Arguments) -> Results:
    body, count = node.get("body", None), to.array(node.input(0))
    starts = to.array(node.input(1)) if node.input(1) else np.array(True)
    if count is None or starts is None or not starts.any() or not _goes_on(body):
        return None
    trips = int(count.reshape(-1)[0])
    if not 0 < trips <= MOST_TRIPS:
        return None
    states = [node.input(place) for place in range(2, node.count)]
    rows: list[list[str]] = [[] for _ in range(len(node.outputs) - len(states))]
    for trip in range(trips):
        inputs = [to.constant(np.int64(trip)), to.constant(np.array(True))]
        outputs = _trip(to, body, trip, [*inputs, *states])[1:]
        states = outputs[: len(states)]
        for row, result in zip(rows, outputs[len(states) :], strict=True):
            row.append(result)
    return states + [_stacked(to, row, 0) for row in rows]


def _trip(to: Expansion, body: Any, trip: int, inputs: list[str]) -> list[str]:
    names = [value.name for value in body.input]
    return to.inlined(body, str(trip), dict(zip(names, inputs, strict=True)))


def _stacked(to: Expansion, rows: list[str], axis: int) -> str:
    wide = [to.op("Unsqueeze", row, to.numbers(axis)) for row in rows]
    return to.op("Concat", *wide, axis=axis)


_RULES: Rules = {"Loop": _looped, "Scan": _scanned}


def _goes_on(body: Any) -> bool:
    """Whether a body never ends its loop: its condition is the one that it is given, or
    true."""
    arrays: Any = importlib.import_module("onnx.numpy_helper")
    makers = {name: node for node in body.node for name in node.output}
    held = {array.name: array for array in body.initializer}
    name = body.output[0].name
    while name in makers and makers[name].op_type == "Identity":
        name = makers[name].input[0]
    if name in makers and makers[name].op_type == "Constant":
        (attribute,) = makers[name].attribute
        return attribute.name == "value" and bool(arrays.to_array(attribute.t).all())
    if name in held:
        return bool(arrays.to_array(held[name]).all())
    return bool(name == body.input[1].name)
