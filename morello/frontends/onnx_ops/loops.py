"""`Scan` and `Loop` of few trips, written out: `without_loops`."""

import importlib
from typing import Any

import numpy as np

from morello.frontends.linalg.unrolling import MOST_TRIPS
from morello.frontends.onnx_ops.branches import inlined_body


def without_loops(proto: Any) -> Any:
    """A model in which the trips of loops stand one after the other.

    A loop of unknown or too many trips, or one that data may end, stays.

    Args:
        proto: its inputs have shapes, its nodes names. It is not changed.

    Returns:
        The same object where there is none.
    """
    if not any(node.op_type in ("Loop", "Scan") for node in proto.graph.node):
        return proto
    return _Unrolling(proto).run()


class _Unrolling:
    def __init__(self, proto: Any) -> None:
        self._helper: Any = importlib.import_module("onnx.helper")
        self._arrays: Any = importlib.import_module("onnx.numpy_helper")
        inference: Any = importlib.import_module("onnx.shape_inference")
        self._proto = proto
        self._made = type(proto)()
        self._made.CopyFrom(proto)
        self._graph = self._made.graph
        del self._graph.node[:]
        graph = inference.infer_shapes(proto, data_prop=True).graph
        self._shapes = {
            value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            for value in (*graph.input, *graph.value_info, *graph.output)
        } | {held.name: list(held.dims) for held in graph.initializer}
        self._held = {held.name: held for held in graph.initializer}
        self._name = ""

    def run(self) -> Any:
        """The model without the loops that can be written out."""
        changed = False
        for node in self._proto.graph.node:
            self._name = node.name
            options = {
                own.name: self._helper.get_attribute_value(own)
                for own in node.attribute
            }
            results = None
            if node.op_type == "Scan":
                results = self._scanned(node, options)
            elif node.op_type == "Loop":
                results = self._looped(node, options["body"])
            if results is None:
                self._graph.node.append(node)
                continue
            changed = True
            for name, result in zip(node.output, results, strict=True):
                if name:
                    self._op("Identity", result, output=name)
        return self._made if changed else self._proto

    def _op(self, kind: str, *inputs: str, output: str = "", **options: Any) -> str:
        name = output or f"{self._name}.{kind}.{len(self._graph.node)}"
        self._graph.node.append(
            self._helper.make_node(kind, inputs, [name], name=self._name, **options)
        )
        return name

    def _constant(self, array: Any) -> str:
        name = f"{self._name}.constant.{len(self._graph.initializer)}"
        held = self._arrays.from_array(np.asarray(array), name)
        self._graph.initializer.append(held)
        return name

    def _scanned(self, node: Any, options: dict[str, Any]) -> list[str] | None:
        body, count = options["body"], options["num_scan_inputs"]
        states, scanned = list(node.input[:-count]), list(node.input[-count:])
        results = len(node.output) - len(states)
        axes = options.get("scan_input_axes", [0] * count)
        back = options.get("scan_input_directions", [0] * count)
        shape = self._shapes.get(scanned[0], [])
        trips = shape[axes[0]] if shape else 0
        if not 0 < trips <= MOST_TRIPS:
            return None
        rows: list[list[str]] = [[] for _ in range(results)]
        for trip in range(trips):
            inputs = list(states)
            for name, axis, is_back in zip(scanned, axes, back, strict=True):
                place = self._constant(np.int64(trips - 1 - trip if is_back else trip))
                inputs.append(self._op("Gather", name, place, axis=axis))
            made = self._trip(body, trip, inputs)
            states = made[: len(states)]
            for row, result in zip(rows, made[len(states) :], strict=True):
                row.append(result)
        axes = options.get("scan_output_axes", [0] * results)
        back = options.get("scan_output_directions", [0] * results)
        return states + [
            self._stacked(row[::-1] if is_back else row, axis)
            for row, axis, is_back in zip(rows, axes, back, strict=True)
        ]

    def _looped(self, node: Any, body: Any) -> list[str] | None:
        count = self._number(node.input[0])
        starts = not node.input[1] or self._number(node.input[1])
        if count is None or not 0 < count <= MOST_TRIPS or not starts:
            return None
        if not _goes_on(body):
            return None
        states = list(node.input[2:])
        rows: list[list[str]] = [[] for _ in range(len(node.output) - len(states))]
        for trip in range(count):
            inputs = [self._constant(np.int64(trip)), self._constant(np.array(True))]
            made = self._trip(body, trip, [*inputs, *states])[1:]
            states = made[: len(states)]
            for row, result in zip(rows, made[len(states) :], strict=True):
                row.append(result)
        return states + [self._stacked(row, 0) for row in rows]

    def _trip(self, body: Any, trip: int, inputs: list[str]) -> list[str]:
        names = [value.name for value in body.input]
        given = dict(zip(names, inputs, strict=True))
        return inlined_body(self._graph, body, f"{self._name}.{trip}", given)

    def _stacked(self, rows: list[str], axis: int) -> str:
        place = self._constant(np.array([axis], np.int64))
        wide = [self._op("Unsqueeze", row, place) for row in rows]
        return self._op("Concat", *wide, axis=axis)

    def _number(self, name: str) -> int | None:
        held = self._held.get(name)
        if held is None:
            return None
        return int(self._arrays.to_array(held).reshape(-1)[0])


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
        (own,) = makers[name].attribute
        return own.name == "value" and bool(arrays.to_array(own.t).all())
    if name in held:
        return bool(arrays.to_array(held[name]).all())
    return bool(name == body.input[1].name)
