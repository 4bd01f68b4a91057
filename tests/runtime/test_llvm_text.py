"""The downgrade of LLVM IR text, bit by bit through the JIT."""

import ctypes
import random
import struct

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.errors import CompileError
from morello.runtime.engine import compile_llvm
from morello.runtime.llvm_text import (
    bf16_as_bits,
    downgrade,
    refuse_hazards,
    truth_as_bytes,
)
from tests.runtime.build import llvm_text, raw

pytestmark = pytest.mark.quick

KINDS = {
    "f16": (16, "half", np.float16),
    "bf16": (16, "bfloat", ml_dtypes.bfloat16),
    "f32": (32, "float", np.float32),
    "f64": (64, "double", np.float64),
}


def interesting(width: int, count: int) -> list[int]:
    """Bit patterns: random ones, and those next to every power of two."""
    rng = random.Random(width)
    edges = [1 << i for i in range(width)]
    edges += [(1 << width) - e for e in edges] + [e - 1 for e in edges]
    return sorted({*edges, *(rng.getrandbits(width) for _ in range(count))})


@pytest.mark.parametrize("kind", KINDS)
def test_constants_that_are_stored_keep_their_bits(kind: str) -> None:
    width = KINDS[kind][0]
    patterns = interesting(width, 1500)
    digits = width // 4
    body = "\n".join(
        f"%k{i} = llvm.mlir.constant(0x{bits:0{digits}X} : {kind}) : {kind}\n"
        f"%p{i} = llvm.getelementptr %p[{i}] : (!llvm.ptr) -> !llvm.ptr, {kind}\n"
        f"llvm.store %k{i}, %p{i} : {kind}, !llvm.ptr"
        for i, bits in enumerate(patterns)
    )
    text = llvm_text(f"llvm.func @f(%p: !llvm.ptr) {{\n{body}\nllvm.return }}")
    stored = np.zeros(len(patterns), f"u{width // 8}")
    raw(compile_llvm(text, cpu="haswell", opt=0))(stored)
    assert stored.tolist() == patterns


@pytest.mark.parametrize("kind", KINDS)
def test_constants_in_vectors_keep_their_bits(kind: str) -> None:
    width = KINDS[kind][0]
    patterns = interesting(width, 0)
    values = ", ".join(f"0x{bits:0{width // 4}X}" for bits in patterns)
    vector = f"vector<{len(patterns)}x{kind}>"
    text = llvm_text(
        f"llvm.func @f(%p: !llvm.ptr) {{\n"
        f"%k = llvm.mlir.constant(dense<[{values}]> : {vector}) : {vector}\n"
        f"llvm.store %k, %p {{alignment = 1}} : {vector}, !llvm.ptr\nllvm.return }}"
    )
    stored = np.zeros(len(patterns), f"u{width // 8}")
    raw(compile_llvm(text, cpu="haswell", opt=0))(stored)
    assert stored.tolist() == patterns


@pytest.mark.parametrize("op", ["fadd", "fsub", "fmul", "fdiv"])
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_constants_without_a_type_of_their_own(op: str, kind: str) -> None:
    width, _, dtype = KINDS[kind]
    patterns = interesting(width, 50)
    body = "\n".join(
        f"%k{i} = llvm.mlir.constant(0x{bits:0{width // 4}X} : {kind}) : {kind}\n"
        f"%p{i} = llvm.getelementptr %p[{i}] : (!llvm.ptr) -> !llvm.ptr, {kind}\n"
        f"%x{i} = llvm.load %p{i} : !llvm.ptr -> {kind}\n"
        f"%r{i} = llvm.{op} %x{i}, %k{i} : {kind}\n"
        f"llvm.store %r{i}, %p{i} : {kind}, !llvm.ptr"
        for i, bits in enumerate(patterns)
    )
    text = llvm_text(f"llvm.func @f(%p: !llvm.ptr) {{\n{body}\nllvm.return }}")
    numpy_op = {
        "fadd": np.add,
        "fsub": np.subtract,
        "fmul": np.multiply,
        "fdiv": np.divide,
    }[op]
    constants = np.array(patterns, f"u{width // 8}").view(dtype)
    values = np.full(len(patterns), 1.5, dtype)
    with np.errstate(all="ignore"):
        expected = numpy_op(values, constants)
    raw(compile_llvm(text, cpu="haswell"))(values)
    same = (values == expected) | (np.isnan(values) & np.isnan(expected))
    assert same.all()


