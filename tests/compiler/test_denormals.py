"""Kernels compute with denormal numbers even if the caller's thread flushes them to
zero."""

import ctypes

import numpy as np
import pytest

import morello
from morello.errors import CompileError
from morello.jit.engine import compile_llvm

pytestmark = pytest.mark.usefixtures("one_database")

SPEC = "matmul:64x256x64:u8,s8,s32"

LOOSE = 0x1F80 | 1 << 6 | 1 << 15
"""MXCSR of a thread that takes denormal numbers for zero and makes none."""

TRAPS = 0x1F80 & ~(1 << 8)
"""Of one that wants a signal at a denormal operand."""

_CONTROL = """
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare void @llvm.x86.sse.stmxcsr(ptr)
define void @set(ptr %p) {
  call void @llvm.x86.sse.ldmxcsr(ptr %p)
  ret void
}
define void @get(ptr %p) {
  call void @llvm.x86.sse.stmxcsr(ptr %p)
  ret void
}
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("control", [LOOSE, TRAPS], ids=["loose", "traps"])
def test_the_control_register_of_the_caller_does_not_matter(
    control: int, threads: int
) -> None:
    kernel = morello.compile(SPEC, threads=threads)
    assert "int_dot2_float" in kernel.schedule
    rng = np.random.default_rng(0)
    a = rng.integers(0, 256, (64, 256), np.uint8)
    b = rng.integers(-128, 128, (256, 64), np.int8)
    out = np.empty((64, 64), np.int32)
    engine = compile_llvm(_CONTROL, cpu="x86-64-v3")
    kind = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_uint32))
    put, get = kind(engine.address("set")), kind(engine.address("get"))
    before, wanted, after = (ctypes.c_uint32(n) for n in (0, control, 0))
    call = kernel.bind(a, b, out)
    get(before)
    put(wanted)
    call()
    get(after)
    put(before)
    assert after.value == control
    np.testing.assert_array_equal(out, a.astype(np.int32) @ b.astype(np.int32))


def test_arguments_do_not_have_the_dtypes_of_programs() -> None:
    with pytest.raises(CompileError, match=r"'rhs' has the dtype s8z.* the dtype s8"):
        morello.compile("matmul:4x4x4:u8,s8z,s32", db="none")
