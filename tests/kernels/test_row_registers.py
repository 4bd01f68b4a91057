"""Many rows that are any distance apart leave the factors of a product in registers."""

import re

import pytest

import morello

pytestmark = pytest.mark.quick

ANY = "lhs=ld?:rhs=ld?:out=ld?"


def test_no_vector_is_spilled() -> None:
    kernel = morello.compile(
        f"matmul:12x64x32:f32:{ANY}", target="avx512", threads=1, db="none"
    )
    assert "gemm_registers_512" in str(kernel.impl)
    loops = [line for line in kernel.asm.splitlines() if "zmm" in line]
    assert sum("vfmadd" in line for line in loops) >= 24
    spilled = [line for line in loops if re.search(r"\(%rsp\)", line)]
    assert len(spilled) <= 2, spilled
