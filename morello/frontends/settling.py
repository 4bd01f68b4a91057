"""Open dimensions of a program's arguments get a size: `settle`.

Upstream's passes infer all other shapes of these.
"""

from collections.abc import Callable

from morello.errors import CompileError
from morello.frontends.linalg.types import dynamic
from morello.mlir import all_ops, ir

_REFINED = (
    "builtin.module(stablehlo-refine-arguments{{types={}}},stablehlo-refine-shapes,"
    "func.func(stablehlo-check-shape-assertions,stablehlo-canonicalize-dynamism))"
)
_INFERRED = "builtin.module(canonicalize,cse)"


def settle(
    module: ir.Operation, function: ir.Operation, size: int, run: Callable[[str], None]
) -> None:
    """Give a size to the open dimensions of a function's arguments.

    Args:
        module: in which calls are inlined. Other functions leave it.
        function: that which stays.
        size: the size.
        run: runs passes on the module.

    Raises:
        CompileError: no dimension is open, or two of an argument are.
    """
    for op in list(module.regions[0].blocks[0].operations):
        if op.operation.name == "func.func" and op.operation != function:
            op.operation.erase()
    arguments = list(function.regions[0].blocks[0].arguments)
    types = [_settled(argument.type, size) for argument in arguments]
    for place, (kind, parameter) in enumerate(zip(types, arguments, strict=True)):
        if dynamic(kind) is not None:
            raise CompileError(
                f"argument {place} is {parameter.type}, and a call says one of its "
                "sizes",
                "export the program with the other sizes",
            )
    if types == [argument.type for argument in arguments]:
        raise CompileError(
            "no argument has an open dimension, and a range is given",
            "leave it out, or export the program with tensor<?x…>",
        )
    if any(op.name.startswith("stablehlo.") for op in all_ops(function)):
        run(_REFINED.format(",".join(map(str, types))))
        return
    _retype(function, types)
    run(_INFERRED)
    _drop_casts(function)


def _settled(kind: ir.Type, size: int) -> ir.Type:
    """A type with a size in the place of its open dimension, if it has one."""
    kind = kind.maybe_downcast()
    if not isinstance(kind, ir.RankedTensorType):
        return kind
    open_dims = [dim for dim in range(kind.rank) if kind.is_dynamic_dim(dim)]
    if len(open_dims) != 1:
        return kind
    sizes = list(kind.shape)
    sizes[open_dims[0]] = size
    return ir.RankedTensorType.get(sizes, kind.element_type)


def _retype(function: ir.Operation, types: list[ir.Type]) -> None:
    """Give types to the arguments of a function, whose body reads casts of them."""
    block = function.regions[0].blocks[0]
    for argument, kind in zip(block.arguments, types, strict=True):
        old = argument.type
        if old == kind:
            continue
        argument.set_type(kind)
        with ir.InsertionPoint.at_block_begin(block), function.location:
            cast = ir.Operation.create("tensor.cast", [old], [argument])
        argument.replace_all_uses_except(cast.result, cast)
    kind = ir.TypeAttr(function.attributes["function_type"]).value
    _declare(function, list(ir.FunctionType(kind).results))


def _drop_casts(function: ir.Operation) -> None:
    """Return what is cast to an open shape as it is."""
    operations = function.regions[0].blocks[0].operations
    last = operations[len(operations) - 1].operation
    for place, value in enumerate(last.operands):
        producer = value.owner if isinstance(value, ir.OpResult) else None
        if producer is not None and producer.name == "tensor.cast":
            last.operands[place] = producer.operands[0]
    _declare(function, [value.type for value in last.operands])


def _declare(function: ir.Operation, results: list[ir.Type]) -> None:
    """Give a function the types of its block's arguments, and of results."""
    types = [argument.type for argument in function.regions[0].blocks[0].arguments]
    kind = ir.FunctionType.get(types, results)
    function.attributes["function_type"] = ir.TypeAttr.get(kind)
