"""Ops that become smaller ones before anything else reads them: `decompose_larger_ops`.

`linalg.softmax` is decomposed as upstream does it; `stablehlo.reduce_precision` to the
bits of bf16 is a cast and a cast back. `tensor.pad` by negative amounts cuts off before
it pads: upstream takes one whose result has its source's type for the source.
"""

import importlib
from typing import Any

from morello.mlir import BACKEND, all_ops, build_value, dialect, ir, replace_op
from morello.spec.elements.dtypes import NARROW_FLOATS

_DECOMPOSE = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op) {
    %softmaxes = transform.structured.match ops{["linalg.softmax"]} in %module
        : (!transform.any_op) -> !transform.any_op
    %decomposed = transform.structured.decompose_interface %softmaxes
        : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
"""

_PRECISION = "stablehlo.reduce_precision"


def decompose_larger_ops(module: ir.Operation) -> None:
    """Write these ops as smaller ones, in place."""
    for op in all_ops(module, _PRECISION):
        _cast_and_back(op)
    for op in all_ops(module, "tensor.pad"):
        _cut_first(op)
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
            value = build_value("stablehlo.convert", shape, value)
    replace_op(op, value)


_NARROW = {
    (8 * dtype.itemsize - 1 - dtype.mantissa, dtype.mantissa): dtype
    for dtype in NARROW_FLOATS
}
"""Floats by the bits of their exponents and of their mantissas."""


def _cut_first(op: ir.Operation) -> None:
    """Take the elements that are cut off from the source, not from what is padded."""
    open_size = ir.ShapedType.get_dynamic_size()
    amounts = {
        name: list(ir.DenseI64ArrayAttr(op.attributes[name]))
        for name in ("static_low", "static_high")
    }
    cuts = {
        name: [-min(n, 0) if n != open_size else 0 for n in numbers]
        for name, numbers in amounts.items()
    }
    low, high = cuts.values()
    kind = ir.RankedTensorType(op.operands[0].type)
    if not any(low + high) or not kind.has_static_shape:
        return
    sizes = [n - a - b for n, a, b in zip(kind.shape, low, high, strict=True)]
    if min(sizes) < 0:
        return  # it cuts off what it pads
    with ir.InsertionPoint(op), op.location:
        left = dialect("tensor").ExtractSliceOp(
            ir.RankedTensorType.get(sizes, kind.element_type),
            op.operands[0],
            [],
            [],
            [],
            low,
            sizes,
            [1] * len(sizes),
        )
        op.operands[0] = left.result
        for name, numbers in amounts.items():
            added = [n + cut for n, cut in zip(numbers, cuts[name], strict=True)]
            op.attributes[name] = ir.DenseI64ArrayAttr.get(added)
