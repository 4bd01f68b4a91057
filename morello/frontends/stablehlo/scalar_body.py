"""Regions of StableHLO, which compute tensors without axes, as ops on numbers."""

from collections.abc import Callable, Sequence

from morello.frontends.plain.outlining import renamed
from morello.mlir import PassManager, build_value, dialect, ir

_TO_LINALG = "builtin.module(stablehlo-legalize-to-linalg,linalg-generalize-named-ops)"


class Body:
    """A block of ops on numbers that gives one.

    Args:
        block: ends in an op that yields the number; it is not changed.
        arguments: those of the block, in the order in which calls give them.
    """

    def __init__(self, block: ir.Block, arguments: Sequence[ir.Value]) -> None:
        self._block = block
        self._arguments = tuple(arguments)

    def __call__(self, *numbers: ir.Value) -> ir.Value:
        """Inserts a copy of the body's ops, for some numbers; returns its result."""
        known = dict(zip(self._arguments, numbers, strict=False))
        ops = [op.operation for op in self._block.operations]
        for op in ops[:-1]:
            _copied(op, known)
        return _known(ops[-1].operands[0], known)


class ScalarBody(Body):
    """A region with one result, for numbers instead of tensors.

    Args:
        op: has the region; it is not changed.
        region: its number.

    Raises:
        MLIRError: StableHLO's conversion does not take it.
    """

    def __init__(self, op: ir.Operation, region: int = 0) -> None:
        block = op.regions[region].blocks[0]
        last = block.operations[len(block.operations) - 1]
        takes = [_row(argument.type) for argument in block.arguments]
        gives = [_row(last.operands[0].type)]
        self._module = ir.Module.create(op.location)
        func = dialect("func")
        with op.location, ir.InsertionPoint(self._module.body):
            function = func.FuncOp("body", (takes, gives))
        entry = function.add_entry_block()
        with op.location, ir.InsertionPoint(entry):
            mapped = ir.Operation.create(
                "stablehlo.map",
                results=gives,
                operands=list(entry.arguments),
                attributes={"dimensions": ir.DenseI64ArrayAttr.get([0])},
                regions=1,
            )
            copy = op.clone().operation
            copy.regions[region].blocks[0].append_to(mapped.regions[0])
            copy.erase()
            func.ReturnOp(mapped.results)
        PassManager.parse(_TO_LINALG).run(self._module.operation)
        inner = next(
            each.regions[0].blocks[0]
            for each in function.entry_block.operations
            if each.operation.name == "linalg.generic"
        )
        super().__init__(inner, inner.arguments)


def _row(scalar: ir.Type) -> ir.Type:
    """The type of a tensor of shape 1, for the type of a tensor without axes."""
    element = scalar.maybe_downcast().element_type
    return ir.RankedTensorType.get([1], element)


def _known(value: ir.Value, known: dict[ir.Value, ir.Value]) -> ir.Value:
    """A value here; a constant from outside of the body is copied."""
    if value not in known:
        _copied(value.owner, known)
    return known[value]


def _copied(op: ir.Operation, known: dict[ir.Value, ir.Value]) -> None:
    for operand in op.operands:
        _known(operand, known)
    clone = op.clone().operation
    renamed(clone, known)
    known |= dict(zip(op.results, clone.results, strict=True))


def index_constants(numbers: Sequence[int]) -> list[ir.Value]:
    """Numbers as indices, by ops at the current place."""
    arith = dialect("arith")
    return [arith.ConstantOp(ir.IndexType.get(), n).result for n in numbers]


def nested(
    shape: Sequence[int],
    into: Sequence[ir.Value],
    body: Callable[[list[ir.Value], list[ir.Value]], Sequence[ir.Value]],
    *index: ir.Value,
) -> list[ir.Value]:
    """Writes loops over the indices of a shape, which carry values.

    Args:
        into: the values, tensors or numbers.
        body: gives them after an index.
        index: its first numbers.
    """
    if len(index) == len(shape):
        return list(body(list(into), list(index)))
    scf = dialect("scf")
    loop = scf.ForOp(*index_constants([0, shape[len(index)], 1]), list(into))
    with ir.InsertionPoint(loop.body):
        at = (*index, loop.induction_variable)
        scf.YieldOp(nested(shape, list(loop.inner_iter_args), body, *at))
    return list(loop.results)


def is_unsigned(value: ir.Value) -> bool:
    """Whether a tensor has elements of an unsigned type."""
    element = value.type.maybe_downcast().element_type.maybe_downcast()
    return isinstance(element, ir.IntegerType) and element.is_unsigned


def signless(value: ir.Value) -> ir.Value:
    """A tensor whose elements have no sign in their type, which is what arith takes."""
    if not is_unsigned(value):
        return value
    kind = value.type.maybe_downcast()
    element = ir.IntegerType.get_signless(kind.element_type.maybe_downcast().width)
    return as_type(value, ir.RankedTensorType.get(kind.shape, element))


def as_type(value: ir.Value, kind: ir.Type) -> ir.Value:
    """A value as one of a type that differs in signs at most."""
    if value.type == kind:
        return value
    return build_value("builtin.unrealized_conversion_cast", kind, value)
