"""Sorts of StableHLO, and of torch-mlir's ``tm_tensor``, by merging: sorted runs become
runs of twice the length, in one pass over the elements.

Where slices alone read the first elements of a sort, runs have no more than these: so
the greatest k of n elements take little more time than one pass.
"""

from collections.abc import Callable, Sequence

from morello.frontends.stablehlo.scalar_body import (
    ScalarBody,
    index_constants,
    is_signless,
)
from morello.mlir import all_ops, dialect, ir

Numbers = Sequence[ir.Value]
Order = Callable[..., ir.Value]
"""Whether an element is before another, of numbers in turns: of each tensor one of the
first element and one of the second."""


def ordered(module: ir.Operation) -> None:
    """Replace the sorts of a module, in place: all are stable."""
    for op in all_ops(module, "stablehlo.sort"):
        if is_signless(*op.operands):
            _order(op, ScalarBody(op))


def ordered_of_torch(module: ir.Operation) -> None:
    """Replace the sorts of torch-mlir in a module, in place. NaN is the greatest
    number, as PyTorch has it, and equal elements stay in their order."""
    for op in all_ops(module, "tm_tensor.sort"):
        (block,) = op.regions[0].blocks
        _order(op, _order_of_torch(block.operations[0]))


def _order_of_torch(compare: ir.Operation) -> Order:
    """The strict order that torch-mlir means by a comparison that takes equal ones."""
    arith = dialect("arith")
    predicate = ir.IntegerAttr(compare.attributes["predicate"]).value
    if compare.operation.name == "arith.cmpi":
        is_down = predicate == arith.CmpIPredicate.sge
        own = arith.CmpIPredicate.sgt if is_down else arith.CmpIPredicate.slt
        return lambda a, b, *others: arith.CmpIOp(own, a, b).result
    floats = arith.CmpFPredicate
    is_down = predicate == floats.OGE

    def is_before(a: ir.Value, b: ir.Value, *others: ir.Value) -> ir.Value:
        """Greater, or less, or NaN in the right place: but NaN not before NaN."""
        del others
        comes = arith.CmpFOp(floats.UGT if is_down else floats.ULT, a, b).result
        number = b if is_down else a
        is_number = arith.CmpFOp(floats.ORD, number, number).result
        return arith.AndIOp(comes, is_number).result

    return is_before


def _order(op: ir.Operation, is_before: Order) -> None:
    shape = op.operands[0].type.maybe_downcast().shape
    axis = int(ir.IntegerAttr(op.attributes["dimension"]).value) % len(shape)
    most = max(
        (_first_elements(use.owner.operation, axis, shape) for use in _uses(op)),
        default=shape[axis],
    )
    tensors, width = list(op.operands), 1
    while tensors[0].type.maybe_downcast().shape[axis] > width:
        with op.location, ir.InsertionPoint(op):
            tensors = _Merge(is_before, tensors, axis, width, most).run()
        width = min(2 * width, most)
    for old, new in zip(op.results, tensors, strict=True):
        old.replace_all_uses_with(new)
    op.erase()


def _uses(op: ir.Operation) -> list[ir.OpOperand]:
    return [use for result in op.results for use in result.uses]


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


class _Merge:
    """Pairs of sorted runs as one run each; the last run may be short, or alone.

    Args:
        is_before: the order.
        tensors: of one shape.
        axis: which is sorted.
        width: of the runs.
        most: elements of a merged run; later ones are left out.
    """

    def __init__(
        self, is_before: Order, tensors: Numbers, axis: int, width: int, most: int
    ) -> None:
        self.is_before = is_before
        self.tensors = tensors
        self.axis = axis
        self.width = width
        self.shape = list(tensors[0].type.maybe_downcast().shape)
        self.size = self.shape[axis]
        self.run_length = min(2 * width, most)
        pairs, rest = divmod(self.size, 2 * width)
        self.shape[axis] = pairs * self.run_length + min(rest, self.run_length)

    def run(self) -> list[ir.Value]:
        """The tensors of the merged runs."""
        tensor = dialect("tensor")
        kinds = [t.type.maybe_downcast().element_type for t in self.tensors]
        return self._loop([tensor.EmptyOp(self.shape, k).result for k in kinds], [])

    def _loop(self, into: list[ir.Value], index: list[ir.Value]) -> list[ir.Value]:
        """Some tensors after those elements are written that have some first indices,
        the one along the sorted axis left out."""
        scf = dialect("scf")
        axis = len(index) + (len(index) >= self.axis)
        if axis == len(self.shape):
            return self._merged(into, index)
        loop = scf.ForOp(*index_constants([0, self.shape[axis], 1]), into)
        with ir.InsertionPoint(loop.body):
            own = list(loop.inner_iter_args)
            scf.YieldOp(self._loop(own, [*index, loop.induction_variable]))
        return list(loop.results)

    def _merged(self, into: list[ir.Value], index: list[ir.Value]) -> list[ir.Value]:
        """Write the elements along the axis: each is the next of one of two runs."""
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
        lefts, rights = (self._read(index, place) for place in places)
        pairs = zip(rights, lefts, strict=True)
        comes = self.is_before(*(number for pair in pairs for number in pair))
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

    def _index(self, index: list[ir.Value], at: ir.Value) -> list[ir.Value]:
        return [*index[: self.axis], at, *index[self.axis :]]

    def _read(self, index: list[ir.Value], at: ir.Value) -> list[ir.Value]:
        """The elements of all tensors at an index along the sorted axis; where the
        index is out of bounds, any elements: they are not used."""
        tensor = dialect("tensor")
        place = self._index(index, at)
        return [tensor.ExtractOp(t, place).result for t in self.tensors]


def _compared(name: str, a: ir.Value, b: ir.Value) -> ir.Value:
    arith = dialect("arith")
    truth: ir.Value = arith.CmpIOp(arith.CmpIPredicate[name], a, b).result
    return truth
