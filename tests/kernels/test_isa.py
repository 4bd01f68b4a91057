"""Width belongs to the instruction set that a kernel holds: other ones work as well.

LLVM cuts wide vectors into those of the machine, so that any width can be run.
"""

import dataclasses

import pytest

from morello.kernels import KERNELS
from morello.machine.isa import AVX2, Isa
from morello.spec import Dtype, SpecKey
from tests.kernels.accepted import accepted, drawn
from tests.kernels.harness import Case, check_random

NARROW = dataclasses.replace(AVX2, name="narrow", vector_bytes=16)
WIDE = dataclasses.replace(AVX2, name="wide", vector_bytes=64, mask_registers=True)
COUNTED_IN_VECTORS = ("gemm_tile", "gemm_rows", "gemm_outer", "gemv_axpy")


@pytest.mark.parametrize("isa", [NARROW, WIDE], ids=lambda isa: isa.name)
def test_a_kernel_is_exact_in_vectors_of_any_width(
    isa: Isa, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases: list[Case] = []
    for name in COUNTED_IN_VECTORS:
        other = f"{name}_{isa.name}"
        kernel = dataclasses.replace(KERNELS[name], name=other, isa=isa)
        monkeypatch.setitem(KERNELS, other, kernel)
        cases += [Case(other, spec) for spec in drawn(other, of_floats, like=name)]
    assert {case.kernel.removesuffix(f"_{isa.name}") for case in cases} == {
        *COUNTED_IN_VECTORS
    }
    check_random(cases)


def of_floats(key: SpecKey) -> bool:
    return set(key.dtypes) == {Dtype.F32}


def test_panels_are_counted_in_vectors() -> None:
    key = accepted()["gemm_tile"][0]
    kernel = dataclasses.replace(KERNELS["gemm_registers"], isa=WIDE)
    assert list(map(str, kernel.layouts(key, 1))) == ["[0,2,1,2p32]", "[0,2,1,2p48]"]


def test_what_an_instruction_set_says() -> None:
    assert [AVX2.lanes(d) for d in (Dtype.F32, Dtype.S16, Dtype.U8)] == [8, 16, 32]
    assert (AVX2.line_vectors, NARROW.line_vectors, WIDE.line_vectors) == (2, 4, 1)
    assert AVX2.loads_masked(Dtype.F32)
    assert not AVX2.loads_masked(Dtype.BF16)
