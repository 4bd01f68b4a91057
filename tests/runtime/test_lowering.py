"""Every op that kernels are made of, run through the whole back end on guarded arrays.

The arrays end, then start, next to a forbidden page, at addresses that are multiples of
the element's size alone; inputs are read-only. So an access that is too wide, or that
trusts an alignment, fails.
"""

import re
from typing import Any

import numpy as np
import pytest

from morello.errors import CompileError
from morello.mlir import PassManager, ir
from morello.passes.bundles import LowerToLlvm
from morello.passes.pipelines.pipeline import Pipeline
from morello.runtime.llvm_text import refuse_hazards
from tests.guarded import Side, check_canaries, check_in_child, guarded_array
from tests.runtime.build import build, llvm_text, raw
from tests.tables import rows

pytestmark = pytest.mark.quick

Array = np.ndarray[Any, Any]

V8 = "vector<8xf32>"
CONSTANTS = "\n".join(
    f"  %c{value} = arith.constant {value} : index"
    for value in (0, 1, 2, 3, 4, 5, 6, 8, 16, 64)
)
A = np.arange(1, 25, dtype=np.float32)
B = np.arange(24, dtype=np.float32)[::-1] * 3 - 7
LOAD = f"""
  %a = vector.load %A[%c0] : memref<24xf32>, {V8}
  %b = vector.load %B[%c0] : memref<24xf32>, {V8}
"""
STORE = f"vector.store %r, %C[%c1] : memref<24xf32>, {V8}"


def placed(*lanes: Any) -> Array:
    """The output of a body that stores 8 lanes from element 1 on."""
    out = np.zeros(24, np.float32)
    out[1:9] = np.asarray(lanes, np.float32).reshape(-1)
    return out


def run(body: str, expected: Array, work: int = 0) -> None:
    """Compile ``body`` in @f(A, B, C[, W]) and compare C with ``expected``, bit by bit.

    Args:
        body: MLIR; reads %A, %B (24xf32), writes %C (24xf32, zeros).
        expected: of C.
        work: bytes of the workspace %W, aligned to 64; 0 for none.
    """
    workspace = f", %W: memref<{work}xi8>" if work else ""
    source = f"""func.func @f(%A: memref<24xf32>, %B: memref<24xf32>,
                              %C: memref<24xf32>{workspace}) {{
{CONSTANTS}
{body}
  return
}}"""
    engine = build(source)
    refuse_hazards(engine.llvm)
    for side in ("end", "start"):
        check_in_child(lambda side=side: _check(engine, side, expected, work))  # type: ignore[misc]


def _check(engine: Any, side: Side, expected: Array, work: int) -> None:
    a = guarded_array(A, side, writable=False, name="A")
    b = guarded_array(B, side, writable=False, name="B")
    c = guarded_array(np.zeros(24, np.float32), side, name="C")
    w = [guarded_array(np.zeros(work, np.uint8), side, name="W")] if work else []
    raw(engine)(a, b, c, *w)
    assert c.tobytes() == expected.tobytes(), (c, expected)
    for array in (a, b, c, *w):
        check_canaries(array)


LANES = {name: line for name, *line in rows(__file__, "lanes")}
"""The lines of a body, of %a and %b, and the lanes of its result, %r."""


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", LANES)
def test_lanes(name: str) -> None:
    body, expected = LANES[name]
    lines = body.replace("; ", "\n")
    run(f"{LOAD}{lines}\n{STORE}", placed(eval(expected)))


def test_last_vector_and_last_scalar_touch_the_end() -> None:
    expected = np.zeros(24, np.float32)
    expected[16:] = A[16:]
    expected[23] = B[23]
    run(
        f"%v = vector.load %A[%c16] : memref<24xf32>, {V8}\n"
        f"vector.store %v, %C[%c16] : memref<24xf32>, {V8}\n"
        "%i = arith.constant 23 : index\n"
        "%s = memref.load %B[%i] : memref<24xf32>\n"
        "memref.store %s, %C[%i] : memref<24xf32>",
        expected,
    )


@pytest.mark.sampled(6)
@pytest.mark.parametrize("count", range(9))
def test_masked_edge(count: int) -> None:
    # The mask's other lanes lie on the forbidden page when the array ends there.
    start = 24 - count
    expected = np.zeros(24, np.float32)
    expected[start:] = A[start:] + 0
    run(
        f"""%n = arith.constant {count} : index
  %i = arith.constant {start} : index
  %m = vector.create_mask %n : vector<8xi1>
  %p = arith.constant dense<9.0> : {V8}
  %v = vector.maskedload %A[%i], %m, %p
      : memref<24xf32>, vector<8xi1>, {V8} into {V8}
  vector.maskedstore %C[%i], %m, %v : memref<24xf32>, vector<8xi1>, {V8}""",
        expected,
    )


