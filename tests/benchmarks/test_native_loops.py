"""Native loops: the calls that they make, and the loops of the roofs."""

import ctypes

import llvmlite.binding as lb
import numpy as np
import pytest

from benchmarks.harness.loops import (
    Argument,
    Constant,
    NativeLoop,
    Pointer,
    float32,
    int32,
    int64,
)
from benchmarks.harness.roof_loops import (
    ARITHMETIC,
    DOT_BF16,
    READINGS,
    WIDE,
    Reading,
    arithmetic_text,
    operations,
    wide_cpu,
)
from benchmarks.harness.roofs import Roofs
from morello.runtime.engine import compile_llvm, compile_object


def test_a_loop_calls_with_all_arguments_and_steps_through_a_batch() -> None:
    seen: list[tuple[object, ...]] = []
    kind = ctypes.CFUNCTYPE(
        None,
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_float,
        ctypes.c_int64,
        ctypes.c_byte,
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_int,
    )
    function = kind(lambda *args: seen.append(args))
    address = ctypes.cast(function, ctypes.c_void_p).value or 0
    arguments: list[Argument] = [
        *(int32(-7), Pointer(1000, 64), float32(1), int64(1 << 40)),
        *(Constant("i8", -3), Pointer(5000), int32(8), int32(9)),
    ]
    NativeLoop(address, arguments, batch=2)(3)
    once = [
        (-7, 1000, 1.0, 1 << 40, -3, 5000, 8, 9),
        (-7, 1064, 1.0, 1 << 40, -3, 5000, 8, 9),
    ]
    assert seen == once * 3


@pytest.mark.parametrize("name", ARITHMETIC)
def test_a_peak_loop_does_nothing_else(name: str) -> None:
    lb.initialize_native_asmparser()
    asm = compile_llvm(arithmetic_text(name), cpu="haswell").asm
    multiply = {"fma f32": "vfmadd", DOT_BF16: "vfmadd"}.get(
        name, name.split("+")[0].split()[0]
    )
    loops = [block for block in asm.split(".LBB") if block.count(multiply) >= 12]
    assert loops
    body = loops[0].split("\tj")[0]
    trips = body.count(multiply) // 12
    assert body.count(multiply) == 12 * trips
    # Nothing is read from memory, and there is little beside the arithmetic.
    assert "(%r" not in body
    per_trip = {"fma f32": 12, DOT_BF16: 12, "vpmaddubsw s32": 36}.get(name, 24)
    lines = [line for line in body.splitlines()[1:] if "#" not in line]
    assert len(lines) - per_trip * trips <= 4


@pytest.mark.parametrize("name", WIDE)
def test_a_wide_loop_does_as_many_operations_as_it_says(name: str) -> None:
    lb.initialize_native_asmparser()
    cpu, features = wide_cpu(name)
    text = arithmetic_text(name, wide=True)
    asm = compile_object(text, cpu=cpu, features=features).assembly()
    instructions = {
        "fma f32": "vfmadd",
        "vpmulld s32": "vpmulld",
        DOT_BF16: "vdpbf16ps",
    }
    lines = [
        line for line in asm.splitlines() if instructions.get(name, "vpdpbusd") in line
    ]
    assert len(lines) % 24 == 0
    assert lines
    assert all("%zmm" in line and "(" not in line for line in lines)


def test_operations_of_a_trip() -> None:
    assert operations("vpmaddubsw s32", wide=True) == 24 * 64 * 2
    assert operations(DOT_BF16, wide=True) == 24 * 32 * 2
    assert operations("fma f32") == operations(DOT_BF16) == 12 * 8 * 2
    assert operations("vpmaddwd s32") == 12 * 16 * 2
    assert operations("vpmaddubsw s16") == 12 * 32 * 2


@pytest.mark.parametrize("way", READINGS, ids=str)
def test_all_bytes_are_read_once(way: Reading) -> None:
    engine = compile_llvm(way.text(), cpu="haswell")
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    loop = ctypes.CFUNCTYPE(None, integer, pointer, pointer, integer)(
        engine.address("loop")
    )
    memory = np.arange(3 * way.chunk // 8, dtype=np.int64)
    out = np.zeros(4, np.int64)
    # What is asked for in advance may lie beyond the end: it faults nothing.
    loop(2, memory.ctypes.data, out.ctypes.data, memory.nbytes)
    assert out.sum() == memory.sum()


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_roofs_are_measured(threads: int, native: bool) -> None:
    roofs = Roofs(threads, native)
    for name in ("fma f32", "vpmaddubsw s16"):
        request = {"do": "arithmetic", "name": name, "seconds": 1e-3}
        # Between a tenth of an instruction a cycle and four, whatever else runs.
        roof = roofs.do(request)
        assert 1 < roof["rate"] / threads < 128 * 4 * 6
        assert 0 < roof["mean"] <= roof["rate"]
    near = {"do": "read", "bytes": threads << 14, "seconds": 1e-3}
    assert 1 < roofs.do(near)["rate"] / threads < 1000
    with pytest.raises(ValueError, match="no request"):
        roofs.do({"do": "write", "seconds": 1})
