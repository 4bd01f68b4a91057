"""Sorts of StableHLO, and of torch-mlir's ``tm_tensor``, by merging: sorted runs become
runs of twice the length, in one pass over the elements.

Where slices alone read the first elements of a sort, runs have no more than these. A
few first elements are selected in one pass: each element is compared with the last of
those that are selected so far, and is inserted where it is before that.
"""

import abc
from collections.abc import Callable, Sequence

from morello.frontends.plain.work import SELDOM
from morello.frontends.stablehlo.elements import element_type
from morello.frontends.stablehlo.keyed_sorts import sorted_by_keys
from morello.frontends.stablehlo.scalar_body import (
    ScalarBody,
    as_type,
    index_constants,
    nested,
    signless,
)
from morello.mlir import all_ops, dialect, ir, replace_op, result_of

Numbers = Sequence[ir.Value]
Order = Callable[..., ir.Value]
"""Whether an element is before another, of numbers in turns: of each tensor one of the
first element and one of the second."""


def ordered(module: ir.Operation) -> None:
    """Replace the sorts of a module, in place: all are stable."""
    for op in all_ops(module, "stablehlo.sort"):
        _order(op, ScalarBody(op))


def ordered_of_torch(module: ir.Operation) -> None:
    """Replace the sorts of torch-mlir in a module, in place. NaN is the greatest
    number, as PyTorch has it, and equal elements stay in their order."""
    for op in all_ops(module, "tm_tensor.sort"):
        (block,) = op.regions[0].blocks
        compare, is_down = block.operations[0], _is_down(block.operations[0])
        axis, shape = _axis(op)
        if _is_selected(_most(op), shape[axis]):
            _order(op, _order_of_torch(compare, is_down))
            continue
        with op.location, ir.InsertionPoint(op):
            tensors = sorted_by_keys(list(op.operands), axis, is_down)
        replace_op(op, *tensors)


def _is_down(compare: ir.Operation) -> bool:
    """Whether a comparison of torch-mlir, which takes equal ones, puts the greatest
    first."""
    arith = dialect("arith")
    predicate = ir.IntegerAttr(compare.attributes["predicate"]).value
    if compare.operation.name == "arith.cmpi":
        return bool(predicate == arith.CmpIPredicate.sge)
    return bool(predicate == arith.CmpFPredicate.OGE)


def _order_of_torch(compare: ir.Operation, is_down: bool) -> Order:
    """The strict order that torch-mlir means by a comparison that takes equal ones."""
    arith = dialect("arith")
    if compare.operation.name == "arith.cmpi":
        strict = arith.CmpIPredicate.sgt if is_down else arith.CmpIPredicate.slt
        return lambda a, b, *others: arith.CmpIOp(strict, a, b).result
    floats = arith.CmpFPredicate

    def is_before(a: ir.Value, b: ir.Value, *others: ir.Value) -> ir.Value:
        """Greater, or less, or NaN in the right place: but NaN not before NaN."""
        del others
        comes = arith.CmpFOp(floats.UGT if is_down else floats.ULT, a, b).result
        number = b if is_down else a
        is_number = arith.CmpFOp(floats.ORD, number, number).result
        return arith.AndIOp(comes, is_number).result

    return is_before


def _order(op: ir.Operation, is_before: Order) -> None:
    axis, shape = _axis(op)
    most = _most(op)
    with op.location, ir.InsertionPoint(op):
        tensors = [signless(operand) for operand in op.operands]
    width = 1
    if _is_selected(most, shape[axis]):
        with op.location, ir.InsertionPoint(op):
            tensors = _Selection(is_before, tensors, axis, most).run()
        width = shape[axis]
    while tensors[0].type.maybe_downcast().shape[axis] > width:
        with op.location, ir.InsertionPoint(op):
            tensors = _Merge(is_before, tensors, axis, width, most).run()
        width = min(2 * width, most)
    with op.location, ir.InsertionPoint(op):
        signed = []
        for old, new in zip(op.results, tensors, strict=True):
            shape = new.type.maybe_downcast().shape
            kind = ir.RankedTensorType.get(shape, element_type(old))
            signed.append(as_type(new, kind))
    replace_op(op, *signed)


def _axis(op: ir.Operation) -> tuple[int, Sequence[int]]:
    """The axis along which a sort goes, and the shape of its tensors."""
    shape = op.operands[0].type.maybe_downcast().shape
    return int(ir.IntegerAttr(op.attributes["dimension"]).value) % len(shape), shape


