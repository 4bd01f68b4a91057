"""Equal kernels of a function for many sizes: calls of one more function.

The programs of a range of sizes differ in loops and copies, and have most kernels in
common. Code of each of them would be larger than a cache of instructions, and slow to
compile.
"""

import math
from collections.abc import Hashable, Sequence

from morello.dialect.build import build_kernel_op, make_internal
from morello.dialect.memrefs import DYNAMIC, recast, strided
from morello.dialect.sizes import size_value, sizes_attribute, sizes_taken
from morello.mlir import dialect, ir
from morello.passes.parts.buffers import ALIASES
from morello.spec import Spec

WORTH_A_CALL = 1 << 13
"""Points of a kernel's dimensions beside whose work a call takes nothing."""

_WORD = 64


def call_form(op: ir.Operation, kernel: str, spec: Spec) -> Hashable | None:
    """All that the code of a kernel depends on; None where it stays in its place.

    A kernel is called where its function takes the sizes of a call, its work is much,
    and each operand lies in other memory, as arguments of functions do.
    """
    graph = spec.kind.as_graph
    least = math.prod(spec.sizes) / math.prod(
        (spec.sizes[dim] / one.least) for one in spec.ranges for dim in one.dims
    )
    roots = [_root(operand) for operand in op.operands]
    if (
        not sizes_taken(_function(op))
        or least < WORTH_A_CALL
        or (graph is not None and graph.call_sizes)
        or any(a == b for at, a in enumerate(roots) for b in roots[:at])
        or any(tensor.level.is_registers for tensor in spec.tensors)
    ):
        return None
    kinds = [ir.MemRefType(operand.type) for operand in op.operands]
    strides = tuple(tuple(kind.get_strides_and_offset()[0]) for kind in kinds)
    function = str(_function(op).attributes["sym_name"])
    return function, kernel, spec.key, spec.sizes, spec.ranges, strides


def outlined(ops: Sequence[ir.Operation], kernel: str, spec: Spec) -> ir.Operation:
    """The kernel of a new function, calls of which take the place of equal kernels."""
    func, arith = dialect("func"), dialect("arith")
    around = _function(ops[0])
    stem = str(ir.StringAttr(around.attributes["sym_name"]).value)
    with ops[0].context, ops[0].location:
        word, index = ir.IntegerType.get_signless(_WORD), ir.IndexType.get()
        views = [_view(operand.type) for operand in ops[0].operands]
        types: list[ir.Type] = []
        for view in views:
            strides, _ = view.get_strides_and_offset()
            numbers = [word] * (1 + strides.count(DYNAMIC))
            types += [ir.MemRefType.get([], view.element_type), *numbers]
        types += [index] * len(spec.ranges)
        with ir.InsertionPoint(around.block):  # the first one is that which is called
            name = _unused(f"{stem}_kernel", around)
            function = func.FuncOp(name, (types, []), visibility="private")
        for key, value in sizes_attribute(count=len(spec.ranges)).items():
            function.operation.attributes[key] = value
        function.operation.attributes["llvm.no_inline"] = ir.UnitAttr.get()
        with ir.InsertionPoint(function.add_entry_block()):
            arguments = iter(function.arguments)
            operands = []
            for view in views:
                strides, _ = view.get_strides_and_offset()
                base = next(arguments)
                offset, *apart = (
                    arith.IndexCastOp(index, next(arguments)).result
                    for _ in range(1 + strides.count(DYNAMIC))
                )
                operands.append(recast(base, view, [offset], apart))
            inner = build_kernel_op(kernel, spec, operands)
            func.ReturnOp([])
        make_internal(function.operation)
    for op in ops:
        with op.context, op.location, ir.InsertionPoint(op):
            values = [v for operand in op.operands for v in _numbers(operand)]
            values += [size_value(op, spec, n) for n in range(len(spec.ranges))]
            func.CallOp([], ir.FlatSymbolRefAttr.get(name), values)
        op.erase()
    return inner


def _function(op: ir.Operation) -> ir.Operation:
    """The function around an op."""
    around = op.parent.operation
    while around.name != "func.func":
        around = around.parent.operation
    return around


def _unused(stem: str, beside: ir.Operation) -> str:
    """A name that no symbol beside a function has."""
    block = beside.block
    symbols = (op.attributes for op in block.operations)
    names = {
        str(ir.StringAttr(one["sym_name"]).value)
        for one in symbols
        if "sym_name" in one
    }
    return next(
        name for n in range(len(names) + 1) if (name := f"{stem}{n}") not in names
    )


def _root(value: ir.Value) -> ir.Value:
    """The memref that a view is a part of."""
    while not isinstance(value.owner, ir.Block) and value.owner.name in ALIASES:
        value = value.owner.operands[0]
    return value


def _view(kind: ir.Type) -> ir.MemRefType:
    """The type of an operand that begins anywhere."""
    kind = ir.MemRefType(kind)
    strides, _ = kind.get_strides_and_offset()
    return strided(kind.shape, kind.element_type, DYNAMIC, strides)


def _numbers(value: ir.Value) -> list[ir.Value]:
    """The memory of an operand, where it begins, and its strides that a call says."""
    arith, kind = dialect("arith"), ir.MemRefType(value.type)
    index, word = ir.IndexType.get(), ir.IntegerType.get_signless(_WORD)
    base = ir.MemRefType.get([], kind.element_type)
    strides, _ = kind.get_strides_and_offset()
    every = ir.Operation.create(
        "memref.extract_strided_metadata",
        [base, *[index] * (1 + 2 * kind.rank)],
        [value],
    ).results
    apart = [every[2 + kind.rank + d] for d, n in enumerate(strides) if n == DYNAMIC]
    numbers = [arith.IndexCastOp(word, n).result for n in (every[1], *apart)]
    return [every[0], *numbers]
