"""Code that computes with f32 as IEEE 754 has it, whatever the caller set.

A process may have told its threads to take denormal numbers for zero (libraries built
with ``-ffast-math`` do, when they are loaded), to round in another direction, or to
trap. Functions whose kernels compute with floats look at the thread's control register
at their start; where it is set so, it is changed until the end.
"""

from collections.abc import Iterable

from morello.machine.architectures import HOST
from morello.mlir import dialect, ir
from morello.passes.parts.descriptors import ALIGNED, field_of
from morello.passes.parts.vector_ops import run

arith = dialect("arith")
memref = dialect("memref")
scf = dialect("scf")

_THREADS = "scf.parallel"


def guard_float_control(ops: Iterable[ir.Operation]) -> None:
    """Guard every function and parallel loop that holds one of these ops itself.

    Each iteration of a parallel loop is a thread, which has a register of its own.
    """
    for op in dict.fromkeys(map(thread_body, ops)):
        with op.context, op.location:
            _guard(op.regions[0].blocks[0])


def thread_body(op: ir.Operation) -> ir.Operation:
    """Enclosing parallel loop or function of an op."""
    around = op.parent.operation
    while around.name not in (_THREADS, "func.func"):
        around = around.parent.operation
    return around


def outermost(op: ir.Operation) -> ir.Operation:
    """The op around an op, or it itself, right within its function or parallel loop."""
    body = thread_body(op)
    while op.parent.operation != body:
        op = op.parent.operation
    return op


def _guard(block: ir.Block) -> None:
    """Set the register at the start of a block, and back at its end."""
    word = ir.IntegerType.get_signless(32)
    with ir.InsertionPoint.at_block_begin(block):
        old, new = (_slot(word) for _ in range(2))
        run(HOST.float_control.read, old[1])
        before = memref.LoadOp(old[0], []).result
        flags = _constant(word, HOST.float_control.flags)
        plain = arith.AndIOp(before, flags).result
        wanted = arith.OrIOp(plain, _constant(word, HOST.float_control.plain)).result
        memref.StoreOp(wanted, new[0], [])
        differs = arith.CmpIOp(arith.CmpIPredicate.ne, before, wanted).result
        _set_if(differs, new[1])
    with ir.InsertionPoint.at_block_terminator(block):
        _set_if(differs, old[1])


def _slot(word: ir.Type) -> tuple[ir.Value, ir.Value]:
    """A word on the stack, and the address of it that the memref becomes in LLVM."""
    slot = memref.AllocaOp(ir.MemRefType.get([], word), [], []).result
    return slot, field_of(slot, ALIGNED)


def _set_if(condition: ir.Value, address: ir.Value) -> None:
    changed = scf.IfOp(condition)
    with ir.InsertionPoint(changed.then_block):
        run(HOST.float_control.write, address)
        scf.YieldOp([])


def _constant(kind: ir.Type, number: int) -> ir.Value:
    return arith.ConstantOp(kind, ir.IntegerAttr.get(kind, number)).result