def _most(op: ir.Operation) -> int:
    """How many of the first elements of a sort are read."""
    axis, shape = _axis(op)
    return max(
        (
            _first_elements(use.owner.operation, axis, shape)
            for result in op.results
            for use in result.uses
        ),
        default=shape[axis],
    )


def _is_selected(most: int, size: int) -> bool:
    """Whether so many first elements of a row are selected in one pass."""
    return most < size and most <= FEW


def _first_elements(user: ir.Operation, axis: int, shape: Sequence[int]) -> int:
    """How many of the first elements along an axis an op reads: all, if it is no slice
    that begins there and ends before the last one."""
    names = {
        "tensor.extract_slice": ("static_offsets", "static_sizes", "static_strides"),
        "stablehlo.slice": ("start_indices", "limit_indices", "strides"),
    }.get(user.name)
    if names is None:
        return shape[axis]
    first, size, step = (
        list(ir.DenseI64ArrayAttr(user.attributes[name]))[axis] for name in names
    )
    is_first = first == 0 and step == 1 and 0 < size <= shape[axis]
    return size if is_first else shape[axis]


FEW = 64
"""The most elements that are inserted one by one. Where the elements come in the worst
order this takes their number times the time of a pass, which merging takes some ten
times; in a random order an element is seldom inserted."""


class _Rows(abc.ABC):
    """Some elements of each row of tensors, in order.

    Args:
        is_before: the order.
        tensors: of one shape.
        axis: along which a row lies.
    """

    def __init__(self, is_before: Order, tensors: Numbers, axis: int) -> None:
        self.is_before = is_before
        self.tensors = tensors
        self.axis = axis
        self.shape = list(tensors[0].type.maybe_downcast().shape)
        """The shape of the results."""
        self.size = self.shape[axis]

    def run(self) -> list[ir.Value]:
        """The results, one for each tensor."""
        tensor = dialect("tensor")
        kinds = [t.type.maybe_downcast().element_type for t in self.tensors]
        others = [*self.shape[: self.axis], *self.shape[self.axis + 1 :]]
        empty = [tensor.EmptyOp(self.shape, k).result for k in kinds]
        return nested(others, empty, self._row)

    @abc.abstractmethod
    def _row(self, into: list[ir.Value], index: list[ir.Value]) -> list[ir.Value]:
        """Some tensors after a row of each is written.

        Args:
            index: of the row, the axis left out.
        """

    def _index(self, index: list[ir.Value], at: ir.Value) -> list[ir.Value]:
        return [*index[: self.axis], at, *index[self.axis :]]

    def _read(
        self, tensors: Numbers, index: list[ir.Value], at: ir.Value
    ) -> list[ir.Value]:
        """The elements of all tensors at an index along the axis; where that is out of
        bounds, any elements: they are not used."""
        tensor = dialect("tensor")
        place = self._index(index, at)
        return [tensor.ExtractOp(t, place).result for t in tensors]

    def _comes(self, ones: Numbers, others: Numbers) -> ir.Value:
        """Whether an element is before another."""
        pairs = zip(ones, others, strict=True)
        return self.is_before(*(number for pair in pairs for number in pair))


