"""Sorts of torch-mlir by keys: integers that are ordered as the elements are.

A key of up to 32 bits is one number with the place of its element, so that no two are
equal; wider ones have their places beside them. Short runs are sorted by counting how
many keys are before each, which LLVM makes vectors of, and are merged from both ends at
once, without a test of where a run ends. Results are read at the places in the end.
"""

import dataclasses
from collections.abc import Callable, Sequence

from morello.frontends.plain.work import ORDERED
from morello.frontends.stablehlo.scalar_body import index_constants, nested
from morello.mlir import dialect, ir, result_of

_RUN = 64
"""Keys of a run that is sorted by counting: as quick as merging it from two halves."""

_PLACE_BITS = 32

Values = list[ir.Value]


@dataclasses.dataclass(frozen=True)
class Keys:
    """How elements become keys.

    Args:
        element: their type.
        is_down: whether the greatest comes first.
    """

    element: ir.Type
    is_down: bool

    @property
    def width(self) -> int:
        """Bits of a key."""
        return max(int(self.element.width), _PLACE_BITS)

    @property
    def is_packed(self) -> bool:
        """Whether a key and its place are one number."""
        return self.width == _PLACE_BITS

    def of(self, element: ir.Value, place: ir.Value) -> Values:
        """The key of an element, packed with its place or beside it."""
        arith = dialect("arith")
        wide = ir.IntegerType.get_signless(64)
        key = self._bits(element)
        if self.is_down:
            key = arith.XOrIOp(key, _number(key.type, -1)).result
        low = arith.IndexCastOp(wide, place).result
        if not self.is_packed:
            return [key, low]
        high = arith.ShLIOp(arith.ExtSIOp(wide, key).result, _number(wide, 32)).result
        return [arith.OrIOp(high, low).result]

    def _bits(self, element: ir.Value) -> ir.Value:
        """An integer for an element: the greatest for NaN, and equal ones for zeros."""
        arith = dialect("arith")
        kind = ir.IntegerType.get_signless(self.width)
        if isinstance(self.element, ir.IntegerType):
            is_wide = self.element.width == self.width
            return element if is_wide else arith.ExtSIOp(kind, element).result
        if self.element.width < self.width:
            element = arith.ExtFOp(ir.F32Type.get(), element).result
        zero = arith.ConstantOp(element.type, 0.0).result
        positive = arith.AddFOp(element, zero).result  # -0 and 0 are 0
        bits = arith.BitcastOp(kind, positive).result
        sign = arith.ShRSIOp(bits, _number(kind, self.width - 1)).result
        most = _number(kind, (1 << (self.width - 1)) - 1)
        ordered = arith.XOrIOp(bits, arith.AndIOp(sign, most).result).result
        unordered = arith.CmpFPredicate.UNO
        is_nan = arith.CmpFOp(unordered, element, element).result
        return result_of(arith.SelectOp(is_nan, most, ordered))

    def place(self, numbers: Values) -> ir.Value:
        """The place of the element that a key is of."""
        arith = dialect("arith")
        place = numbers[-1]
        if self.is_packed:
            low = _number(place.type, (1 << _PLACE_BITS) - 1)
            place = arith.AndIOp(place, low).result
        return result_of(arith.IndexCastOp(ir.IndexType.get(), place))

    def empty(self, count: int) -> Values:
        """Tensors of the numbers of so many keys."""
        wide, tensor = ir.IntegerType.get_signless(64), dialect("tensor")
        numbers = 1 if self.is_packed else 2
        return [tensor.EmptyOp([count], wide).result for _ in range(numbers)]


def _number(kind: ir.Type, number: int) -> ir.Value:
    return result_of(dialect("arith").ConstantOp(kind, number))


def _sum(*indices: ir.Value) -> ir.Value:
    first, *rest = indices
    for index in rest:
        first = dialect("arith").AddIOp(first, index).result
    return first


def _less(index: ir.Value, other: ir.Value) -> ir.Value:
    return result_of(dialect("arith").SubIOp(index, other))


def _is_before(key: ir.Value, other: ir.Value) -> ir.Value:
    arith = dialect("arith")
    return result_of(arith.CmpIOp(arith.CmpIPredicate.slt, key, other))


