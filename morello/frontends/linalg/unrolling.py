"""Loops of a known number of trips and known choices, written out: `unroll`.

How often a loop runs is found by running its counters: integers that depend on no data.
A counter is a constant in each copy of the body, so that what is sliced or updated at a
place that is counted is at a known place.
"""

import contextlib
import operator
from collections.abc import Callable, Iterator

from morello.mlir import build_value, ir, replace_op, walk

MOST_TRIPS = 32
"""The most trips of a loop that is unrolled."""

MOST_OPS = 4096
"""The most ops of all copies of a loop's body."""

_MOST_COUNTED = 1000
"""Maximum trip count that is evaluated: loops of more trips count as longer."""

LOOPS = frozenset({"scf.for", "stablehlo.while"})

_CHOICES = frozenset({"scf.if", "stablehlo.case", "stablehlo.if"})

WRITTEN_OUT = LOOPS | _CHOICES
"""Ops that are replaced by what they do, where it is known which way they go."""

_FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "addi": operator.add,
    "and": operator.and_,
    "andi": operator.and_,
    "maximum": max,
    "maxsi": max,
    "minimum": min,
    "minsi": min,
    "muli": operator.mul,
    "multiply": operator.mul,
    "or": operator.or_,
    "ori": operator.or_,
    "subi": operator.sub,
    "subtract": operator.sub,
}
"""Operations of arith and StableHLO on integers."""

_SAME = frozenset(
    {"convert", "extract", "extsi", "from_elements", "index_cast", "reshape", "trunci"}
)
"""Ops whose result is the number that they read."""

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "EQ": operator.eq,
    "GE": operator.ge,
    "GT": operator.gt,
    "LE": operator.le,
    "LT": operator.lt,
    "NE": operator.ne,
}

_Known = dict[ir.Value, int | None]


def unroll(module: ir.Operation) -> None:
    """Write out the loops of a module whose trips are known and few, and the choices
    that are known, in place."""
    rolled: set[ir.Operation] = set()
    while (loop := _next(module, rolled)) is not None:
        if loop.name in _CHOICES:
            if not _choose(loop):
                rolled.add(loop)
            continue
        trips = _trips(loop)
        if trips is None or _is_long(loop, len(trips)):
            rolled.add(loop)
        else:
            _write_out(loop, trips)


def why_not(loop: ir.Operation) -> tuple[str, str]:
    """Why a loop is not unrolled, and what to do."""
    trips = _trips(loop)
    remedy = "unroll it before it is exported, or leave it to the framework that calls"
    if trips is None:
        return "how often the loop runs depends on data", remedy
    count = len(trips)
    if count <= MOST_TRIPS and not _is_long(loop, count):
        return "a loop over elements is no graph of reductions and maps", remedy
    said = f"more than {_MOST_COUNTED}" if count > _MOST_COUNTED else str(count)
    return (
        f"a loop of {said} trips is not unrolled: at most {MOST_TRIPS} trips and "
        f"{MOST_OPS} ops are",
        remedy,
    )


def _next(module: ir.Operation, rolled: set[ir.Operation]) -> ir.Operation | None:
    """The first loop or choice that is not kept, nor in one that is."""
    ops: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name not in WRITTEN_OUT:
            return ir.WalkResult.ADVANCE
        if op in rolled:
            return ir.WalkResult.SKIP
        ops.append(op)
        return ir.WalkResult.INTERRUPT

    walk(module, visit, ir.WalkOrder.PRE_ORDER)
    return ops[0] if ops else None


def _is_long(loop: ir.Operation, trips: int) -> bool:
    count = 0

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal count
        count += 1
        return ir.WalkResult.ADVANCE

    walk(loop, visit)
    return trips > MOST_TRIPS or trips * count > MOST_OPS


def _body(loop: ir.Operation) -> ir.Block:
    regions = list(loop.regions)
    body: ir.Block = regions[-1].blocks[0]
    return body


def _trips(loop: ir.Operation) -> list[list[int | None]] | None:
    """The values of the body's arguments in each trip, None for those that are no
    counters; None where the number of trips is not known."""
    run = _for_trips if loop.name == "scf.for" else _while_trips
    trips: list[list[int | None]] = []
    with contextlib.suppress(_DataError):
        for trip in run(loop):
            trips.append(trip)
            if len(trips) > _MOST_COUNTED:
                break
        return trips
    return None


class _DataError(Exception):
    """It depends on data."""


def _for_trips(loop: ir.Operation) -> Iterator[list[int | None]]:
    low, high, step = (_counted(value, {}) for value in list(loop.operands)[:3])
    if low is None or high is None or step is None or step < 1:
        raise _DataError
    carried = [None] * (len(loop.operands) - 3)
    for place in range(low, high, step):
        yield [place, *carried]