class _Selection(_Rows):
    """The first elements of each row, by insertion.

    Args:
        most: how many.
    """

    def __init__(
        self, is_before: Order, tensors: Numbers, axis: int, most: int
    ) -> None:
        super().__init__(is_before, tensors, axis)
        self.most = self.shape[axis] = most

    def _row(self, into: list[ir.Value], index: list[ir.Value]) -> list[ir.Value]:
        scf, arith = dialect("scf"), dialect("arith")
        zero, last, most, end, one = index_constants(
            [0, self.most - 1, self.most, self.size, 1]
        )
        loop = scf.ForOp(zero, end, one, into)
        with ir.InsertionPoint(loop.body):
            chosen, at = list(loop.inner_iter_args), loop.induction_variable
            element = self._read(self.tensors, index, at)
            comes = self._comes(element, self._read(chosen, index, last))
            is_selected = arith.OrIOp(_compared("ult", at, most), comes).result
            branch = scf.IfOp(is_selected, [t.type for t in chosen], has_else=True)
            branch.attributes[SELDOM] = ir.UnitAttr.get()
            with ir.InsertionPoint(branch.then_block):
                scf.YieldOp(self._inserted(chosen, index, at, element))
            with ir.InsertionPoint(branch.else_block):
                scf.YieldOp(chosen)
            scf.YieldOp(list(branch.results_))
        return list(loop.results)

    def _inserted(
        self, into: Numbers, index: list[ir.Value], at: ir.Value, element: Numbers
    ) -> list[ir.Value]:
        """The selected elements with one more: those that it is before move on by one
        place, and the last is lost.

        Args:
            at: how many elements of the row came before it.
        """
        scf, arith, tensor = dialect("scf"), dialect("arith"), dialect("tensor")
        zero, most, one = index_constants([0, self.most, 1])
        loop = scf.ForOp(zero, most, one, [*into, *element])
        with ir.InsertionPoint(loop.body):
            values = list(loop.inner_iter_args)
            tensors, moving = values[: len(into)], values[len(into) :]
            place = loop.induction_variable
            here = self._read(tensors, index, place)
            # From its place on all move: their order is that of the rows that had them.
            is_here = arith.OrIOp(
                self._comes(element, here), _compared("uge", place, at)
            ).result
            written = [
                tensor.InsertOp(
                    arith.SelectOp(is_here, a, b).result, t, self._index(index, place)
                ).result
                for a, b, t in zip(moving, here, tensors, strict=True)
            ]
            displaced = [
                arith.SelectOp(is_here, b, a).result
                for a, b in zip(moving, here, strict=True)
            ]
            scf.YieldOp([*written, *displaced])
        return list(loop.results)[: len(into)]


class _Merge(_Rows):
    """Pairs of sorted runs as one run each; the last run may be short, or alone.

    Args:
        width: of the runs.
        most: elements of a merged run; later ones are left out.
    """

    def __init__(
        self, is_before: Order, tensors: Numbers, axis: int, width: int, most: int
    ) -> None:
        super().__init__(is_before, tensors, axis)
        self.width = width
        self.run_length = min(2 * width, most)
        pairs, rest = divmod(self.size, 2 * width)
        self.shape[axis] = pairs * self.run_length + min(rest, self.run_length)

    def _row(self, into: list[ir.Value], index: list[ir.Value]) -> list[ir.Value]:
        """Merge step: each element along the axis is the next one of one of two
        runs."""
        scf = dialect("scf")
        zero, end, one = index_constants([0, self.shape[self.axis], 1])
        loop = scf.ForOp(zero, end, one, [*into, zero, zero])
        with ir.InsertionPoint(loop.body):
            *tensors, left, right = loop.inner_iter_args
            scf.YieldOp(
                self._written(tensors, index, loop.induction_variable, left, right)
            )
        return list(loop.results)[: len(into)]

    def _written(
        self,
        tensors: list[ir.Value],
        index: list[ir.Value],
        at: ir.Value,
        left: ir.Value,
        right: ir.Value,
    ) -> list[ir.Value]:
        """The tensors with one element more, and how many of either run are taken."""
        arith, tensor = dialect("arith"), dialect("tensor")
        zero, one, width, both, size, length = index_constants(
            [0, 1, self.width, 2 * self.width, self.size, self.run_length]
        )
        is_first = _compared("eq", arith.RemUIOp(at, length).result, zero)
        left, right = (
            arith.SelectOp(is_first, zero, taken).result for taken in (left, right)
        )
        first = arith.MulIOp(arith.DivUIOp(at, length).result, both).result
        second = arith.AddIOp(first, width).result
        places = [arith.AddIOp(first, left).result, arith.AddIOp(second, right).result]
        ends = [
            arith.MinUIOp(end, size).result
            for end in (second, arith.AddIOp(second, width).result)
        ]
        has_left, has_right = (
            _compared("ult", *pair) for pair in zip(places, ends, strict=True)
        )
        lefts, rights = (self._read(self.tensors, index, place) for place in places)
        comes = self._comes(rights, lefts)
        is_right = arith.SelectOp(
            has_left, arith.AndIOp(has_right, comes).result, has_right
        ).result
        written = [
            tensor.InsertOp(
                arith.SelectOp(is_right, b, a).result, t, self._index(index, at)
            ).result
            for a, b, t in zip(lefts, rights, tensors, strict=True)
        ]
        step = arith.IndexCastUIOp(ir.IndexType.get(), is_right).result
        right = arith.AddIOp(right, step).result
        left = arith.AddIOp(left, arith.SubIOp(one, step).result).result
        return [*written, left, right]


def _compared(name: str, a: ir.Value, b: ir.Value) -> ir.Value:
    arith = dialect("arith")
    return result_of(arith.CmpIOp(arith.CmpIPredicate[name], a, b))
