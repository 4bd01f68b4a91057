"""Integers of four and of two bits as bytes: `widened`.

NumPy's arrays of them have a byte for each, whose other bits are 0. Within a graph the
bytes have the numbers.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from morello.frontends.onnx_ops.writing import NodeWriter

_BITS = {21: 4, 22: 4, 25: 2, 26: 2}
"""The widths of UINT4, INT4, UINT2 and INT2, by their numbers in ONNX."""

_SIGNED = frozenset({22, 26})
_INT8, _UINT8, _INT32 = 3, 2, 6


def _wide(kind: int) -> int:
    return _INT8 if kind in _SIGNED else _UINT8


def widened(proto: Any) -> Any:
    """A model with bytes for narrow integers; the same object where it has none.

    Args:
        proto: is not changed.
    """
    values = [*proto.graph.input, *proto.graph.output, *proto.graph.initializer]
    kinds = {_kind(value) for value in values}
    for node in proto.graph.node:
        kinds |= {
            attribute.i for attribute in node.attribute if attribute.name in _ATTRIBUTES
        }
        kinds |= {
            attribute.t.data_type
            for attribute in node.attribute
            if attribute.name == "value"
        }
    return proto if kinds.isdisjoint(_BITS) else _Widening(proto).run()


_ATTRIBUTES = ("to", "output_dtype")


def _kind(value: Any) -> int:
    if hasattr(value, "data_type"):
        return int(value.data_type)
    return int(value.type.tensor_type.elem_type)


class _Widening(NodeWriter):
    def __init__(self, proto: Any) -> None:
        inference: Any = importlib.import_module("onnx.shape_inference")
        super().__init__(inference.infer_shapes(proto))
        graph = self._model.graph
        values = (*graph.initializer, *graph.input, *graph.value_info, *graph.output)
        self._kinds = {value.name: _kind(value) for value in values}

    def run(self) -> Any:
        graph = self._model.graph
        nodes = list(graph.node)
        held = {array.name for array in graph.initializer}
        names: dict[str, str] = {}
        results = [value.name for value in graph.output if _kind(value) in _SIGNED]
        for value in graph.input:
            if _kind(value) in _SIGNED and value.name not in held:
                names[value.name] = self._signed(value.name, _BITS[_kind(value)])
        names |= {name: f"{name}.signed" for name in results if name not in names}
        for node in nodes:
            node.input[:] = [names.get(name, name) for name in node.input]
            node.output[:] = [names.get(name, name) for name in node.output]
        for name, other in names.items():
            self._kinds[other] = self._kinds[name]
        for node in nodes:
            self._node(node)
        for name in results:
            self._unsigned(names[name], name, _BITS[self._kinds[name]])
        self._retype()
        return self.written()

    def _retype(self) -> None:
        graph = self._model.graph
        for array in graph.initializer:
            if array.data_type in _BITS:
                array.CopyFrom(self._bytes(array))
        for value in (*graph.input, *graph.output, *graph.value_info):
            if _kind(value) in _BITS:
                value.type.tensor_type.elem_type = _wide(_kind(value))

    def _bytes(self, array: Any) -> Any:
        dtype = np.int8 if array.data_type in _SIGNED else np.uint8
        return self.arrays.from_array(
            self.arrays.to_array(array).astype(dtype), array.name
        )

    def _node(self, node: Any) -> None:
        """A node whose result is of bytes, cut to the width of what it was."""
        kind = self._kinds.get(node.output[0], 0)
        if node.op_type == "Constant":
            for attribute in node.attribute:
                if attribute.name == "value" and attribute.t.data_type in _BITS:
                    attribute.t.CopyFrom(self._bytes(attribute.t))
        if kind not in _BITS or node.op_type not in ("Cast", "CastLike", *_SCALED):
            self._nodes.append(node)
        elif node.op_type in _SCALED:
            self._clipped(node, kind)
        else:
            self._wrapped(node.input[0], node.output[0], kind)

    def _clipped(self, node: Any, kind: int) -> None:
        for attribute in node.attribute:
            if attribute.name == "output_dtype":
                attribute.i = _wide(kind)
        name, half = node.output[0], 2 ** (_BITS[kind] - 1)
        node.output[0] = f"{name}.wide"
        self._nodes.append(node)
        low, high = (-half, half - 1) if kind in _SIGNED else (0, 2 * half - 1)
        dtype = np.int8 if kind in _SIGNED else np.uint8
        bounds = (self._number(bound, dtype) for bound in (low, high))
        self.op("Clip", node.output[0], *bounds, output=name)

    def _wrapped(self, x: str, name: str, kind: int) -> None:
        """The low bits of whole numbers."""
        half = 2 ** (_BITS[kind] - 1) if kind in _SIGNED else 0
        number = self.op("Cast", x, to=_INT32)
        raised = self.op("Add", number, self._number(half, np.int32))
        mask = self._number(2 ** _BITS[kind] - 1, np.int32)
        low = self.op("BitwiseAnd", raised, mask)
        y = self.op("Sub", low, self._number(half, np.int32))
        self.op("Cast", y, output=name, to=_wide(kind))

    def _signed(self, x: str, bits: int) -> str:
        """Read the low bits of integers as signed numbers."""
        half, whole = (self._number(2**n, np.int8) for n in (bits - 1, bits))
        is_positive = self.op("Less", x, half)
        below = self.op("Sub", x, whole)
        return self.op("Where", is_positive, x, below, output=f"{x}.signed")

    def _unsigned(self, x: str, name: str, bits: int) -> None:
        """Keep the low bits of integers as unsigned numbers."""
        zero, whole = (self._number(n, np.int8) for n in (0, 2**bits))
        is_negative = self.op("Less", x, zero)
        self.op("Where", is_negative, self.op("Add", x, whole), x, output=name)

    def _number(self, value: int, dtype: Any) -> str:
        return self.constant(np.array(value, dtype))


_SCALED = ("QuantizeLinear",)
