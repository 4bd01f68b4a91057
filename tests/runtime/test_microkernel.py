"""A register tile of 6x16 as kernels emit it: exact, in registers, without spills."""

import re

import numpy as np
import pytest

from morello.runtime.llvm_text import refuse_hazards
from tests.guarded import Side, check_canaries, check_in_child, guarded_array
from tests.runtime.build import build, raw

pytestmark = pytest.mark.quick

K = 64
V8 = "vector<8xf32>"
REGISTERS = f"memref<1x6x2x{V8}>"
TILE = [(i, j) for i in range(6) for j in range(2)]


def source() -> str:
    """@f(A: Kx6 packed, B: Kx16 packed, C: 6x16) adds A^T B to C."""
    at = [f"%regs[%c0, %c{i}, %c{j}] : {REGISTERS}" for i, j in TILE]
    constants = "\n".join(
        f"%c{value} = arith.constant {value} : index" for value in (*range(6), 8, K)
    )
    loads = "\n".join(
        f"%l{n} = vector.load %C[%c{i}, %c{8 * j}] : memref<6x16xf32>, {V8}\n"
        f"memref.store %l{n}, {at[n]}"
        for n, (i, j) in enumerate(TILE)
    )
    rows = "\n".join(
        f"%s{i} = memref.load %A[%k, %c{i}] : memref<{K}x6xf32>\n"
        f"%a{i} = vector.broadcast %s{i} : f32 to {V8}"
        for i in range(6)
    )
    steps = "\n".join(
        f"%x{n} = memref.load {at[n]}\n"
        f"%y{n} = vector.fma %a{i}, %b{j}, %x{n} : {V8}\n"
        f"memref.store %y{n}, {at[n]}"
        for n, (i, j) in enumerate(TILE)
    )
    stores = "\n".join(
        f"%o{n} = memref.load {at[n]}\n"
        f"vector.store %o{n}, %C[%c{i}, %c{8 * j}] : memref<6x16xf32>, {V8}"
        for n, (i, j) in enumerate(TILE)
    )
    return f"""
func.func @f(%A: memref<{K}x6xf32>, %B: memref<{K}x16xf32>, %C: memref<6x16xf32>) {{
{constants}
%regs = memref.alloca() : {REGISTERS}
{loads}
scf.for %k = %c0 to %c{K} step %c1 {{
%b0 = vector.load %B[%k, %c0] : memref<{K}x16xf32>, {V8}
%b1 = vector.load %B[%k, %c8] : memref<{K}x16xf32>, {V8}
{rows}
{steps}
}}
{stores}
return
}}"""


def test_the_loop_is_fmas_on_registers() -> None:
    engine = build(source())
    refuse_hazards(engine.llvm)
    loop = re.search(r"^\.L\w+:.*?\bj\w+\s+\.L", engine.asm, re.DOTALL | re.MULTILINE)
    assert loop is not None
    fmas = loop.group().count("vfmadd231ps")
    assert fmas >= 12
    assert loop.group().count("vbroadcastss") * 2 == fmas
    assert "%rsp" not in engine.asm
    assert "call" not in engine.asm


@pytest.mark.parametrize("side", ["start", "end"])
def test_a_microkernel_is_exact(side: Side) -> None:
    rng = np.random.default_rng(0)
    a, b, c = (
        rng.integers(-4, 5, shape).astype(np.float32)
        for shape in ((K, 6), (K, 16), (6, 16))
    )
    call = raw(build(source()))

    def check() -> None:
        out = guarded_array(c, side, name="C")
        call(
            guarded_array(a, side, writable=False, name="A"),
            guarded_array(b, side, writable=False, name="B"),
            out,
        )
        assert (out == c + a.T @ b).all()
        check_canaries(out)

    check_in_child(check)
