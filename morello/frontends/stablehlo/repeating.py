"""Loops whose number of trips is data: ``stablehlo.while`` as ``scf.while``."""

from morello.mlir import all_ops, dialect, ir


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
    for old, new in zip(op.results, loop.results, strict=True):
        old.replace_all_uses_with(new)
    op.erase()


def _held(last: ir.Operation, body: ir.Block) -> list[ir.Value]:
    """The results of a body in the memory of its arguments, as bufferization asks for:
    by copies, since one result may be another one's argument."""
    name = "bufferization.materialize_in_destination"
    fresh = [
        ir.Operation.create(
            "bufferization.alloc_tensor",
            results=[value.type],
            operands=[value],
            attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 1, 0])},
        ).results[0]
        for value in last.operands
    ]
    return [
        ir.Operation.create(name, results=[one.type], operands=[one, argument]).results[
            0
        ]
        for one, argument in zip(fresh, body.arguments, strict=True)
    ]
