"""Upstream's plain lowering: a function of linalg on tensors to loops on memrefs.

It is as slow as it is general. Places that are data are brought within their tensor,
and divisors that are data are never 0: a program of a stranger reads and writes its own
memory alone.
"""

import itertools
import math

from morello.errors import CompileError
from morello.frontends.linalg.types import extents_of
from morello.frontends.plain.extreme_places import find_places
from morello.frontends.plain.scans import loops_of_scans, store_scans
from morello.frontends.refusals import OpError
from morello.mlir import PassManager, dialect, ir, known_index, walk
from morello.passes.pipelines.pipeline import Pipeline
from morello.runtime.runtime_calls import check_calls
from morello.runtime.translate import lower_to_llvm_text

PLAIN = "plain"
"""The name of the function."""

_FUSED = (
    "builtin.module(func.func(convert-elementwise-to-linalg,linalg-generalize-named-ops,"
    "linalg-fuse-elementwise-ops),canonicalize,cse)"
)
_BUFFERS = (
    "builtin.module(func.func(convert-elementwise-to-linalg),canonicalize,cse,empty-tensor-to-alloc-tensor,"
    "one-shot-bufferize{bufferize-function-boundaries=1 "
    "function-boundary-type-conversion=identity-layout-map buffer-alignment=0},"
    "canonicalize,"  # so that a result is an allocation that can be hoisted
    "buffer-results-to-out-params{modify-public-functions=1 hoist-static-allocs=1},"
    "canonicalize,cse)"
)
_LOOPS = (
    "builtin.module(func.func(convert-linalg-to-loops),lower-affine,"
    "func.func(math-extend-to-supported-types{extra-types=f16 target-type=f32},"
    "arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}),"
    "arith-expand{include-bf16=true},"
    "canonicalize,cse,symbol-dce)"
)

_DIVISIONS = frozenset(
    f"arith.{name}"
    for name in (
        "ceildivsi",
        "ceildivui",
        "divsi",
        "divui",
        "floordivsi",
        "remsi",
        "remui",
    )
)


def lowered(module: ir.Module, error: OpError) -> str:
    """A module with one function of tensors, `PLAIN`, as one of memrefs and loops.

    The memrefs of the results are arguments, after the others.

    Args:
        module: is changed.
        error: why it is no Spec.

    Raises:
        OpError: it cannot be lowered.
    """
    function = module.body.operations[0]
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [ir.DictAttr.get({"bufferization.writable": ir.BoolAttr.get(False)})]
        * len(function.arguments)
    )
    try:
        module.operation.verify()
        _guard(function.operation)
        find_places(function.operation)
        _leave_unread_results_empty(function.operation)
        _fuse(module.operation)
        store_scans(module.operation)
        PassManager.parse(_BUFFERS).run(module.operation)
        loops_of_scans(module.operation)
        _copy_by_loops(module.operation)
        PassManager.parse(_LOOPS).run(module.operation)
        _leave_loops_to_llvm(module.operation)
        text = str(module)
        _check(text)
    except (ir.MLIRError, CompileError) as failure:
        raise OpError(
            f"{error.reason}, and upstream's plain lowering fails, too",
            error.remedy,
            error.location,
        ) from failure
    return text


_COSTLY = ("math.", "tensor.extract", "arith.div", "arith.rem", "arith.floordivsi")
"""How ops begin that are not worth computing more than once."""


def _fuse(module: ir.Operation) -> None:
    """Compute maps where their one reader reads them, but for costly ones that it reads
    several times: a second use keeps these from it."""
    for op in _all(module, "linalg.generic"):
        uses = [use for result in op.results for use in result.uses]
        body = op.regions[0].blocks[0].operations
        if len(uses) == 1 and any(inner.name.startswith(_COSTLY) for inner in body):
            (use,) = uses
            reader = use.owner.operation
            if reader.name == op.name and extents_of(reader) != extents_of(op):
                with op.location, ir.InsertionPoint(op.block.operations[-1]):
                    dialect("bufferization").DeallocTensorOp(op.results[0])
    PassManager.parse(_FUSED).run(module)
    for op in _all(module, "bufferization.dealloc_tensor"):
        op.erase()


