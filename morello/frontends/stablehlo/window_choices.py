"""Scatters to an element of each window, ``stablehlo.select_and_scatter``, as loops.

They are the gradients of maxima and minima over windows, which may overlap.
"""

from collections.abc import Sequence

from morello.frontends.stablehlo.scalar_body import (
    ScalarBody,
    as_type,
    index_constants,
    nested,
    signless,
)
from morello.mlir import all_ops, build_value, dialect, ir, replace_op


def scattered_to_windows(module: ir.Operation) -> None:
    """Replace such scatters of a module, in place; those into no element are left."""
    for op in all_ops(module, "stablehlo.select_and_scatter"):
        if all(op.operands[0].type.maybe_downcast().shape):
            _WindowScatter(op).run()


class _WindowScatter:
    """A loop over windows: each chooses an element, and a number is scattered there."""

    def __init__(self, op: ir.Operation) -> None:
        self.op = op
        self.shape, self.source_shape = (
            tuple(value.type.maybe_downcast().shape) for value in op.operands[:2]
        )
        rank = len(self.shape)
        self.window = self._numbers("window_dimensions") or (1,) * rank
        self.strides = self._numbers("window_strides") or (1,) * rank
        self.before = (0,) * rank
        if "padding" in op.attributes:
            padding = ir.DenseIntElementsAttr(op.attributes["padding"])
            flat = [padding[i] for i in range(2 * rank)]  # splats are sequences, too
            self.before = tuple(flat[::2])
        self.select, self.combine = ScalarBody(op, 0), ScalarBody(op, 1)

    def _numbers(self, name: str) -> tuple[int, ...]:
        """An attribute of a number for each axis; empty where it is left out."""
        attributes = self.op.attributes
        return (
            tuple(ir.DenseI64ArrayAttr(attributes[name])) if name in attributes else ()
        )

    def run(self) -> None:
        """Write the loop, and remove the op."""
        old, start = self.op.results[0], self.op.operands[2]
        with self.op.location, ir.InsertionPoint(self.op):
            none = ir.DenseI64ArrayAttr.get([])
            spread = "stablehlo.broadcast_in_dim"
            into = build_value(spread, old.type, start, broadcast_dimensions=none)
            self.operand, self.source = map(signless, self.op.operands[:2])
            (result,) = nested(self.source_shape, [signless(into)], self._scattered)
            result = as_type(result, old.type)
        replace_op(self.op, result)

    def _scattered(
        self, tensors: list[ir.Value], window: list[ir.Value]
    ) -> list[ir.Value]:
        """The tensor after one window; one that lies in the padding changes nothing."""
        arith, tensor = dialect("arith"), dialect("tensor")
        zeros = index_constants([0] * len(self.shape))
        first = tensor.ExtractOp(self.operand, zeros).result
        none = arith.ConstantOp(ir.IntegerType.get_signless(1), 0).result

        def after(chosen: list[ir.Value], offset: list[ir.Value]) -> list[ir.Value]:
            return self._chosen(chosen, window, offset)

        is_any, _, *at = nested(self.window, [none, first, *zeros], after)
        (into,) = tensors
        held = tensor.ExtractOp(into, at).result
        combined = self.combine(held, tensor.ExtractOp(self.source, window).result)
        written = arith.SelectOp(is_any, combined, held).result
        return [tensor.InsertOp(written, into, at).result]

    def _chosen(
        self,
        chosen: list[ir.Value],
        window: Sequence[ir.Value],
        offset: Sequence[ir.Value],
    ) -> list[ir.Value]:
        """Whether an element is chosen, which, and its place, after one more element of
        the window; those in the padding are none."""
        arith, tensor = dialect("arith"), dialect("tensor")
        is_any, best, *_ = chosen
        (zero,) = index_constants([0])
        truth = ir.IntegerType.get_signless(1)
        true = is_inside = arith.ConstantOp(truth, 1).result
        at = []
        for axis, size in enumerate(self.shape):
            stride, before, last = index_constants(
                [self.strides[axis], self.before[axis], size - 1]
            )
            place = arith.AddIOp(
                arith.MulIOp(window[axis], stride).result, offset[axis]
            ).result
            place = arith.SubIOp(place, before).result
            is_below = arith.CmpIOp(arith.CmpIPredicate.ule, place, last).result
            is_inside = arith.AndIOp(is_inside, is_below).result
            at.append(arith.SelectOp(is_below, place, zero).result)
        element = tensor.ExtractOp(self.operand, at).result
        stays = arith.AndIOp(is_any, self.select(best, element)).result
        takes = arith.AndIOp(is_inside, arith.XOrIOp(stays, true).result).result
        new = [true, element, *at]
        return [
            arith.SelectOp(takes, one, other).result
            for one, other in zip(new, chosen, strict=True)
        ]
