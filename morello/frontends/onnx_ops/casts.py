"""Casts to integers of 16 bits, and to unsigned ones of more: `convert_casts`.

torch-mlir imports such an op of ONNX, and knows no number for its dtype.
"""

import importlib
from typing import Any

from morello.mlir import BACKEND, all_ops, ir

_SHORT, _INT, _LONG = 2, 3, 4
_NUMBERS = {4: _SHORT, 5: _SHORT, 12: _INT, 13: _LONG}
"""For the numbers of uint16, int16, uint32 and uint64 in ONNX that of the integers with
as many bits in PyTorch: the type of a result says which have a sign."""


def convert_casts(module: ir.Operation) -> None:
    """Make casts to these dtypes ops of PyTorch, in place.

    Args:
        module: as it is imported, in the dialect ``torch``.
    """
    torch: Any = importlib.import_module(f"{BACKEND}.dialects.torch")
    for op in list(all_ops(module, "torch.operator")):
        if ir.StringAttr(op.attributes["name"]).value != "onnx.Cast":
            continue
        number = _NUMBERS.get(ir.IntegerAttr(op.attributes["torch.onnx.to"]).value)
        if number is None:
            continue
        with op.location, ir.InsertionPoint(op):
            signless = ir.IntegerType.get_signless(64)
            dtype = torch.ConstantIntOp(ir.IntegerAttr.get(signless, number))
            made = ir.Operation.create(
                "torch.prims.convert_element_type",
                [result.type for result in op.results],
                [op.operands[0], dtype.result],
            )
        op.results[0].replace_all_uses_with(made.results[0])
        op.erase()