def test_compare_phi_select_remainder_and_return() -> None:
    text = llvm_text("""
llvm.func @f(%p: !llvm.ptr) {
  %tenth = llvm.mlir.constant(0.1 : f32) : f32
  %inf = llvm.mlir.constant(0x7F800000 : f32) : f32
  %x = llvm.load %p : !llvm.ptr -> f32
  %less = llvm.fcmp "olt" %x, %tenth : f32
  %s = llvm.select %less, %inf, %tenth : i1, f32
  llvm.cond_br %less, ^a(%tenth : f32), ^b
^b:
  %r = llvm.frem %tenth, %s : f32
  llvm.br ^a(%r : f32)
^a(%w: f32):
  %q = llvm.getelementptr %p[1] : (!llvm.ptr) -> !llvm.ptr, f32
  llvm.store %s, %p : f32, !llvm.ptr
  llvm.store %w, %q : f32, !llvm.ptr
  llvm.return
}""")
    call = raw(compile_llvm(text, cpu="haswell"))
    low, high = np.zeros(2, np.float32), np.ones(2, np.float32)
    call(low)
    call(high)
    assert low.tolist() == [np.inf, np.float32(0.1)]
    assert high.tolist() == [np.float32(0.1), 0]


def spelled(literal: str, kind: str) -> str:
    return downgrade(f"store {kind} {literal}, ptr %p").split()[2].rstrip(",")


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_decimals_round_once_to_float(value: float) -> None:
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    assert spelled(f"{value:.12e}", "float") == f"0x{bits:016X}"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_decimals_round_to_double(value: float) -> None:
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    assert spelled(f"{value:.20e}", "double") == f"0x{bits:016X}"


@given(st.floats(width=16, allow_nan=False, allow_infinity=False))
def test_decimals_round_to_half(value: float) -> None:
    bits = int(np.float16(value).view(np.uint16))
    assert spelled(f"{value:.10e}", "half") == f"0xH{bits:04X}"


def test_a_decimal_is_not_rounded_by_way_of_double() -> None:
    # Just above the middle of two floats, by less than a double can tell.
    literal = "1.000000059604644775390625000001"
    assert np.float32(float(literal)) == 1
    assert spelled(literal, "float") == "0x3FF0000020000000"


def test_a_decimal_beyond_the_range_is_infinite() -> None:
    assert spelled("1.0e300", "float") == "0x7FF0000000000000"
    assert spelled("-1.0e300", "half") == "0xHFC00"


@pytest.mark.parametrize(
    ("literal", "kind", "expected"),
    [
        ("+inf", "float", "0x7FF0000000000000"),
        ("-inf", "double", "0xFFF0000000000000"),
        ("+qnan", "float", "0x7FF8000000000000"),
        ("-qnan", "bfloat", "0xRFFC0"),
        ("+nan(0x1)", "float", "0x7FF8000020000000"),
        ("+snan(0x1)", "half", "0xH7C01"),
        ("f0x40490FDB", "float", "0x400921FB60000000"),
        ("f0x3F80", "bfloat", "0xR3F80"),
    ],
)
def test_forms_of_constants(literal: str, kind: str, expected: str) -> None:
    assert spelled(literal, kind) == expected


@pytest.mark.parametrize(
    "line",
    [
        '@g = constant [12 x i8] c"float 1.5e+00"',
        'source_filename = "float 2.5 inf"',
        '%"float 1.5" = add i32 1, 2',
        '@"inf 0.5" = external global i32',
        "%inf = add i32 %nan.1, 2",
        "inf.1:",
        "br label %inf.1",
        "%x = getelementptr <8 x float>, ptr %p, i64 3",
        '!0 = !{!"inf"}',
    ],
)
def test_text_that_only_looks_like_a_constant_stays(line: str) -> None:
    assert downgrade(line) == line + "\n"


