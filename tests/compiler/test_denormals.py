"""Kernels compute as IEEE 754 has it even if the caller's thread is set otherwise."""

import contextlib
import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello
from morello.errors import CompileError
from morello.runtime.engine import compile_llvm
from tests.aot.compiler import NEEDS_CC, Linked
from tests.child import python
from tests.compiler.test_parallel import CHEAP_FORK_TEXT
from tests.quality.compiled import same_bytes, unsearched

pytestmark = pytest.mark.usefixtures("one_database")

SPEC = "matmul:24x64x48:u8,s8,s32:l2=0"
TARGET = "avx2{fork=1000}"

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


UPWARDS = 0x1F80 | 2 << 13
"""Of one that rounds upwards."""

CONTROLS = {"loose": LOOSE, "traps": TRAPS, "upwards": UPWARDS}


@contextlib.contextmanager
def controlled(control: int) -> Iterator[None]:
    """Set MXCSR of this thread; what is called must leave it so."""
    engine = compile_llvm(_CONTROL, cpu="x86-64-v3")
    kind = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_uint32))
    put, get = kind(engine.address("set")), kind(engine.address("get"))
    before, wanted, after = (ctypes.c_uint32(n) for n in (0, control, 0))
    get(before)
    put(wanted)
    try:
        yield
    finally:
        get(after)
        put(before)
    assert after.value == control


@pytest.mark.sampled(5)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("control", CONTROLS)
def test_the_control_register_of_the_caller_does_not_matter(
    control: str, threads: int
) -> None:
    kernel = morello.compile(SPEC, target=TARGET, threads=threads)
    assert kernel.threads == threads
    assert "int_dot2_float" in kernel.schedule
    rng = np.random.default_rng(0)
    a = rng.integers(0, 256, (24, 64), np.uint8)
    b = rng.integers(-128, 128, (64, 48), np.int8)
    out = np.empty((24, 48), np.int32)
    call = kernel.bind(a, b, out)
    with controlled(CONTROLS[control]):
        call()
    np.testing.assert_array_equal(out, a.astype(np.int32) @ b.astype(np.int32))


FLOATS = (
    "matmul:4x8x16:f32",
    "matmul_accum:5x7x9:f32",
    "matmul:4x8x16:bf16,bf16,f32",
    "matmul:1x7x3:f32",
    "max:9x33:f32",
    "sum:9x33:f32",
    "move:5x9:f32,bf16",
)


def denormals(kernel: morello.Kernel) -> list[np.ndarray[Any, Any]]:
    """Arguments whose elements are denormal, or whose products are."""
    rng = np.random.default_rng(1)
    arrays: list[np.ndarray[Any, Any]] = []
    for parameter in kernel.parameters:
        is_factor = len(kernel.parameters) == 3 and not parameter.is_output
        size = 3e-20 if is_factor else 1e-39
        values = size * rng.standard_normal(parameter.shape)
        arrays.append(values.astype(parameter.dtype))
    return arrays


@pytest.mark.parametrize("text", FLOATS)
@pytest.mark.parametrize("control", CONTROLS)
def test_floats_are_computed_with_as_ever(text: str, control: str) -> None:
    kernel = unsearched(text)
    arrays = denormals(kernel)
    other = [array.copy() for array in arrays]
    kernel(*arrays)
    call = kernel.bind(*other)
    with controlled(CONTROLS[control]):
        call()
    assert same_bytes(other, arrays)
    assert np.any(arrays[-1].astype(np.float64))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("inherit", ["true", "false"])
def test_every_thread_computes_as_ever(inherit: str) -> None:
    """Whether threads take over the caller's register, or have their own."""
    code = f"""
import ctypes
import numpy as np
import morello
from tests.compiler.test_denormals import LOOSE, controlled, denormals
kernel = morello.compile("sum:64x64:f32", target={CHEAP_FORK_TEXT!r}, threads=2)
assert kernel.threads == 2
arrays = denormals(kernel)
other = [array.copy() for array in arrays]
kernel(*arrays)
call = kernel.bind(*other)
with controlled(LOOSE):
    call()
assert np.array_equal(arrays[-1], other[-1]) and np.count_nonzero(other[-1]) == 64
"""
    python(
        "-c",
        code,
        env={"KMP_INHERIT_FP_CONTROL": inherit},
        check=True,
        cwd=Path(__file__).parents[2],
    )


@NEEDS_CC
def test_objects_for_c_compute_as_ever(tmp_path: Path) -> None:
    kernel = unsearched("matmul:4x8x16:f32")
    linked = Linked(kernel.library("k"), tmp_path)
    arrays = denormals(kernel)
    other = [array.copy() for array in arrays]
    kernel(*arrays)
    pointers = linked.pointers(*other)
    with controlled(LOOSE):
        linked.raw(*pointers)
    assert same_bytes(other, arrays)


def test_arguments_do_not_have_the_dtypes_of_programs() -> None:
    with pytest.raises(CompileError, match=r"'rhs' has the dtype s8z.* the dtype s8"):
        morello.compile("matmul:4x4x4:u8,s8z,s32", db="none")