def _check(text: str) -> None:
    """Lower it to the end: what remains to be done with it in a model does not fail.

    Raises:
        MLIRError, CompileError: it would.
    """
    module = ir.Module.parse(text)
    Pipeline.parse("builtin.module(morello-plan-memory)").run(module.operation)
    check_calls(lower_to_llvm_text(module), mathematics=True)


def _all(operation: ir.Operation, *names: str) -> list[ir.Operation]:
    ops: list[ir.Operation] = []

    def see(op: ir.Operation) -> ir.WalkResult:
        if op.name in names:
            ops.append(op)
        return ir.WalkResult.ADVANCE

    walk(operation, see)
    return ops


def _copy_by_loops(module: ir.Operation) -> None:
    """Copies as ops of linalg: one of strided memory would call MLIR's runtime."""
    linalg = dialect("linalg")
    for op in _all(module, "memref.copy"):
        source, target = op.operands
        with op.location, ir.InsertionPoint(op):
            linalg.copy(source, outs=[target])
        op.erase()


def _leave_unread_results_empty(function: ir.Operation) -> None:
    """Let ops that write all of a result, and read nothing of it, have it empty: what
    fills it would be computed for nothing."""
    for op in _all(function, "linalg.generic"):
        arguments = list(op.regions[0].blocks[0].arguments)
        first = len(arguments) - len(op.results)
        for place in range(first, len(arguments)):
            if any(True for _ in arguments[place].uses):
                continue
            kind = ir.RankedTensorType(op.operands[place].type)
            with op.location, ir.InsertionPoint(op):
                empty = dialect("tensor").EmptyOp(list(kind.shape), kind.element_type)
            op.operands[place] = empty.result


_VECTOR = 16
"""Trips of a loop that a vector takes."""

_ROLLED = (
    "unroll = <disable = true>, "
    "vectorize = <followupVectorized = <mustProgress = true>>, "
)
"""Marks of a loop that is not written out before it is vectorised."""


_CACHED = 1 << 20
"""Bytes of a table from which on lookups one by one are quicker than by vectors, which
wait for the last of their elements: those of L2."""


def _leave_loops_to_llvm(module: ir.Operation) -> None:
    """Mark loops, which no schedule has written, so that LLVM may vectorise them: it
    would write out those of some ten trips before it comes to that. It leaves loops
    without marks."""
    with module.context:
        free, rolled = (
            ir.Attribute.parse(f"#llvm.loop_annotation<{each}mustProgress = true>")
            for each in ("", _ROLLED)
        )
    for loop in _all(module, "scf.for"):
        start, end = map(known_index, loop.operands[:2])
        is_long = start is not None and end is not None and end - start >= _VECTOR
        if not _waits_for_memory(loop):
            loop.attributes["loop_annotation"] = rolled if is_long else free


def _waits_for_memory(loop: ir.Operation) -> bool:
    """Whether a loop looks up elements of a large table, and computes nothing else."""
    body = loop.regions[0].blocks[0]
    is_far = False
    for op in body.operations:
        if op.name == "memref.load":
            table, *indices = op.operands
            kind = table.type.maybe_downcast()
            bits = math.prod(kind.shape) * getattr(kind.element_type, "width", 64)
            is_far |= bits > 8 * _CACHED and any(_is_data(i, body) for i in indices)
        elif any(isinstance(result.type, ir.FloatType) for result in op.results):
            return False
    return is_far


def _is_data(value: ir.Value, body: ir.Block) -> bool:
    """Whether a value depends on what is loaded in a block."""
    op = value.owner
    if isinstance(op, ir.Block) or op.operation.block != body:
        return False
    return op.name == "memref.load" or any(_is_data(v, body) for v in op.operands)


