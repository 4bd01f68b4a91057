"""Loops whose number of trips is data: ``stablehlo.while`` as ``scf.while``."""

from morello.mlir import all_ops, build_value, dialect, ir, replace_op


def repeated(module: ir.Operation) -> None:
    """Replace the loops of a module, whose bodies are linalg already, in place."""
    for op in all_ops(module, "stablehlo.while"):
        _repeat(op)


def _repeat(op: ir.Operation) -> None:
    kinds = [result.type for result in op.results]
    with op.location, ir.InsertionPoint(op):
        loop = ir.Operation.create(
            "scf.while", results=kinds, operands=list(op.operands), regions=2
        )
    condition, body = (region.blocks[0] for region in op.regions)
    condition.append_to(loop.regions[0])
    body.append_to(loop.regions[1])
    first, second = (region.blocks[0] for region in loop.regions)
    last = first.operations[len(first.operations) - 1].operation
    with last.location, ir.InsertionPoint(last):
        truth = dialect("tensor").ExtractOp(last.operands[0], []).result
        ir.Operation.create("scf.condition", operands=[truth, *first.arguments])
    last.erase()
    last = second.operations[len(second.operations) - 1].operation
    with last.location, ir.InsertionPoint(last):
        ir.Operation.create("scf.yield", operands=_held(last, second))
    last.erase()
    replace_op(op, *loop.results)


def _held(last: ir.Operation, body: ir.Block) -> list[ir.Value]:
    """The results of a body in the memory of its arguments, as bufferization asks for:
    by copies, since one result may be another one's argument."""
    alloc = "bufferization.alloc_tensor"
    segments = ir.DenseI32ArrayAttr.get([0, 1, 0])
    fresh = [
        build_value(alloc, value.type, value, operandSegmentSizes=segments)
        for value in last.operands
    ]
    into = "bufferization.materialize_in_destination"
    pairs = zip(fresh, body.arguments, strict=True)
    return [build_value(into, one.type, one, argument) for one, argument in pairs]
