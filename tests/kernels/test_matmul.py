"""The matmul kernels: exact in every layout."""

import itertools

import pytest

from morello.spec import Matmul, Spec
from tests.kernels.harness import Case, check_random, legal_cases, spec

MATMUL = Matmul(accum=True)
LHS = ("[0,1,2]", "[0,2,1]", "[0,1,2,1p6]", "[0,1,2,1p4]")
RHS = ("[0,1,2]", "[0,2,1,2p16]", "[0,2,1,2p24]")


def matmul(sizes: tuple[int, ...], dtype: str, lhs: str, rhs: str) -> Spec:
    forms = f"{dtype}@L1{lhs}", f"{dtype}@L1{rhs}", f"{dtype}@VRF[0,1,2]v8"
    return spec(MATMUL, sizes, *forms)


def test_every_layout_is_exact() -> None:
    sizes = [(1, 6, 7, 16), (1, 4, 7, 24), (1, 3, 5, 9), (1, 5, 2, 7), (1, 1, 4, 1)]
    specs = [
        matmul(s, dtype, lhs, rhs)
        for s, dtype in zip(sizes, itertools.cycle(["f32", "s32"]), strict=False)
        for lhs, rhs in itertools.product(LHS, RHS)
    ]
    check_random(legal_cases("gemm_registers", tuple(specs)))


@pytest.mark.parametrize("dtype", ["f32", "s32"])
def test_one_element_in_any_layout(dtype: str) -> None:
    forms = ("[0,1,2]", "[0,2,1]", "[0,1,2,1p6]", "[0,1,2,2oe16]", "[2,1,0]")
    check_random(
        Case(
            "scalar", spec(MATMUL, (1, 1, 1, 1), *(f"{dtype}@L1{f}" for f in (a, b, a)))
        )
        for a, b in itertools.product(forms, forms)
    )