def test_masks_of_a_count_known_only_when_it_runs() -> None:
    # Row i of C takes i elements of A's row, in steps of 8.
    expected = np.zeros(24, np.float32)
    for i in range(3):
        expected[8 * i : 8 * i + 3 * i] = A[8 * i : 8 * i + 3 * i]
    run(
        f"""%p = arith.constant dense<9.0> : {V8}
  scf.for %i = %c0 to %c3 step %c1 {{
    %n = arith.muli %i, %c3 : index
    %at = arith.muli %i, %c8 : index
    %m = vector.create_mask %n : vector<8xi1>
    %v = vector.maskedload %A[%at], %m, %p
        : memref<24xf32>, vector<8xi1>, {V8} into {V8}
    vector.maskedstore %C[%at], %m, %v : memref<24xf32>, vector<8xi1>, {V8}
  }}""",
        expected,
    )


def test_constant_mask_keeps_the_pass_through() -> None:
    run(
        f"""{LOAD}
  %m = vector.constant_mask [3] : vector<8xi1>
  %r = vector.maskedload %A[%c4], %m, %b
      : memref<24xf32>, vector<8xi1>, {V8} into {V8}
  {STORE}""",
        placed(np.concatenate([A[4:7], B[3:8]])),
    )


def test_strided_subviews_with_dynamic_offsets() -> None:
    # C[i, j] = A[i, j + 2] of 4x6 arrays, by a 1x2 window that moves.
    expected = np.zeros((4, 6), np.float32)
    expected[:, :4] = A.reshape(4, 6)[:, 2:]
    window = "memref<1x2xf32, strided<[6, 1], offset: ?>>"
    run(
        f"""
  %A2 = memref.expand_shape %A [[0, 1]] output_shape [4, 6]
      : memref<24xf32> into memref<4x6xf32>
  %C2 = memref.expand_shape %C [[0, 1]] output_shape [4, 6]
      : memref<24xf32> into memref<4x6xf32>
  scf.for %i = %c0 to %c4 step %c1 {{
    scf.for %j = %c0 to %c4 step %c2 {{
      %from = arith.addi %j, %c2 : index
      %s = memref.subview %A2[%i, %from] [1, 2] [1, 1] : memref<4x6xf32> to {window}
      %d = memref.subview %C2[%i, %j] [1, 2] [1, 1] : memref<4x6xf32> to {window}
      %v = vector.load %s[%c0, %c0] : {window}, vector<2xf32>
      vector.store %v, %d[%c0, %c0] : {window}, vector<2xf32>
    }}
  }}""",
        expected.reshape(-1),
    )


def test_views_of_the_workspace() -> None:
    run(
        f"""{LOAD}
  %o = arith.constant 128 : index
  %w0 = memref.view %W[%c0][] : memref<256xi8> to memref<2x8xf32>
  %w1 = memref.view %W[%o][] : memref<256xi8> to memref<4xvector<8xf32>>
  vector.store %a, %w0[%c1, %c0] : memref<2x8xf32>, {V8}
  memref.store %b, %w1[%c3] : memref<4xvector<8xf32>>
  %x = vector.load %w0[%c1, %c0] : memref<2x8xf32>, {V8}
  %y = memref.load %w1[%c3] : memref<4xvector<8xf32>>
  %r = arith.addf %x, %y : {V8}
  {STORE}""",
        placed(A[:8] + B[:8]),
        work=256,
    )


def test_registers_as_an_alloca_of_vectors_end_in_registers() -> None:
    body = f"""
  %regs = memref.alloca() : memref<1x2x1x{V8}>
  %z = arith.constant dense<0.0> : {V8}
  memref.store %z, %regs[%c0, %c0, %c0] : memref<1x2x1x{V8}>
  memref.store %z, %regs[%c0, %c1, %c0] : memref<1x2x1x{V8}>
  scf.for %k = %c0 to %c16 step %c1 {{
    %s = memref.load %B[%k] : memref<24xf32>
    %v = vector.broadcast %s : f32 to {V8}
    %a = vector.load %A[%k] : memref<24xf32>, {V8}
    %o0 = memref.load %regs[%c0, %c0, %c0] : memref<1x2x1x{V8}>
    %n0 = vector.fma %a, %v, %o0 : {V8}
    memref.store %n0, %regs[%c0, %c0, %c0] : memref<1x2x1x{V8}>
    %o1 = memref.load %regs[%c0, %c1, %c0] : memref<1x2x1x{V8}>
    %n1 = arith.addf %o1, %a : {V8}
    memref.store %n1, %regs[%c0, %c1, %c0] : memref<1x2x1x{V8}>
  }}
  %p = memref.load %regs[%c0, %c0, %c0] : memref<1x2x1x{V8}>
  %q = memref.load %regs[%c0, %c1, %c0] : memref<1x2x1x{V8}>
  %r = arith.subf %p, %q : {V8}
  {STORE}"""
    lanes = [A[i : i + 16] @ (B[:16] - 1) for i in range(8)]
    run(body, placed(lanes))
    asm = build(
        f"func.func @f(%A: memref<24xf32>, %B: memref<24xf32>, %C: memref<24xf32>) {{"
        f"{CONSTANTS}{body} return }}"
    ).asm
    assert "vfmadd" in asm
    assert "(%rsp)" not in asm