def test_comments_go_and_intrinsics_lose_their_attributes() -> None:
    text = "; x undef\ndeclare float @llvm.fma.f32(float) #3 ; y\nbr label %a ; preds\n"
    assert downgrade(text) == "\ndeclare float @llvm.fma.f32(float)\nbr label %a\n"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("  %x = load x86_fp80, ptr %p ;", "type x86_fp80 has no place in a kernel"),
        ("  %x = add i32 1.5, 2", "constant '1.5' has no type"),
        ("  store ptr +inf, ptr %p", "constant '+inf' has no type"),
        ("  store half f0x12345, ptr %p", "more bits than half has"),
    ],
)
def test_uncertain_text_is_refused_with_its_line(line: str, reason: str) -> None:
    with pytest.raises(CompileError) as caught:
        downgrade(f"define void @f(ptr %p) {{\n{line}\n}}")
    assert reason in str(caught.value)
    assert "line 2" in str(caught.value)
    assert repr(line.strip()) in str(caught.value)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("%p = inttoptr i64 %x to ptr", "inttoptr: pointer arithmetic"),
        ("store float undef, ptr %p", "undef: an undefined value"),
        ('attributes #0 = { "target-cpu"="znver4" }', "sets its own CPU"),
        ('attributes #0 = { "target-features"="+avx" }', "sets its own CPU"),
    ],
)
def test_hazards_are_refused_with_their_line(line: str, reason: str) -> None:
    with pytest.raises(CompileError, match="LLVM IR line 2: ") as caught:
        refuse_hazards(f"\n{line}\n")
    assert reason in str(caught.value)


def test_names_and_comments_are_no_hazards() -> None:
    refuse_hazards('%undef = add i32 %inttoptr, 1 ; undef\n@g = constant c"undef"')


MOVED = """define void @f(ptr %a, ptr %b, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr bfloat, ptr %a, i64 %i
  %v = load <1 x bfloat>, ptr %p, align 2
  %next = add i64 %i, 1
  %last = icmp eq i64 %next, %n
  br i1 %last, label %exit, label %loop
exit:
  store <1 x bfloat> %v, ptr %b, align 2
  %q = getelementptr bfloat, ptr %b, i64 1
  store <2 x bfloat> <bfloat 0xR8001, bfloat 0xR3F80>, ptr %q, align 2
  ret void
}
"""


def test_bf16_that_lives_beyond_a_block_is_moved_by_bits() -> None:
    """A signalling NaN stays signalling; no function is called."""
    text = bf16_as_bits(MOVED)
    assert "bfloat" not in text
    engine = compile_llvm(text, cpu="x86-64-v3")
    source = np.array([0x3F80, 0x7F81], np.uint16)
    result = np.zeros(4, np.uint16)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    kind(engine.address("f"))(source.ctypes.data, result.ctypes.data, 2)
    assert result.tolist() == [0x7F81, 0x8001, 0x3F80, 0]


@pytest.mark.parametrize(
    "use",
    [
        "%s = fadd <1 x bfloat> %v, %v",
        "%s = fptrunc float %x to bfloat",
        "call void @llvm.masked.store.v8bf16.p0(<8 x bfloat> %v)",
    ],
)
def test_bf16_that_is_computed_with_stays(use: str) -> None:
    text = f"{MOVED}\n{use}\n"
    assert bf16_as_bits(text) == text


def test_truth_values_are_bytes_in_memory() -> None:
    text = truth_as_bytes(
        "define void @f(ptr %0, ptr %1) {\n"
        "  %3 = load i1, ptr %0, align 1\n"
        "  store i1 %3, ptr %1, align 1\n"
        "  %4 = getelementptr i1, ptr %1, i64 1\n"
        "  store i1 true, ptr %4, align 1\n"
        "  ret void\n}\n"
    )
    engine = compile_llvm(text, cpu="x86-64-v3")
    source, result = np.array([1], np.uint8), np.full(3, 7, np.uint8)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    kind(engine.address("f"))(source.ctypes.data, result.ctypes.data)
    assert result.tolist() == [1, 1, 7]
    assert " i1, ptr" not in text.replace("getelementptr i1, ptr", "")
