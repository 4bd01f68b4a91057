"""Scatters of StableHLO, and of torch-mlir's ``tm_tensor``, as loops over updates."""

import dataclasses
import functools
import importlib
from typing import Any

from morello.frontends.stablehlo.scalar_body import (
    Body,
    ScalarBody,
    as_type,
    index_constants,
    is_unsigned,
    nested,
    signless,
)
from morello.mlir import BACKEND, all_ops, dialect, ir, replace_op

_INPUTS = 3
"""Operands of a scatter into one tensor: that, places, and updates."""

_OF_TORCH = "tm_tensor.scatter"


def scattered(module: ir.Operation) -> None:
    """Replace the scatters of a module into one tensor each, in place."""
    for op in all_ops(module, "stablehlo.scatter"):
        if len(op.operands) == _INPUTS:
            _Scatter(op, _Numbers.of(op), ScalarBody(op), *op.operands).run()


def scattered_of_torch(module: ir.Operation) -> None:
    """Replace the scatters of torch-mlir in a module, in place. Places below 0 count
    from the end, as PyTorch has it."""
    for op in all_ops(module, _OF_TORCH):
        updates, places, into = op.operands
        update, held = op.regions[0].blocks[0].arguments
        body = Body(op.regions[0].blocks[0], (held, update))
        numbers = _Numbers.of_torch(op)
        _Scatter(op, numbers, body, into, places, updates).run()


@dataclasses.dataclass(frozen=True)
class _Numbers:
    """How axes of the three operands belong to each other."""

    windows: tuple[int, ...]
    """The axes of the updates that lie in windows."""
    inserted: tuple[int, ...]
    batches: tuple[int, ...]
    place_batches: tuple[int, ...]
    scattered: tuple[int, ...]
    """The axis of the tensor for each number of a place."""
    vector: int
    """The axis of the index tensor along which one index vector lies."""
    is_wrapped: bool = False
    """Whether places below 0 count from the end."""

    @classmethod
    def of(cls, op: ir.Operation) -> "_Numbers":
        stablehlo: Any = importlib.import_module(f"{BACKEND}._mlir_libs._stablehlo")
        numbers = stablehlo.ScatterDimensionNumbers(
            op.attributes["scatter_dimension_numbers"]
        )
        return cls(
            tuple(numbers.update_window_dims),
            tuple(numbers.inserted_window_dims),
            tuple(numbers.input_batching_dims),
            tuple(numbers.scatter_indices_batching_dims),
            tuple(numbers.scattered_dims_to_operand_dims),
            numbers.index_vector_dim,
        )

    @classmethod
    def of_torch(cls, op: ir.Operation) -> "_Numbers":
        """Updates lie along the first axis of theirs; windows have the last axes of the
        tensor."""
        updates, _, into = (len(o.type.maybe_downcast().shape) for o in op.operands)
        places = tuple(ir.DenseI64ArrayAttr(op.attributes["dimension_map"]))
        inserted = tuple(range(into - (updates - 1)))
        windows = tuple(range(1, updates))
        return cls(windows, inserted, (), (), places, 1, is_wrapped=True)


class _Scatter:
    def __init__(
        self,
        op: ir.Operation,
        numbers: _Numbers,
        combine: Body,
        into: ir.Value,
        places: ir.Value,
        updates: ir.Value,
    ) -> None:
        self.op = op
        self.into, self.places, self.updates = into, places, updates
        self.has_unsigned_places = is_unsigned(places)
        self.shape, self.place_shape, self.update_shape = (
            tuple(value.type.maybe_downcast().shape)
            for value in (into, places, updates)
        )
        self.numbers = numbers
        self.combine = combine

    def run(self) -> None:
        """Write the loop, and remove the op."""
        with self.op.location, ir.InsertionPoint(self.op):
            self.places, self.updates = signless(self.places), signless(self.updates)
            into = signless(self.into)
            (result,) = nested(self.update_shape, [into], self._updated)
            result = as_type(result, self.into.type)
        replace_op(self.op, result)

    def _updated(
        self, tensors: list[ir.Value], update: list[ir.Value]
    ) -> list[ir.Value]:
        """The tensor after one update; where its window is not inside, as it is. Data
        whose windows are inside take the branch that processors foresee."""
        scf, tensor = dialect("scf"), dialect("tensor")
        outer = [u for i, u in enumerate(update) if i not in self.numbers.windows]
        starts = {
            axis: self._place(outer, number)
            for number, axis in enumerate(self.numbers.scattered)
        }
        (into,), at = tensors, self._index(starts, update, outer)
        branch = scf.IfOp(self._is_inside(starts), [into.type], has_else=True)
        with ir.InsertionPoint(branch.then_block):
            number = tensor.ExtractOp(self.updates, update).result
            held = tensor.ExtractOp(into, at).result
            written = self.combine(held, number)
            scf.YieldOp([tensor.InsertOp(written, into, at).result])
        with ir.InsertionPoint(branch.else_block):
            scf.YieldOp([into])
        return [branch.result]

    def _index(
        self, starts: dict[int, ir.Value], update: list[ir.Value], outer: list[ir.Value]
    ) -> list[ir.Value]:
        """The index of the element that an update is written to.

        Args:
            starts: the place of its window along the axes that have one.
            outer: the part of its own index that says which window it is of.
        """
        arith, numbers = dialect("arith"), self.numbers
        (zero,) = index_constants([0])
        at = [starts.get(axis, zero) for axis in range(len(self.shape))]
        around = [i for i in range(len(self.place_shape)) if i != numbers.vector]
        for axis, place_axis in zip(
            numbers.batches, numbers.place_batches, strict=True
        ):
            at[axis] = outer[around.index(place_axis)]
        for axis, update_axis in self._windows.items():
            at[axis] = arith.AddIOp(at[axis], update[update_axis]).result
        return at

    @functools.cached_property
    def _windows(self) -> dict[int, int]:
        """The axes of the tensor that windows have, each with that of the updates."""
        numbers = self.numbers
        without = {*numbers.inserted, *numbers.batches}
        axes = [axis for axis in range(len(self.shape)) if axis not in without]
        return dict(zip(axes, numbers.windows, strict=True))

    def _place(self, outer: list[ir.Value], number: int) -> ir.Value:
        arith, tensor = dialect("arith"), dialect("tensor")
        at = list(outer)
        if self.numbers.vector < len(self.place_shape):
            at.insert(self.numbers.vector, index_constants([number])[0])
        element = tensor.ExtractOp(self.places, at).result
        cast = arith.IndexCastUIOp if self.has_unsigned_places else arith.IndexCastOp
        place = cast(ir.IndexType.get(), element).result
        if not self.numbers.is_wrapped:
            return place
        zero, extent = index_constants([0, self.shape[self.numbers.scattered[number]]])
        is_negative = arith.CmpIOp(arith.CmpIPredicate.slt, place, zero).result
        from_end = arith.AddIOp(place, extent).result
        return arith.SelectOp(is_negative, from_end, place).result

    def _is_inside(self, starts: dict[int, ir.Value]) -> ir.Value:
        """Whether all of a window is; XLA leaves out one that is not."""
        arith = dialect("arith")
        truth = ir.IntegerType.get_signless(1)
        inside = arith.ConstantOp(truth, 1).result
        for axis, start in starts.items():
            window = self._windows.get(axis)
            size = 1 if window is None else self.update_shape[window]
            (last,) = index_constants([self.shape[axis] - size])
            below = arith.CmpIOp(arith.CmpIPredicate.ule, start, last).result
            inside = arith.AndIOp(inside, below).result
        return inside
