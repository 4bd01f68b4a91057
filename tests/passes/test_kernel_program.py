"""A program of kernels on tiles at moving offsets, through the passes in any order."""

import ctypes

import numpy as np
import pytest

from morello.dialect import in_context
from morello.dialect.build import build_kernel_op
from morello.mlir import ir
from morello.passes.pipelines.pipeline import Pipeline
from morello.runtime.engine import Engine, compile_llvm
from morello.runtime.translate import lower_to_llvm_text
from morello.spec import Kind, Matmul, Move
from tests.guarded import check_canaries, check_in_child, guarded_array
from tests.kernels.harness import spec
from tests.kernels.test_assembly import opcodes, touches_stack

pytestmark = pytest.mark.quick

SHELL = """
func.func @f(%a: memref<1x12x32xf32>, %b: memref<1x32x16xf32>,
             %c: memref<1x12x16xf32>) {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %c32 = arith.constant 32 : index
  scf.for %i = %c0 to %c12 step %c6 {
    %panel = memref.alloc() : memref<1x1x32x6xf32>
    scf.for %k = %c0 to %c32 step %c8 {
      %from = memref.subview %a[0, %i, %k] [1, 6, 8] [1, 1, 1] :
        memref<1x12x32xf32> to
        memref<1x6x8xf32, strided<[384, 32, 1], offset: ?>>
      %to = memref.subview %panel[0, 0, %k, 0] [1, 1, 8, 6] [1, 1, 1, 1] :
        memref<1x1x32x6xf32> to
        memref<1x1x8x6xf32, strided<[192, 192, 6, 1], offset: ?>>
      "test.pack"(%from, %to) : (
        memref<1x6x8xf32, strided<[384, 32, 1], offset: ?>>,
        memref<1x1x8x6xf32, strided<[192, 192, 6, 1], offset: ?>>) -> ()
    }
    %sums = memref.alloca() : memref<1x6x2xvector<8xf32>>
    %out = memref.subview %c[0, %i, 0] [1, 6, 16] [1, 1, 1] :
      memref<1x12x16xf32> to memref<1x6x16xf32, strided<[192, 16, 1], offset: ?>>
    "test.load"(%out, %sums) : (
      memref<1x6x16xf32, strided<[192, 16, 1], offset: ?>>,
      memref<1x6x2xvector<8xf32>>) -> ()
    "test.matmul"(%panel, %b, %sums) : (memref<1x1x32x6xf32>,
      memref<1x32x16xf32>, memref<1x6x2xvector<8xf32>>) -> ()
    "test.store"(%sums, %out) : (memref<1x6x2xvector<8xf32>>,
      memref<1x6x16xf32, strided<[192, 16, 1], offset: ?>>) -> ()
  }
  return
}
"""

ROWS, PANEL = "f32@L1[0,1,2]", "f32@L1[0,1,2,1p6]"
SUMS = "f32@VRF[0,1,2]v8"

LEAVES: dict[str, tuple[str, Kind, tuple[int, ...], tuple[str, ...]]] = {
    "test.pack": ("transpose", Move(3), (1, 6, 8), (ROWS, PANEL)),
    "test.load": ("load", Move(3), (1, 6, 16), (ROWS, SUMS)),
    "test.matmul": (
        "gemm_registers",
        Matmul(True),
        (1, 6, 32, 16),
        (PANEL, ROWS, SUMS),
    ),
    "test.store": ("store", Move(3), (1, 6, 16), (SUMS, ROWS)),
}


def program() -> ir.Module:
    """The shell with a kernel op for each leaf; in the current context."""
    module = ir.Module.parse(SHELL)
    ops: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in LEAVES:
            ops.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for op in ops:
        kernel, kind, sizes, forms = LEAVES[op.name]
        with ir.InsertionPoint(op):
            build_kernel_op(kernel, spec(kind, sizes, *forms), list(op.operands))
        op.erase()
    return module


def compiled(passes: str) -> Engine:
    with in_context() as context:
        context.allow_unregistered_dialects = True
        module = program()
        assert module.operation.verify()
        Pipeline.parse(f"builtin.module({passes})").run(module.operation)
        assert "morello.workspace_bytes = 768 : i64" in str(module)
        text = lower_to_llvm_text(module)
    return compile_llvm(text, cpu="haswell")


ORDERS = [
    "morello-lower-kernels,morello-plan-memory",
    "morello-plan-memory,morello-lower-kernels",
    "morello-lower-kernels,canonicalize,cse,morello-plan-memory,canonicalize",
    "morello-plan-memory,canonicalize,cse,loop-invariant-code-motion,"
    "morello-lower-kernels",
]


@pytest.mark.parametrize("passes", ORDERS)
def test_the_product_is_exact_in_every_order_of_passes(passes: str) -> None:
    engine = compiled(passes)

    def run() -> None:
        rng = np.random.default_rng(0)
        a, b, c = (
            rng.integers(-4, 5, shape).astype(np.float32)
            for shape in ((1, 12, 32), (1, 32, 16), (1, 12, 16))
        )
        work = guarded_array(np.zeros(768, np.uint8), name="workspace")
        out = guarded_array(c, name="out")
        placed = [
            guarded_array(a, writable=False, name="lhs"),
            guarded_array(b, writable=False, name="rhs"),
            out,
            work,
        ]
        call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(engine.address("f"))
        call(*[array.ctypes.data for array in placed])
        for array in placed:
            check_canaries(array)
        assert np.array_equal(out, c + a @ b)

    check_in_child(run)


@pytest.mark.parametrize("passes", ORDERS)
def test_registers_never_touch_the_stack(passes: str) -> None:
    lines = compiled(passes).asm.splitlines()
    assert opcodes([s for s in map(str.strip, lines) if s])["vfmadd231ps"] >= 12
    assert not touches_stack([s for s in lines if "ymm" in s])
