"""Lookups in tables of scaled integers (``com.microsoft.GatherBlockQuantized``) as
lookups of the integers and of their scales: `looked_up`."""

from typing import Any

import numpy as np

from morello.errors import CompileError
from morello.frontends.onnx_ops.writing import NodeWriter
from morello.weights.scaled import unpacked

_UINT8 = 2
"""The number of a type in ONNX."""


def looked_up(proto: Any) -> Any:
    """A model with such lookups in ops of the standard; the same object where it has
    none.

    Args:
        proto: is not changed.

    Raises:
        CompileError: a table is no constant, or scales are of blocks along the axis of
            the lookup.
    """
    has_any = any(node.op_type == _KIND for node in proto.graph.node)
    return _Lookups(proto).run() if has_any else proto


_KIND = "GatherBlockQuantized"


class _Lookups(NodeWriter):
    def run(self) -> Any:
        held = {array.name: array for array in self._model.graph.initializer}
        for node in self._model.graph.node:
            if node.op_type == _KIND:
                self._name = node.name
                self._lookup(node, held)
            else:
                self._nodes.append(node)
        return self.written()

    def _lookup(self, node: Any, held: dict[str, Any]) -> None:
        numbers = {one.name: one.i for one in node.attribute}
        table, places, scales, *zeros = filter(None, node.input)
        if table not in held:
            raise self._refusal(node, "a table that is no constant", "an initializer")
        rank = len(held[table].dims)
        axis, along = (
            numbers.get(name, default) % rank
            for name, default in (("gather_axis", 0), ("quantize_axis", 1))
        )
        if axis == along:
            raise self._refusal(node, "blocks along its axis", "blocks along another")
        parts = [table, scales, *zeros]
        middle = []
        if held[table].data_type == _UINT8:
            bits = numbers.get("bits", 4)
            parts = [self._bytes(held[table], bits), scales]
            parts += [self._bytes(held[zero], bits) for zero in zeros]
            if not zeros:
                middle = [self.constant(np.array(1 << (bits - 1), np.uint8))]
        self.op(
            "DequantizeLinear",
            *(self.op("Gather", part, places, axis=axis) for part in parts),
            *middle,
            output=node.output[0],
            axis=along - rank if along > axis else along,
            block_size=numbers.get("block_size", 128),
        )

    def _bytes(self, array: Any, bits: int) -> str:
        """Numbers of some bits that share bytes along the last axis, a byte each."""
        return self.constant(unpacked(self.arrays.to_array(array), bits))

    def _refusal(self, node: Any, what: str, remedy: str) -> CompileError:
        return CompileError(
            f"{node.name or node.output[0]} (onnx.{_KIND}) has {what}",
            f"give it {remedy}",
        )
