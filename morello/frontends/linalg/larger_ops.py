"""Ops that become smaller ones before anything else reads them: `made_smaller`.

`linalg.softmax` is decomposed as upstream does it; `stablehlo.reduce_precision` to the
bits of bf16 is a cast and a cast back.
"""

import importlib
from typing import Any

from morello.mlir import BACKEND, all_ops, ir
from morello.spec.elements.dtypes import NARROW_FLOATS

_DECOMPOSE = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op) {
    %found = transform.structured.match ops{["linalg.softmax"]} in %module
        : (!transform.any_op) -> !transform.any_op
    %made = transform.structured.decompose_interface %found
        : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
"""

_PRECISION = "stablehlo.reduce_precision"


def made_smaller(module: ir.Operation) -> None:
    """Write these ops as smaller ones, in place."""
    for op in all_ops(module, _PRECISION):
        _cast_and_back(op)
    if all_ops(module, "linalg.softmax"):
        interpreter: Any = importlib.import_module(
            f"{BACKEND}.dialects.transform.interpreter"
        )
        script = ir.Module.parse(_DECOMPOSE)
        sequence = script.body.operations[0]
        interpreter.apply_named_sequence(module, sequence, script)


def _cast_and_back(op: ir.Operation) -> None:
    bits = tuple(
        int(ir.IntegerAttr(op.attributes[name]).value)
        for name in ("exponent_bits", "mantissa_bits")
    )
    kind = op.results[0].type.maybe_downcast()
    wide = isinstance(kind, ir.RankedTensorType) and kind.element_type.maybe_downcast()
    if bits not in _NARROW or not isinstance(wide, ir.F32Type):
        return
    with ir.InsertionPoint(op), op.location:
        value = op.operands[0]
        for element in (ir.Type.parse(_NARROW[bits].mlir), wide):
            shape = ir.RankedTensorType.get(kind.shape, element)
            made = ir.Operation.create(
                "stablehlo.convert", results=[shape], operands=[value]
            )
            value = made.results[0]
    op.results[0].replace_all_uses_with(value)
    op.erase()


_NARROW = {
    (8 * dtype.itemsize - 1 - dtype.mantissa, dtype.mantissa): dtype
    for dtype in NARROW_FLOATS
}
"""Floats by the bits of their exponents and of their mantissas."""
