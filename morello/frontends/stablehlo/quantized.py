"""Quantised types of StableHLO: `PLAIN` writes ops of these by their definitions.

Each is the op of the numbers that integers stand for, whose results are rounded to
integers again. Upstream's own way of products by integers rounds towards zero.
"""

from collections.abc import Iterator

from morello.frontends.refusals import OpError
from morello.mlir import all_ops, ir

PLAIN = (
    "builtin.module(func.func(stablehlo-legalize-quantized-op-to-qdq,"
    "stablehlo-legalize-quant-to-math))"
)
"""The passes that leave integers for quantised types."""

_QUANTIZED, _UNSIGNED = "!quant.uniform<", "!quant.uniform<u"


def quantized(module: ir.Operation) -> Iterator[tuple[ir.Operation, OpError | None]]:
    """The ops of a module with values of quantised types, and why one is refused: the
    passes take unsigned integers for signed ones."""
    for op in all_ops(module):
        blocks = (block for region in op.regions for block in region.blocks)
        inputs = (argument for block in blocks for argument in block.arguments)
        elements = [_element(value) for value in (*op.results, *inputs)]
        if any(element.startswith(_UNSIGNED) for element in elements):
            yield op, OpError("its integers have no sign", "quantise to i8 with a sign")
        elif any(element.startswith(_QUANTIZED) for element in elements):
            yield op, None


def _element(value: ir.Value) -> str:
    kind = value.type.maybe_downcast()
    return str(kind.element_type) if isinstance(kind, ir.RankedTensorType) else ""
