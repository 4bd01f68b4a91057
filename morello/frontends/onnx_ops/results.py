"""Check of an imported graph's results against the types that it declares."""

import importlib
from typing import Any

import numpy as np

from morello.errors import CompileError
from morello.frontends.plain.outlining import element_of
from morello.mlir import ir


def check_results(module: ir.Operation, proto: Any, source: str) -> None:
    """Compare the types of the results with those that a model declares.

    Args:
        module: what torch-mlir makes of the model.
        proto: the model, after shape inference.
        source: the name of the file, for messages.

    Raises:
        CompileError: a shape or a dtype differs.
    """
    for op in module.regions[0].blocks[0].operations:
        if op.operation.name != "func.func":
            continue
        kind = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
        for result, value in zip(kind.results, proto.graph.output, strict=True):
            _check(result.maybe_downcast(), value, source)


def _check(result: ir.Type, value: Any, source: str) -> None:
    declared = value.type.tensor_type
    if not isinstance(result, ir.RankedTensorType) or not declared.elem_type:
        return
    element = element_of(result)
    dtype = element.numpy if element is not None else None
    sizes = [d.dim_value if d.HasField("dim_value") else -1 for d in declared.shape.dim]
    shape = [size if size >= 0 else -1 for size in result.shape]
    pairs = zip(sizes, shape, strict=False)
    fits = not declared.HasField("shape") or (
        len(sizes) == len(shape) and all(-1 in (a, b) or a == b for a, b in pairs)
    )
    if fits and (dtype is None or _is_like(dtype, declared.elem_type)):
        return
    onnx: Any = importlib.import_module("onnx")
    name = onnx.TensorProto.DataType.Name(declared.elem_type).lower()
    text = "x".join("?" if size < 0 else str(size) for size in sizes)
    raise CompileError(
        f"{source}: the result '{value.name}' is {text} {name} by the model, and "
        f"{result} as torch-mlir computes it",
        "check the declared type of this result, or compute it outside of the model",
    )


def _is_like(dtype: np.dtype[Any], declared: int) -> bool:
    """Whether elements have a declared type, but for their sign, which MLIR lacks."""
    helper: Any = importlib.import_module("onnx.helper")
    wanted = helper.tensor_dtype_to_np_dtype(declared)
    is_integer = dtype.kind == "i" and wanted.kind in "iu"
    return bool(dtype == wanted or (is_integer and dtype.itemsize == wanted.itemsize))