def _as_index(truth: ir.Value) -> ir.Value:
    return result_of(dialect("arith").IndexCastUIOp(ir.IndexType.get(), truth))


def _read(tensors: Values, at: ir.Value) -> Values:
    return [dialect("tensor").ExtractOp(tensor, [at]).result for tensor in tensors]


def _written(numbers: Values, tensors: Values, at: ir.Value) -> Values:
    tensor = dialect("tensor")
    pairs = zip(numbers, tensors, strict=True)
    return [tensor.InsertOp(number, into, [at]).result for number, into in pairs]


def _chosen(truth: ir.Value, ones: Values, others: Values) -> Values:
    arith = dialect("arith")
    pairs = zip(ones, others, strict=True)
    return [arith.SelectOp(truth, *pair).result for pair in pairs]


def sorted_by_keys(tensors: Values, axis: int, is_down: bool) -> Values:
    """The elements of tensors in the order of those of the first one, along an axis.

    Equal elements stay in their order, and NaN is the greatest.

    Args:
        tensors: of one shape.
        is_down: whether the greatest comes first.
    """
    kinds = [t.type.maybe_downcast() for t in tensors]
    shape = list(kinds[0].shape)
    keys = Keys(kinds[0].element_type.maybe_downcast(), is_down)
    sort = _Sort(tensors, keys, axis, shape)
    empty = [dialect("tensor").EmptyOp(shape, k.element_type).result for k in kinds]
    scratch = [*keys.empty(shape[axis]), *keys.empty(shape[axis])]
    outer = [*shape[:axis], *shape[axis + 1 :]]
    return nested(outer, [*empty, *scratch], sort.row)[: len(tensors)]


class _Sort:
    """The sort of one row after the other.

    Args:
        tensors: whose elements are sorted.
        keys: of those of the first one.
        axis: along which a row lies.
        shape: of the tensors.
    """

    def __init__(
        self, tensors: Values, keys: Keys, axis: int, shape: Sequence[int]
    ) -> None:
        self.tensors, self.keys, self.axis = tensors, keys, axis
        self.count = shape[axis]

    def row(self, carried: Values, index: Values) -> Values:
        """The results and two rows of keys, after a row is sorted."""
        results = carried[: len(self.tensors)]
        scratch = carried[len(self.tensors) :]
        half = len(scratch) // 2
        keys, other = scratch[:half], scratch[half:]

        def place_of(at: ir.Value) -> list[ir.Value]:
            return [*index[: self.axis], at, *index[self.axis :]]

        def with_key(into: Values, at: Values) -> Values:
            element = dialect("tensor").ExtractOp(self.tensors[0], place_of(*at))
            return _written(self.keys.of(element.result, *at), into, *at)

        keys = _loop(self.count, keys, with_key)
        keys, other = self._counted(keys, other), keys
        width, is_turned = _RUN, True
        while width < self.count:
            keys, other = self._merged(keys, other, width), keys
            width, is_turned = 2 * width, not is_turned

        def with_element(into: Values, at: Values) -> Values:
            place = self.keys.place(_read(keys, *at))
            tensor = dialect("tensor")
            return [
                tensor.InsertOp(
                    tensor.ExtractOp(source, place_of(place)).result, t, place_of(*at)
                ).result
                for source, t in zip(self.tensors, into, strict=True)
            ]

        results = _loop(self.count, results, with_element)
        return [*results, *other, *keys] if is_turned else [*results, *keys, *other]

    def _counted(self, keys: Values, into: Values) -> Values:
        """Runs of keys in order: each key comes after those that are before it."""
        whole, rest = divmod(self.count, _RUN)
        if whole:

            def run(into: Values, number: Values) -> Values:
                return self._run(keys, into, _times(number[0], _RUN), _RUN)

            into = _loop(whole, into, run)
        if rest:
            (start,) = index_constants([whole * _RUN])
            into = self._run(keys, into, start, rest)
        return into

    def _run(self, keys: Values, into: Values, start: ir.Value, size: int) -> Values:
        arith = dialect("arith")

        def key(into: Values, number: Values) -> Values:
            at = _sum(start, *number)
            numbers = _read(keys, at)

            def more(counts: Values, other: Values) -> Values:
                (compared,) = _read(keys[:1], _sum(start, *other))
                is_before = _is_before(compared, numbers[0])
                if not self.keys.is_packed:
                    is_equal = arith.CmpIOp(
                        arith.CmpIPredicate.eq, compared, numbers[0]
                    ).result
                    is_first = arith.CmpIOp(
                        arith.CmpIPredicate.ult, *other, *number
                    ).result
                    is_tied = arith.AndIOp(is_equal, is_first).result
                    is_before = arith.OrIOp(is_before, is_tied).result
                return [_sum(*counts, _as_index(is_before))]

            counts = _loop(size, index_constants([0]), more)
            return _written(numbers, into, _sum(start, *counts))

        return _loop(size, into, key)

    def _merged(self, keys: Values, into: Values, width: int) -> Values:
        """Pairs of runs as one run each; a last run may be short, or alone."""
        whole, rest = divmod(self.count, 2 * width)
        if whole:

            def pair(into: Values, number: Values) -> Values:
                return _merge(keys, into, _times(number[0], 2 * width), width)

            into = _loop(whole, into, pair)
        if rest:
            (start,) = index_constants([whole * 2 * width])
            into = _merge_rest(keys, into, start, min(width, rest), rest)
        return into


