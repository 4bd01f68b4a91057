"""Ops of ONNX that torch-mlir imports and does not convert: `convert`.

It knows no number for the dtype of casts to integers of 16 bits and to unsigned ones of
more, and of updates at places that are data neither the greatest nor the least.
"""

import importlib
from typing import Any

from morello.mlir import BACKEND, all_ops, ir, replace_op, result_of

_SHORT, _INT, _LONG = 2, 3, 4
_NUMBERS = {4: _SHORT, 5: _SHORT, 12: _INT, 13: _LONG}
"""For the numbers of uint16, int16, uint32 and uint64 in ONNX that of the integers with
as many bits in PyTorch: the type of a result says which have a sign."""

_EXTREMES = {"max": "amax", "min": "amin"}
"""The names of reductions of ONNX in PyTorch."""


def convert(module: ir.Operation) -> None:
    """Make such ops those of PyTorch, in place.

    Args:
        module: as it is imported, in the dialect ``torch``.
    """
    for op in list(all_ops(module, "torch.operator")):
        kind = _text(op, "name")
        with op.location, ir.InsertionPoint(op):
            if kind == "onnx.Cast":
                replacement = _cast(op)
            elif kind == "onnx.ScatterElements":
                replacement = _scattered(op)
            else:
                continue
        if replacement is not None:
            replace_op(op, *replacement.results)


def _cast(op: ir.Operation) -> ir.Operation | None:
    number = _NUMBERS.get(ir.IntegerAttr(op.attributes["torch.onnx.to"]).value)
    if number is None:
        return None
    return _op("prims.convert_element_type", op, op.operands[0], _integer(number))


def _scattered(op: ir.Operation) -> ir.Operation | None:
    reduction = _EXTREMES.get(_text(op, "torch.onnx.reduction"))
    if reduction is None:
        return None
    dialect, axis = _dialect(), 0
    data, places, updates = op.operands
    if "torch.onnx.axis" in op.attributes:
        axis = ir.IntegerAttr(op.attributes["torch.onnx.axis"]).value % _rank(data)
    name = dialect.ConstantStrOp(ir.StringAttr.get(reduction)).result
    includes = dialect.ConstantBoolOp(ir.BoolAttr.get(True)).result
    operands = data, _integer(axis), places, updates, name, includes
    return _op("aten.scatter_reduce.two", op, *operands)


def _op(name: str, op: ir.Operation, *operands: ir.Value) -> ir.Operation:
    """A new op of PyTorch that gives the results of an op that it replaces."""
    types = [result.type for result in op.results]
    return ir.Operation.create(f"torch.{name}", types, operands)


def _integer(number: int) -> ir.Value:
    signless = ir.IntegerType.get_signless(64)
    return result_of(_dialect().ConstantIntOp(ir.IntegerAttr.get(signless, number)))


def _text(op: ir.Operation, name: str) -> str:
    """A text that an op has; empty if it has none."""
    if name not in op.attributes:
        return ""
    text: str = ir.StringAttr(op.attributes[name]).value
    return text


def _rank(value: ir.Value) -> int:
    """The number of axes by its type, as ``!torch.vtensor<[4,3],f32>``."""
    sizes = str(value.type).partition("[")[2].partition("]")[0]
    return sizes.count(",") + 1


def _dialect() -> Any:
    return importlib.import_module(f"{BACKEND}.dialects.torch")
