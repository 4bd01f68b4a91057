"""Convolutions of StableHLO with dilated filters, as `linalg.generic` that keeps them.

StableHLO's own conversion spreads a dilated filter with zeros between its taps, so that
3x3 taps become 5x5 products. Here an image is read at stride · place + dilation · tap.
"""

import importlib
from typing import Any

from morello.mlir import BACKEND, all_ops, dialect, generic, ir


def keep_dilation(module: ir.Operation) -> None:
    """Replace the convolutions of a module that have a dilated filter, in place.

    Those that are transposed, reversed, or have groups of batches stay as they are.
    """
    for op in filter(_is_dilated, all_ops(module, "stablehlo.convolution")):
        with op.location, ir.InsertionPoint(op):
            result = _Convolution(op).build()
        op.results[0].replace_all_uses_with(result)
        op.erase()


def _numbers(op: ir.Operation, name: str, default: int) -> list[int]:
    """An attribute of a number for each spatial dimension, or the default for each."""
    if name not in op.attributes:
        rank = ir.RankedTensorType(op.results[0].type).rank
        return [default] * (rank - 2)
    attribute = op.attributes[name].maybe_downcast()
    if isinstance(attribute, ir.DenseBoolArrayAttr):
        return [int(value) for value in attribute]
    return list(ir.DenseI64ArrayAttr(attribute))


def _is_dilated(op: ir.Operation) -> bool:
    batches = int(ir.IntegerAttr(op.attributes["batch_group_count"]).value)
    return (
        any(n > 1 for n in _numbers(op, "rhs_dilation", 1))
        and all(n == 1 for n in _numbers(op, "lhs_dilation", 1))
        and not any(_numbers(op, "window_reversal", 0))
        and batches == 1
        and all(n >= 0 for pair in _padding(op) for n in pair)
    )


def _padding(op: ir.Operation) -> list[tuple[int, int]]:
    """The zeros before and after each spatial dimension."""
    count = len(_numbers(op, "rhs_dilation", 1))
    if "padding" not in op.attributes:
        return [(0, 0)] * count
    attribute = ir.DenseIntElementsAttr(op.attributes["padding"])
    if attribute.is_splat:
        number = int(ir.IntegerAttr(attribute.get_splat_value()).value)
        return [(number, number)] * count
    flat = list(attribute)
    return [(flat[2 * i], flat[2 * i + 1]) for i in range(count)]