def _times(index: ir.Value, factor: int) -> ir.Value:
    return result_of(dialect("arith").MulIOp(index, *index_constants([factor])))


def _loop(
    count: int, into: Values, body: Callable[[Values, Values], Sequence[ir.Value]]
) -> Values:
    """Values that a loop changes, of whose steps the work is that of a sort."""
    results = nested([count], into, body)
    results[0].owner.attributes[ORDERED] = ir.UnitAttr.get()
    return results


def _merge(keys: Values, into: Values, start: ir.Value, width: int) -> Values:
    """Two runs of a width as one: the first half of it from the first keys on, the
    second from the last ones back. Neither comes to the end of a run."""
    first, last = index_constants([width, 2 * width - 1])
    one, before_last = index_constants([1, width - 1])
    ends = [start, _sum(start, first), _sum(start, before_last), _sum(start, last)]

    def step(carried: Values, number: Values) -> Values:
        left, right, left_end, right_end = carried[-4:]
        a, b, c, d = (_read(keys, at) for at in carried[-4:])
        is_right = _is_before(b[0], a[0])
        into = _written(_chosen(is_right, b, a), carried[:-4], _sum(start, *number))
        is_left = _is_before(d[0], c[0])
        at = _less(_sum(start, last), *number)
        into = _written(_chosen(is_left, c, d), into, at)
        goes_right, goes_left = _as_index(is_right), _as_index(is_left)
        ends = [
            _sum(left, _less(one, goes_right)),
            _sum(right, goes_right),
            _less(left_end, goes_left),
            _less(right_end, _less(one, goes_left)),
        ]
        return [*into, *ends]

    return _loop(width, [*into, *ends], step)[:-4]


def _merge_rest(
    keys: Values, into: Values, start: ir.Value, width: int, count: int
) -> Values:
    """A run of a width and the keys after it, if there are any, as one run of a
    count."""
    arith = dialect("arith")
    first, last, one = index_constants([width, count, 1])
    middle, end = _sum(start, first), _sum(start, last)

    def step(carried: Values, number: Values) -> Values:
        left, right = carried[-2:]
        a, b = (_read(keys, at) for at in carried[-2:])
        ult = arith.CmpIPredicate.ult
        has_left, has_right = (
            arith.CmpIOp(ult, *pair).result for pair in ((left, middle), (right, end))
        )
        comes = arith.AndIOp(has_right, _is_before(b[0], a[0])).result
        is_right = arith.SelectOp(has_left, comes, has_right).result
        into = _written(_chosen(is_right, b, a), carried[:-2], _sum(start, *number))
        goes_right = _as_index(is_right)
        ends = [_sum(left, _less(one, goes_right)), _sum(right, goes_right)]
        return [*into, *ends]

    return _loop(count, [*into, start, middle], step)[:-2]
