"""The matmul kernels: exact at every edge size, in every layout."""

import itertools

import pytest

from morello.kernels import KERNELS
from morello.spec import Limits, Matmul, Spec
from morello.spec.frame import Frame
from tests.kernels.harness import EDGE, Case, check_random, legal_cases, spec

MATMUL = Matmul(accum=True)
LHS = ("[0,1,2]", "[0,2,1]", "[0,1,2,1p6]", "[0,1,2,1p4]")
RHS = ("[0,1,2]", "[0,2,1,2p16]", "[0,2,1,2p24]")


def matmul(sizes: tuple[int, ...], dtype: str, lhs: str, rhs: str) -> Spec:
    forms = f"{dtype}@L1{lhs}", f"{dtype}@L1{rhs}", f"{dtype}@VRF[0,1,2]v8"
    return spec(MATMUL, sizes, *forms)


def edges(dtype: str, lhs: str, rhs: str) -> list[Spec]:
    """Every size on one axis at a time, beside those of a full tile and a small one."""
    sizes = [(1, m, 5, n) for m in EDGE for n in (3, 8, 16)]
    sizes += [(1, m, 5, n) for m in (1, 3, 6) for n in EDGE]
    sizes += [(1, 1, 9, n) for n in range(90, 113)]
    sizes += [(1, m, k, n) for k in EDGE for m, n in ((3, 11), (6, 16))]
    return [matmul(s, dtype, lhs, rhs) for s in dict.fromkeys(sizes)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["f32", "s32"])
def test_every_edge_size_is_exact(dtype: str) -> None:
    given = edges(dtype, LHS[0], RHS[0])
    check_random(legal_cases("gemm_registers", tuple(given)))


def test_every_layout_is_exact() -> None:
    sizes = [(1, 6, 7, 16), (1, 4, 7, 24), (1, 3, 5, 9), (1, 5, 2, 7), (1, 1, 4, 1)]
    given = [
        matmul(s, dtype, lhs, rhs)
        for s, dtype in zip(sizes, itertools.cycle(["f32", "s32"]), strict=False)
        for lhs, rhs in itertools.product(LHS, RHS)
    ]
    check_random(legal_cases("gemm_registers", tuple(given)))


@pytest.mark.parametrize("dtype", ["f32", "s32"])
def test_one_element_in_any_layout(dtype: str) -> None:
    forms = ("[0,1,2]", "[0,2,1]", "[0,1,2,1p6]", "[0,1,2,2oe16]", "[2,1,0]")
    check_random(
        Case(
            "scalar",
            spec(MATMUL, (1, 1, 1, 1), *(f"{dtype}@L1{f}" for f in (a, b, a))),
        )
        for a, b in itertools.product(forms, forms)
    )


@pytest.mark.parametrize(
    ("sizes", "vrf", "reason"),
    [
        ((2, 6, 8, 16), 16, "needs b = 1"),
        (
            (1, 7, 8, 16),
            16,
            "registers for m * ceil(n / 8) sums, a row of rhs, a factor and a mask",
        ),
        (
            (1, 6, 8, 16),
            2,
            "needs free registers for a row of rhs and a factor besides out",
        ),
        ((1, 5, 8, 16), 16, "takes m of lhs within one pack: at most 4"),
        ((1, 1, 8, 17), 16, "takes n of rhs within one pack: at most 16"),
    ],
)
def test_what_does_not_fit_says_why(
    sizes: tuple[int, ...], vrf: int, reason: str
) -> None:
    given = matmul(sizes, "f32", "[0,1,2,1p4]", "[0,2,1,2p16]")
    given = Spec(
        given.kind, given.sizes, given.tensors, Limits.of(vrf=vrf, l1=512, l2=16384)
    )
    conditions = KERNELS["gemm_registers"].conditions(Frame.of(given))
    assert any(reason in c.text for c in conditions if not c.holds)
