"""Constant folding of a graph of ONNX: `folded`.

Exporters compute sizes by `Shape`, and choose by `If` among branches for shapes. With
shapes known these are constants, which onnxscript's optimizer evaluates.
"""

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

_MOST = 1 << 16
"""Elements of an array that is evaluated. Larger ones are left to the Specs of the
model, which are computed once."""

_SIZES = frozenset({"If", "Shape", "Size"})
"""Ops whose results may be known though their inputs are not."""


def folded(proto: Any) -> Any:
    """A model without what is known before a call.

    Args:
        proto: its inputs have shapes. It is not changed.

    Returns:
        The same object where nothing is known.
    """
    if not _has_constants(proto.graph):
        return proto
    ir: Any = importlib.import_module("onnx_ir")
    optimizer: Any = importlib.import_module("onnxscript.optimizer")
    model = ir.serde.deserialize_model(proto)
    result = optimizer.fold_constants(
        model,
        onnx_shape_inference=True,
        input_size_limit=_MOST,
        output_size_limit=_MOST,
        should_fold=_is_evaluated,
    )
    if not result.modified:
        return proto
    optimizer.remove_unused_nodes(model)
    return ir.serde.serialize_model(model)


def _has_bytes(array: Any) -> bool:
    """Whether a constant is a matrix of bytes, or has more axes."""
    return array is not None and len(array.shape) > 1 and array.dtype.bitwidth == 8


def _has_constants(graph: Any) -> bool:
    """Whether a node of a graph may be evaluated."""
    known = {held.name for held in graph.initializer}
    for node in graph.node:
        inputs = [name for name in node.input if name]
        if node.op_type == "Constant":
            known.update(node.output)
        elif (
            node.op_type in _SIZES
            or (inputs and known.issuperset(inputs))
            or any(map(_has_constants, _bodies(node)))
        ):
            return True
    return False


def _bodies(node: Any) -> Iterator[Any]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g


def _is_evaluated(node: Any) -> bool | None:
    """Whether to evaluate a `ConstantOfShape`, which is left by default, or what makes
    floats of matrices of bytes, which products read; None for the default of others."""
    if node.op_type == "DequantizeLinear":
        return False
    if node.op_type == "Cast":
        return False if _has_bytes(node.inputs[0].const_value) else None
    if node.op_type != "ConstantOfShape":
        return None
    shape = node.inputs[0].const_value
    return shape is not None and 0 <= int(np.prod(shape.numpy(), dtype=float)) <= _MOST
