"""``stablehlo.sort`` by counting: the place of an element is how many are before it.

That takes the square of the elements along the axis in time, and no memory but the
places.
"""

from collections.abc import Callable, Sequence

from morello.frontends.stablehlo.scalar_body import ScalarBody
from morello.frontends.stablehlo.walking import all_ops, is_signless
from morello.mlir import dialect, ir


def ordered(module: ir.Operation) -> None:
    """Replace the sorts of a module, in place: all are stable."""
    for op in all_ops(module, "stablehlo.sort"):
        if is_signless(*op.operands):
            _order(op)


def _order(op: ir.Operation) -> None:
    arith, linalg = dialect("arith"), dialect("linalg")
    kind = op.operands[0].type.maybe_downcast()
    rank = len(kind.shape)
    axis = int(ir.IntegerAttr(op.attributes["dimension"]).value) % rank
    here = ir.AffineMap.get_identity(rank)
    dims = [ir.AffineDimExpr.get(rank if d == axis else d) for d in range(rank)]
    other = ir.AffineMap.get(rank + 1, 0, dims)
    here = ir.AffineMap.get(rank + 1, 0, list(here.results))
    compare = ScalarBody(op)
    count = ir.IntegerType.get_signless(64)

    def counted(numbers: Sequence[ir.Value]) -> list[ir.Value]:
        """Count an element that is before: lesser, or equal and first."""
        half = len(op.operands)
        own, others, held = numbers[:half], numbers[half : 2 * half], numbers[-1]
        is_lesser = compare(*_paired(others, own))
        is_greater = compare(*_paired(own, others))
        first = arith.CmpIOp(arith.CmpIPredicate.slt, _at(rank), _at(axis)).result
        one = arith.ConstantOp(ir.IntegerType.get_signless(1), 1).result
        is_tied = arith.AndIOp(first, arith.XOrIOp(is_greater, one).result).result
        is_before = arith.OrIOp(is_lesser, is_tied).result
        return [arith.AddIOp(held, arith.ExtUIOp(count, is_before).result).result]

    def put(numbers: Sequence[ir.Value]) -> list[ir.Value]:
        """Take each element at its place."""
        place, *rest = numbers
        here = arith.IndexCastOp(count, _at(axis)).result
        is_here = arith.CmpIOp(arith.CmpIPredicate.eq, place, here).result
        half = len(rest) // 2
        return [
            arith.SelectOp(is_here, one, held).result
            for one, held in zip(rest[:half], rest[half:], strict=True)
        ]

    with op.location, ir.InsertionPoint(op):
        zeros = linalg.fill(
            arith.ConstantOp(count, 0).result,
            outs=[dialect("tensor").EmptyOp(list(kind.shape), count).result],
        )
        tensors = list(op.operands)
        maps = [here] * len(tensors) + [other] * len(tensors)
        (places,) = _generic([*tensors, *tensors], [zeros], maps, here, counted)
        maps = [other] * (1 + len(tensors))
        results = _generic([places, *tensors], tensors, maps, here, put)
    for old, new in zip(op.results, results, strict=True):
        old.replace_all_uses_with(new)
    op.erase()


def _paired(
    lefts: Sequence[ir.Value], rights: Sequence[ir.Value]
) -> tuple[ir.Value, ...]:
    pairs = zip(lefts, rights, strict=True)
    return tuple(value for pair in pairs for value in pair)


def _at(dim: int) -> ir.Value:
    """The index along a dimension of a generic."""
    return dialect("linalg").IndexOp(dim).result


def _generic(
    inputs: list[ir.Value],
    outputs: list[ir.Value],
    maps: list[ir.AffineMap],
    here: ir.AffineMap,
    body: Callable[[Sequence[ir.Value]], list[ir.Value]],
) -> list[ir.Value]:
    """A generic that reduces along its last dimension."""
    linalg = dialect("linalg")
    kinds = [value.type for value in outputs]
    rank = len(here.results)
    iterators = ["parallel"] * rank + ["reduction"]
    names = [
        ir.Attribute.parse(f"#linalg.iterator_type<{iterator}>")
        for iterator in iterators
    ]
    made = linalg.GenericOp(
        kinds,
        inputs,
        outputs,
        ir.ArrayAttr.get(
            [ir.AffineMapAttr.get(m) for m in (*maps, *[here] * len(outputs))]
        ),
        ir.ArrayAttr.get(names),
    )
    elements = [
        value.type.maybe_downcast().element_type for value in (*inputs, *outputs)
    ]
    location = ir.Location.current
    block = made.regions[0].blocks.append(
        *elements, arg_locs=[location] * len(elements)
    )
    with ir.InsertionPoint(block):
        linalg.YieldOp(body(list(block.arguments)))
    return list(made.results)