def test_iter_args_carry_vectors_and_scalars() -> None:
    run(
        f"""{LOAD}
  %one = arith.constant 1.0 : f32
  %s, %x = scf.for %k = %c0 to %c5 step %c1
      iter_args(%v = %a, %n = %one) -> ({V8}, f32) {{
    %w = arith.addf %v, %b : {V8}
    %m = arith.addf %n, %n : f32
    scf.yield %w, %m : {V8}, f32
  }}
  %y = vector.broadcast %x : f32 to {V8}
  %r = arith.addf %s, %y : {V8}
  {STORE}""",
        placed(A[:8] + 5 * B[:8] + 32),
    )


def test_branches_minimum_of_indices_and_prefetch() -> None:
    expected = np.zeros(24, np.float32)
    expected[:12] = np.where(np.arange(12) < 5, A[:12], B[:12])
    run(
        """%c12 = arith.constant 12 : index
  %n = arith.minui %c12, %c64 : index
  scf.for %i = %c0 to %n step %c1 {
    memref.prefetch %A[%i], read, locality<3>, data : memref<24xf32>
    %t = arith.cmpi ult, %i, %c5 : index
    scf.if %t {
      %x = memref.load %A[%i] : memref<24xf32>
      memref.store %x, %C[%i] : memref<24xf32>
    } else {
      %x = memref.load %B[%i] : memref<24xf32>
      memref.store %x, %C[%i] : memref<24xf32>
    }
  }""",
        expected,
    )


def test_functions_of_libm() -> None:
    engine = build(
        """func.func @f(%A: memref<24xf32>, %C: memref<24xf32>) {
  %c0 = arith.constant 0 : index
  %x = memref.load %A[%c0] : memref<24xf32>
  %e = math.exp %x : f32
  %t = math.erf %e : f32
  memref.store %t, %C[%c0] : memref<24xf32>
  return
}"""
    )
    a, c = np.full(24, -1, np.float32), np.zeros(24, np.float32)
    raw(engine)(a, c)
    assert c[0] == pytest.approx(0.3970, abs=1e-3)


def test_memory_accesses_promise_no_more_than_the_element() -> None:
    text = llvm_text(
        f"""func.func @f(%A: memref<24xf32>, %B: memref<24xbf16>, %C: memref<24xi8>) {{
{CONSTANTS}
  %a = vector.load %A[%c8] : memref<24xf32>, {V8}
  %b = vector.load %B[%c8] : memref<24xbf16>, vector<16xbf16>
  %c = vector.load %C[%c8] : memref<24xi8>, vector<16xi8>
  vector.store %a, %A[%c0] : memref<24xf32>, {V8}
  vector.store %b, %B[%c0] : memref<24xbf16>, vector<16xbf16>
  vector.store %c, %C[%c0] : memref<24xi8>, vector<16xi8>
  %m = vector.constant_mask [3] : vector<8xi1>
  %v = vector.maskedload %A[%c4], %m, %a
      : memref<24xf32>, vector<8xi1>, {V8} into {V8}
  vector.maskedstore %A[%c16], %m, %v : memref<24xf32>, vector<8xi1>, {V8}
  return
}}"""
    )
    accesses = re.findall(r"<\d+ x (\w+)>[^\n]*?align (\d+)", text)
    assert len(accesses) == 8
    assert {kind: int(align) for kind, align in accesses} == {
        "float": 4,
        "i16": 2,
        "i8": 1,
    }


def test_every_pointer_of_a_public_function_is_noalias() -> None:
    text = llvm_text(
        "func.func @f(%A: memref<4xf32>, %n: index, %W: memref<64xi8>) { return }\n"
        "func.func private @g(%A: memref<4xf32>) { return }"
    )
    assert "@f(ptr noalias %0, i64 %1, ptr noalias %2)" in text
    assert "@g(ptr %0)" in text


def test_workspaces_beyond_2_gib() -> None:
    text = llvm_text(
        f"""func.func @f(%W: memref<6000000000xi8>, %C: memref<8xf32>) {{
{CONSTANTS}
  %o = arith.constant 5000000000 : index
  %w = memref.view %W[%o][] : memref<6000000000xi8> to memref<8xf32>
  %v = vector.load %w[%c0] : memref<8xf32>, {V8}
  vector.store %v, %C[%c0] : memref<8xf32>, {V8}
  return
}}"""
    )
    assert "i64 5000000000" in text


def test_refusals_name_place_and_reason() -> None:
    with pytest.raises(CompileError, match=r"cannot be lowered.*2:10.*not lowered"):
        llvm_text(
            "func.func @f(%A: memref<4xf32>) {\n         gpu.barrier\n  return\n}"
        )


def test_the_bundle_is_upstream_passes_and_two_of_ours() -> None:
    text = LowerToLlvm().expand()
    assert text.startswith("morello-entry-points,")
    assert text.endswith(",morello-check-lowered")
    with ir.Context():
        upstream = [e for e in text.split(",") if not e.startswith("morello-")]
        PassManager.parse(f"builtin.module({','.join(upstream)})")
        Pipeline.parse(f"builtin.module({LowerToLlvm.name})").check()
