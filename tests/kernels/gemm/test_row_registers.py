"""Many rows that are any distance apart leave the factors of a product in registers."""

import re

import pytest

import morello
from tests.quality.machine_code import innermost

pytestmark = pytest.mark.quick

ANY = "lhs=ld?:rhs=ld?:out=ld?"


def test_no_vector_is_spilled() -> None:
    kernel = morello.compile(
        f"matmul:12x64x32:f32:{ANY}", target="avx512", threads=1, db="none"
    )
    hot = max(innermost(kernel.asm), key=lambda loop: len(loop.lines)).lines
    assert sum("vfmadd" in line for line in hot) >= 24
    spilled = [line for line in hot if re.search(r"\(%rsp\).*zmm|zmm.*\(%rsp\)", line)]
    assert not spilled, spilled