def _guard(function: ir.Operation) -> None:
    for op in _all(function, "tensor.extract"):
        shape = op.operands[0].type.maybe_downcast().shape
        for axis, extent in enumerate(shape):
            _clamp(op, 1 + axis, extent - 1)
    for op in _all(function, "tensor.insert"):
        shape = op.operands[1].type.maybe_downcast().shape
        for axis, extent in enumerate(shape):
            _clamp(op, 2 + axis, extent - 1)
    for op in _all(function, "tensor.extract_slice", "tensor.insert_slice"):
        _guard_slice(op)
    for op in _all(function, *_DIVISIONS):
        _guard_division(op)


def _guard_slice(op: ir.Operation) -> None:
    """Bring the starts of a slice to where all of it is within its tensor.

    Raises:
        ir.MLIRError: its sizes or steps are data.
    """
    first = 1 if op.name == "tensor.extract_slice" else 2
    shape = op.operands[first - 1].type.maybe_downcast().shape
    starts, sizes, steps = (
        list(ir.DenseI64ArrayAttr(op.attributes[name]))
        for name in ("static_offsets", "static_sizes", "static_strides")
    )
    dynamic = ir.ShapedType.get_dynamic_size()
    if dynamic in (*sizes, *steps):
        raise OpError("it is a slice whose size is data", "give it a size")
    place = itertools.count(first)
    for start, size, step, extent in zip(starts, sizes, steps, shape, strict=True):
        if start == dynamic:
            _clamp(op, next(place), extent - 1 - (size - 1) * step)


def _clamp(op: ir.Operation, operand: int, most: int) -> None:
    """Bring an index to 0 at least and ``most`` at most, if it may be elsewhere: LLVM
    makes vectors of rows whose indices are those of loops."""
    bounds = _bounds_of(op.operands[operand])
    if bounds is not None and bounds[0] >= 0 and bounds[1] <= most + 1:
        return
    arith = dialect("arith")
    index = ir.IndexType.get()
    with op.location, ir.InsertionPoint(op):
        low = arith.ConstantOp(index, 0).result
        high = arith.ConstantOp(index, most).result
        least = arith.MaxSIOp(op.operands[operand], low).result
        op.operands[operand] = arith.MinSIOp(least, high).result


def _bounds_of(index: ir.Value) -> tuple[int, int] | None:
    """The least value of the index of a loop, and the end of its values; None for any
    other value."""
    if isinstance(index.owner, ir.Block):
        loop = index.owner.owner
        if loop.name != "scf.for" or index != index.owner.arguments[0]:
            return None
        start, end = map(known_index, loop.operands[:2])
        return None if start is None or end is None else (start, end)
    loop = index.owner
    if loop.name != "linalg.index":
        return None
    extents = extents_of(loop.parent)
    dim = ir.IntegerAttr(loop.attributes["dim"]).value
    return None if extents is None else (0, extents[dim])


def _guard_division(op: ir.Operation) -> None:
    """Divide by 1 where the processor would stop the program."""
    arith = dialect("arith")
    divided, divisor = op.operands
    kind = divisor.type.maybe_downcast()
    if isinstance(kind, ir.ShapedType):
        raise OpError("it divides whole tensors of integers", "write it as a generic")
    with op.location, ir.InsertionPoint(op):
        one, zero = (arith.ConstantOp(kind, n).result for n in (1, 0))
        stops = arith.CmpIOp(0, divisor, zero).result
        if not op.name.endswith("ui"):
            width = 64 if isinstance(kind, ir.IndexType) else kind.width
            least = arith.ConstantOp(kind, -(1 << (width - 1))).result
            minus = arith.ConstantOp(kind, -1).result
            overflows = arith.AndIOp(
                arith.CmpIOp(0, divided, least).result,
                arith.CmpIOp(0, divisor, minus).result,
            ).result
            stops = arith.OrIOp(stops, overflows).result
        op.operands[1] = arith.SelectOp(stops, one, divisor).result