def _while_trips(loop: ir.Operation) -> Iterator[list[int | None]]:
    test, body = loop.regions[0].blocks[0], _body(loop)
    now = [_counted(value, {}) for value in loop.operands]
    while True:
        known = dict(zip(test.arguments, now, strict=True))
        goes_on = _counted(_yielded(test)[0], known)
        if goes_on is None:
            raise _DataError
        if not goes_on:
            return
        yield now
        known = dict(zip(body.arguments, now, strict=True))
        now = [_counted(value, known) for value in _yielded(body)]


def _yielded(block: ir.Block) -> list[ir.Value]:
    return list(block.operations[len(block.operations) - 1].operation.operands)


_MOST_DEEP = 100
"""The longest chain of ops that is followed to compute a loop's counter."""


def _counted(value: ir.Value, known: _Known, depth: int = 0) -> int | None:
    """An integer that depends on counters and constants alone; None for other values.

    Args:
        known: the arguments of the block that it is in. What is found is added, so that
            each value is computed once.
    """
    if value not in known:
        known[value] = None if depth > _MOST_DEEP else _computed(value, known, depth)
    return known[value]


def _computed(value: ir.Value, known: _Known, depth: int) -> int | None:
    if isinstance(value.owner, ir.Block) or not _is_integer(value.type):
        return None
    op = value.owner
    dialect, _, name = op.name.partition(".")
    if dialect not in ("arith", "stablehlo", "tensor"):
        return None
    if name == "constant":
        return _number(op.attributes["value"].maybe_downcast())
    is_compare = op.name == "stablehlo.compare"
    if not is_compare and name not in _SAME and name not in _FUNCTIONS:
        return None
    numbers: list[int] = []
    for operand in op.operands:
        number = _counted(operand, known, depth + 1)
        if number is None:
            return None
        numbers.append(number)
    if name in _SAME:
        return numbers[0]
    if not is_compare:
        return _FUNCTIONS[name](*numbers)
    words = str(op.attributes["comparison_direction"]).replace(">", " ").split()
    compare = next((_COMPARISONS[w] for w in words if w in _COMPARISONS), None)
    return None if compare is None else int(compare(*numbers))


def _is_integer(kind: ir.Type) -> bool:
    """Whether a type is of one integer, or a tensor of one."""
    kind = kind.maybe_downcast()
    if isinstance(kind, ir.RankedTensorType):
        if kind.rank:
            return False
        kind = kind.element_type.maybe_downcast()
    return isinstance(kind, ir.IntegerType | ir.IndexType)


def _number(attribute: ir.Attribute) -> int | None:
    if isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat:
        attribute = attribute.get_splat_value().maybe_downcast()
    if isinstance(attribute, ir.IntegerAttr | ir.BoolAttr):
        return int(attribute.value)
    return None


def _choose(op: ir.Operation) -> bool:
    """Put what is chosen in the place of a choice; False where that is not known."""
    number = _counted(op.operands[0], {})
    if number is None:
        return False
    last = len(op.regions) - 1
    if op.name == "stablehlo.case":
        place = number if 0 <= number <= last else last
    else:
        place = 0 if number else 1
    blocks = list(op.regions[place].blocks)
    with ir.InsertionPoint(op), op.location:
        values = _copied(blocks[0], {}) if blocks else []
    replace_op(op, *values)
    return True


def _write_out(loop: ir.Operation, trips: list[list[int | None]]) -> None:
    """Put copies of the body in the place of a loop."""
    body = _body(loop)
    first = 3 if loop.name == "scf.for" else 0
    carried = list(loop.operands)[first:]
    with ir.InsertionPoint(loop), loop.location:
        for trip in trips:
            inner = len(body.arguments) - len(carried)
            values = [None] * inner + carried
            now: dict[ir.Value, ir.Value] = {}
            for argument, value, number in zip(
                body.arguments, values, trip, strict=True
            ):
                now[argument] = (
                    value if number is None else _constant(loop, argument.type, number)
                )
            carried = _copied(body, now)
    replace_op(loop, *carried)


def _constant(loop: ir.Operation, kind: ir.Type, number: int) -> ir.Value:
    kind = kind.maybe_downcast()
    value: ir.Attribute
    if isinstance(kind, ir.RankedTensorType):
        element = ir.IntegerAttr.get(kind.element_type, number)
        value = ir.DenseElementsAttr.get_splat(kind, element)
    else:
        value = ir.IntegerAttr.get(kind, number)
    dialect = "stablehlo" if loop.name == "stablehlo.while" else "arith"
    return build_value(f"{dialect}.constant", kind, value=value)


def _copied(body: ir.Block, now: dict[ir.Value, ir.Value]) -> list[ir.Value]:
    """Copy the ops of a body to where ops are inserted, and give what it yields.

    Args:
        now: what its arguments are.
    """

    def visit(op: ir.Operation) -> ir.WalkResult:
        for place, operand in enumerate(op.operands):
            if operand in now:
                op.operands[place] = now[operand]
        return ir.WalkResult.ADVANCE

    operations = [op.operation for op in body.operations]
    for op in operations[:-1]:
        copy = op.clone()
        walk(copy.operation, visit)
        now |= dict(zip(op.results, copy.operation.results, strict=True))
    return [now.get(value, value) for value in operations[-1].operands]