class _Convolution:
    """One convolution; its loops are batch, group, places, filters, taps, channels."""

    def __init__(self, op: ir.Operation) -> None:
        stablehlo: Any = importlib.import_module(f"{BACKEND}._mlir_libs._stablehlo")
        self.op = op
        self.numbers = stablehlo.ConvDimensionNumbers(
            op.attributes["dimension_numbers"]
        )
        self.groups = int(ir.IntegerAttr(op.attributes["feature_group_count"]).value)
        self.rank = len(self.numbers.input_spatial_dimensions)
        self.loops = 2 * self.rank + 4

    def build(self) -> ir.Value:
        """Build the ops at the current insertion point, and return the result."""
        image = self._padded(self.op.operands[0])
        numbers = self.numbers
        image = self._grouped(image, numbers.input_feature_dimension)
        filters = self._grouped(
            self.op.operands[1], numbers.kernel_output_feature_dimension
        )
        result = ir.RankedTensorType(self.op.results[0].type)
        shape = self._split(list(result.shape), numbers.output_feature_dimension)
        wide = ir.RankedTensorType.get(shape, result.element_type)
        zero = _zero(result.element_type)
        init = dialect("arith").ConstantOp(
            wide, ir.DenseElementsAttr.get_splat(wide, zero)
        )
        out = self._generic(image, filters, init.result, wide)
        return _reshaped(out, list(result.shape))

    def _padded(self, image: ir.Value) -> ir.Value:
        kind = ir.RankedTensorType(image.type)
        low, high = [0] * kind.rank, [0] * kind.rank
        spatial = self.numbers.input_spatial_dimensions
        for dim, (before, after) in zip(spatial, _padding(self.op), strict=True):
            low[dim], high[dim] = before, after
        if not any((*low, *high)):
            return image
        scalar = ir.RankedTensorType.get([], kind.element_type)
        zero = ir.DenseElementsAttr.get_splat(scalar, _zero(kind.element_type))
        number = dialect("arith").ConstantOp(scalar, zero).result
        shape = [n + a + b for n, a, b in zip(kind.shape, low, high, strict=True)]
        return ir.Operation.create(
            "stablehlo.pad",
            results=[ir.RankedTensorType.get(shape, kind.element_type)],
            operands=[image, number],
            attributes={
                "edge_padding_low": ir.DenseI64ArrayAttr.get(low),
                "edge_padding_high": ir.DenseI64ArrayAttr.get(high),
                "interior_padding": ir.DenseI64ArrayAttr.get([0] * kind.rank),
            },
        ).results[0]

    def _grouped(self, value: ir.Value, dim: int) -> ir.Value:
        kind = ir.RankedTensorType(value.type)
        return _reshaped(value, self._split(list(kind.shape), dim))

    def _split(self, shape: list[int], dim: int) -> list[int]:
        """A shape with the groups before a dimension of features."""
        return [*shape[:dim], self.groups, shape[dim] // self.groups, *shape[dim + 1 :]]

    def _generic(
        self, image: ir.Value, filters: ir.Value, init: ir.Value, kind: ir.Type
    ) -> ir.Value:
        numbers, rank = self.numbers, self.rank
        dims = [ir.AffineDimExpr.get(i) for i in range(self.loops)]
        batch, group, out, channel = 0, 1, 2 + rank, self.loops - 1
        places = dims[2 : 2 + rank]
        taps = dims[3 + rank : 3 + 2 * rank]
        strides = _numbers(self.op, "window_strides", 1)
        steps = _numbers(self.op, "rhs_dilation", 1)
        windows = [
            place * stride + tap * step
            for place, stride, tap, step in zip(
                places, strides, taps, steps, strict=True
            )
        ]
        maps = [
            self._map(
                numbers.input_batch_dimension,
                dims[batch],
                numbers.input_feature_dimension,
                [dims[group], dims[channel]],
                numbers.input_spatial_dimensions,
                windows,
            ),
            self._map(
                numbers.kernel_input_feature_dimension,
                dims[channel],
                numbers.kernel_output_feature_dimension,
                [dims[group], dims[out]],
                numbers.kernel_spatial_dimensions,
                taps,
            ),
            self._map(
                numbers.output_batch_dimension,
                dims[batch],
                numbers.output_feature_dimension,
                [dims[group], dims[out]],
                numbers.output_spatial_dimensions,
                places,
            ),
        ]
        kinds = ["parallel"] * (3 + rank) + ["reduction"] * (rank + 1)
        op = generic(kind, [image, filters, init], maps, kinds)
        _fill_body(op)
        return op.results[0]

    def _map(
        self,
        plain: int,
        plain_at: ir.AffineExpr,
        features: int,
        features_at: list[ir.AffineExpr],
        spatial: list[int],
        spatial_at: list[ir.AffineExpr],
    ) -> ir.AffineMap:
        """How an operand is indexed, from what indexes each of its dimensions."""
        at = {plain: [plain_at], features: features_at}
        at |= {d: [e] for d, e in zip(spatial, spatial_at, strict=True)}
        results = [expr for dim in sorted(at) for expr in at[dim]]
        return ir.AffineMap.get(self.loops, 0, results)


def _zero(element: ir.Type) -> ir.Attribute:
    return ir.FloatAttr.get(element, 0.0)


def _reshaped(value: ir.Value, shape: list[int]) -> ir.Value:
    kind = ir.RankedTensorType(value.type)
    if list(kind.shape) == shape:
        return value
    wide = ir.RankedTensorType.get(shape, kind.element_type)
    return ir.Operation.create(
        "stablehlo.reshape", results=[wide], operands=[value]
    ).results[0]


def _fill_body(op: ir.Operation) -> None:
    """Fill the body of the loop: a sum of products in the dtype of the result."""
    arith, linalg = dialect("arith"), dialect("linalg")
    block = op.regions[0].blocks[0]
    a, b, total = block.arguments
    with ir.InsertionPoint(block):
        if a.type != total.type:
            a = arith.ExtFOp(total.type, a).result
            b = arith.ExtFOp(total.type, b).result
        product = arith.MulFOp(a, b).result
        linalg.YieldOp([arith.AddFOp(total, product).result])
