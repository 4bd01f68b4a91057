"""``stablehlo.sort`` by merging: sorted runs become runs of twice the length.

Each element of a merged run is found by bisection, so that all are independent: a sort
of n elements takes n·log²(n) steps, and two tensors of its size.
"""

from collections.abc import Callable, Sequence

from morello.frontends.stablehlo.scalar_body import (
    ScalarBody,
    index_constants,
    is_signless,
)
from morello.mlir import all_ops, dialect, ir

Numbers = Sequence[ir.Value]


def ordered(module: ir.Operation) -> None:
    """Replace the sorts of a module, in place: all are stable."""
    for op in all_ops(module, "stablehlo.sort"):
        if is_signless(*op.operands):
            _order(op)


def _order(op: ir.Operation) -> None:
    shape = op.operands[0].type.maybe_downcast().shape
    axis = int(ir.IntegerAttr(op.attributes["dimension"]).value) % len(shape)
    compare, tensors, width = ScalarBody(op), list(op.operands), 1
    while width < shape[axis]:
        with op.location, ir.InsertionPoint(op):
            merge = _Merge(compare, tensors, axis, width)
            tensors = _mapped([tensor.type for tensor in tensors], merge.element)
        width *= 2
    for old, new in zip(op.results, tensors, strict=True):
        old.replace_all_uses_with(new)
    op.erase()


class _Merge:
    """Pairs of sorted runs as one run each; the last run may be short, or alone.

    Args:
        compare: whether an element, of each tensor a number, is before another.
        tensors: of one shape.
        axis: which is sorted.
        width: of the runs.
    """

    def __init__(
        self, compare: ScalarBody, tensors: Numbers, axis: int, width: int
    ) -> None:
        self.compare = compare
        self.tensors = tensors
        self.axis = axis
        self.width = width
        self.size = tensors[0].type.maybe_downcast().shape[axis]

    def element(self, index: list[ir.Value]) -> list[ir.Value]:
        """The numbers of an element of the merged runs."""
        arith = dialect("arith")
        at = index[self.axis]
        width, both, size, zero = index_constants(
            [self.width, 2 * self.width, self.size, 0]
        )
        place = arith.RemUIOp(at, both).result
        first = arith.SubIOp(at, place).result
        second = arith.AddIOp(first, width).result
        end = arith.SubIOp(size, first).result
        lefts = arith.MinSIOp(width, end).result
        rights = arith.MaxSIOp(
            arith.MinSIOp(width, arith.SubIOp(size, second).result).result, zero
        ).result

        def left(offset: ir.Value) -> list[ir.Value]:
            return self._read(index, arith.AddIOp(first, offset).result)

        def right(offset: ir.Value) -> list[ir.Value]:
            return self._read(index, arith.AddIOp(second, offset).result)

        before = self._bisected(place, lefts, rights, left, right)
        others = arith.SubIOp(place, before).result
        one, other = left(before), right(others)
        is_left = self._all(
            _less(before, lefts),
            self._any(
                arith.CmpIOp(arith.CmpIPredicate.sge, others, rights).result,
                self._not(self.compare(*_paired(other, one))),
            ),
        )
        return [
            arith.SelectOp(is_left, a, b).result
            for a, b in zip(one, other, strict=True)
        ]

    def _bisected(
        self,
        place: ir.Value,
        lefts: ir.Value,
        rights: ir.Value,
        left: Callable[[ir.Value], list[ir.Value]],
        right: Callable[[ir.Value], list[ir.Value]],
    ) -> ir.Value:
        """How many elements of the left run are before a place of the merged one."""
        arith, scf = dialect("arith"), dialect("scf")
        zero, one, steps = index_constants([0, 1, self.width.bit_length()])
        low = arith.MaxSIOp(arith.SubIOp(place, rights).result, zero).result
        high = arith.MinSIOp(place, lefts).result
        loop = scf.ForOp(zero, steps, one, [low, high])
        with ir.InsertionPoint(loop.body):
            low, high = loop.inner_iter_args
            middle = arith.ShRUIOp(arith.AddIOp(low, high).result, one).result
            beside = arith.SubIOp(arith.SubIOp(place, one).result, middle).result
            is_later = self.compare(*_paired(right(beside), left(middle)))
            is_open = _less(low, high)
            goes_up = self._all(is_open, self._not(is_later))
            goes_down = self._all(is_open, is_later)
            next_one = arith.AddIOp(middle, one).result
            scf.YieldOp(
                [
                    arith.SelectOp(goes_up, next_one, low).result,
                    arith.SelectOp(goes_down, middle, high).result,
                ]
            )
        count: ir.Value = loop.results[0]
        return count

    def _read(self, index: list[ir.Value], at: ir.Value) -> list[ir.Value]:
        """The elements of all tensors at an index along the sorted axis; where the
        index is out of bounds, any elements: they are not used."""
        tensor = dialect("tensor")
        place = [*index]
        place[self.axis] = at
        return [tensor.ExtractOp(t, place).result for t in self.tensors]

    def _not(self, truth: ir.Value) -> ir.Value:
        arith = dialect("arith")
        one = arith.ConstantOp(ir.IntegerType.get_signless(1), 1).result
        return arith.XOrIOp(truth, one).result

    def _all(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return dialect("arith").AndIOp(a, b).result

    def _any(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return dialect("arith").OrIOp(a, b).result


def _less(a: ir.Value, b: ir.Value) -> ir.Value:
    arith = dialect("arith")
    return arith.CmpIOp(arith.CmpIPredicate.slt, a, b).result


def _paired(lefts: Numbers, rights: Numbers) -> tuple[ir.Value, ...]:
    pairs = zip(lefts, rights, strict=True)
    return tuple(value for pair in pairs for value in pair)


def _mapped(
    kinds: list[ir.Type], element: Callable[[list[ir.Value]], list[ir.Value]]
) -> list[ir.Value]:
    """Tensors of one shape, of whose elements each is computed by its index."""
    linalg, tensor = dialect("linalg"), dialect("tensor")
    tensors = [kind.maybe_downcast() for kind in kinds]
    shape = list(tensors[0].shape)
    outputs = [tensor.EmptyOp(shape, kind.element_type).result for kind in tensors]
    here = ir.AffineMapAttr.get(ir.AffineMap.get_identity(len(shape)))
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    made = linalg.GenericOp(
        kinds,
        [],
        outputs,
        ir.ArrayAttr.get([here] * len(outputs)),
        ir.ArrayAttr.get([parallel] * len(shape)),
    )
    elements = [kind.element_type for kind in tensors]
    places = [ir.Location.current] * len(elements)
    with ir.InsertionPoint(made.regions[0].blocks.append(*elements, arg_locs=places)):
        index = [linalg.IndexOp(dim).result for dim in range(len(shape))]
        linalg.YieldOp(element(index))
    return list(made.results)
