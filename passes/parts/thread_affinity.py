"""Threads of a team run on distinct processors: `spread_threads`.

The scheduler often wakes a sleeping thread on the processor of the thread that wakes
it. The two then share that processor until the scheduler moves one of them, which may
take many calls of a kernel. A worker thread that finds itself on the processor where
its team began therefore moves to another one.

The check compares two numbers in each parallel region. Only a thread that shares the
processor makes three system calls, if the team has no more threads than there are
processors in its affinity mask.
"""

from collections.abc import Iterable

from morello.mlir import ir

_LEAVE = "morello_leave_processor"
_GETCPU = "sched_getcpu"

_DECLARATIONS = {
    _GETCPU: "() -> i32",
    "sched_getaffinity": "(i32, i64, !llvm.ptr) -> i32",
    "sched_setaffinity": "(i32, i64, !llvm.ptr) -> i32",
    "omp_get_thread_num": "() -> i32",
    "omp_get_num_threads": "() -> i32",
}
"""From the C library (an affinity mask has 128 bytes) and the OpenMP runtime."""

_PLAIN = 'passthrough = ["nounwind"]'
"""None of them throws, so kernels do not throw either."""

_LEAVE_TEXT = f"""
llvm.func internal @{_LEAVE}(%first: i32) attributes {{
  passthrough = ["cold", "noinline", "nounwind"]
}} {{
  %none = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %bytes = llvm.mlir.constant(128 : i64) : i64
  %zero = llvm.mlir.constant(dense<0> : vector<16xi64>) : vector<16xi64>
  %all = llvm.alloca %one x vector<16xi64> : (i32) -> !llvm.ptr
  %others = llvm.alloca %one x vector<16xi64> : (i32) -> !llvm.ptr
  %thread = llvm.call @omp_get_thread_num() : () -> i32
  %begins = llvm.icmp "eq" %thread, %none : i32
  llvm.cond_br %begins, ^done, ^look
^look:
  %here = llvm.call @{_GETCPU}() : () -> i32
  %same = llvm.icmp "eq" %here, %first : i32
  %known = llvm.mlir.constant(1024 : i32) : i32
  %in_set = llvm.icmp "ult" %first, %known : i32
  %meets = llvm.and %same, %in_set : i1
  llvm.cond_br %meets, ^ask, ^done
^ask:
  llvm.store %zero, %all : vector<16xi64>, !llvm.ptr
  %failed = llvm.call @sched_getaffinity(%none, %bytes, %all)
    : (i32, i64, !llvm.ptr) -> i32
  %set = llvm.load %all : !llvm.ptr -> vector<16xi64>
  %ones = llvm.intr.ctpop(%set) : (vector<16xi64>) -> vector<16xi64>
  %count = "llvm.intr.vector.reduce.add"(%ones) : (vector<16xi64>) -> i64
  %team = llvm.call @omp_get_num_threads() : () -> i32
  %wanted = llvm.zext %team : i32 to i64
  %enough = llvm.icmp "uge" %count, %wanted : i64
  llvm.cond_br %enough, ^go, ^done
^go:
  llvm.store %set, %others : vector<16xi64>, !llvm.ptr
  %six = llvm.mlir.constant(6 : i32) : i32
  %last = llvm.mlir.constant(63 : i32) : i32
  %bit_one = llvm.mlir.constant(1 : i64) : i64
  %word = llvm.lshr %first, %six : i32
  %at = llvm.getelementptr %others[%word] : (!llvm.ptr, i32) -> !llvm.ptr, i64
  %place = llvm.and %first, %last : i32
  %shift = llvm.zext %place : i32 to i64
  %bit = llvm.shl %bit_one, %shift : i64
  %old = llvm.load %at : !llvm.ptr -> i64
  %new = llvm.xor %old, %bit : i64
  llvm.store %new, %at : i64, !llvm.ptr
  %moved = llvm.call @sched_setaffinity(%none, %bytes, %others)
    : (i32, i64, !llvm.ptr) -> i32
  %back = llvm.call @sched_setaffinity(%none, %bytes, %all)
    : (i32, i64, !llvm.ptr) -> i32
  llvm.br ^done
^done:
  llvm.return
}}
"""
"""The old affinity mask is restored after the move: the move is a hint that leaves the
scheduler free. The system refuses an empty mask, and nothing changes."""


def spread_threads(teams: Iterable[ir.Operation]) -> None:
    """Make the threads of each team leave the processor where the team began.

    Args:
        teams: ``omp.parallel`` ops in functions of a module.
    """
    teams = list(teams)
    if not teams:
        return
    module = teams[0]
    while module.parent is not None:
        module = module.parent.operation
    with module.context, module.location:
        _declare(module)
        for team in teams:
            with ir.InsertionPoint(team), team.location:
                here = _call(_GETCPU, [], [ir.IntegerType.get_signless(32)])
            start = ir.InsertionPoint.at_block_begin(team.regions[0].blocks[0])
            with start, team.location:
                _call(_LEAVE, [here.results[0]], [])


def _declare(module: ir.Operation) -> None:
    """Declare the called functions at the end of the module, unless it has them."""
    block = module.regions[0].blocks[0]
    names = (op.attributes["sym_name"] for op in block if "sym_name" in op.attributes)
    has = {ir.StringAttr(name).value for name in names}
    texts = {
        name: f"llvm.func @{name}{kind} attributes {{{_PLAIN}}}"
        for name, kind in _DECLARATIONS.items()
    } | {_LEAVE: _LEAVE_TEXT}
    source = ir.Module.parse("\n".join(texts.values()))
    for function in list(source.body):
        if ir.StringAttr(function.attributes["sym_name"]).value not in has:
            block.append(function.operation.clone())


def _call(name: str, operands: list[ir.Value], results: list[ir.Type]) -> ir.Operation:
    return ir.Operation.create(
        "llvm.call",
        results,
        operands,
        {
            "callee": ir.FlatSymbolRefAttr.get(name),
            "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
        },
    )
