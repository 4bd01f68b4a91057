"""matmul_packing: exact at every edge size, and so is its copy; where it applies."""

import pytest

from morello.kernels import KERNELS
from morello.spec import Limits, Matmul, Spec
from morello.spec.frame import Frame
from morello.targets.avx2_golden_cove import AVX2_GOLDEN_COVE
from tests.kernels.harness import EDGE, check_random, legal, legal_cases, spec

NAME = "matmul_packing"


def packing(accum: bool, sizes: tuple[int, ...], level: str = "GL") -> Spec:
    row_major = "f32@L1[0,1,2]"
    return spec(Matmul(accum), sizes, row_major, f"f32@{level}[0,1,2]", row_major)


@pytest.mark.parametrize("accum", [True, False])
@pytest.mark.parametrize("level", ["GL", "L2"])
def test_every_count_of_rows_and_panels_is_exact(accum: bool, level: str) -> None:
    sizes = [(1, m, 5, 16 * n) for m in range(1, 7) for n in (1, 2, 3, 7)]
    cases = legal_cases(NAME, tuple(packing(accum, s, level) for s in sizes))
    assert len(cases) == len(sizes)
    check_random(cases)


@pytest.mark.parametrize("accum", [True, False])
def test_every_edge_size_of_k_is_exact(accum: bool) -> None:
    """Up to 64 k are one band; a third one is a loop's, and then some may be left."""
    sizes = [(1, m, k, 48) for k in (*EDGE, 191, 192, 193, 260) for m in (2, 6)]
    check_random(legal_cases(NAME, tuple(packing(accum, s) for s in sizes)))


@pytest.mark.parametrize(
    ("sizes", "vrf", "reason"),
    [
        ((2, 6, 8, 32), 16, "needs b = 1"),
        ((1, 7, 8, 32), 16, "takes at most 6 rows"),
        ((1, 6, 8, 40), 16, "takes whole panels: tile n to a multiple of 16"),
        ((1, 6, 8, 32), 15, "needs all registers"),
    ],
)
def test_what_does_not_fit_says_why(
    sizes: tuple[int, ...], vrf: int, reason: str
) -> None:
    given = packing(True, sizes)
    given = Spec(given.kind, given.sizes, given.tensors, Limits(vrf, 512, 16384))
    conditions = KERNELS[NAME].conditions(Frame.of(given))
    assert any(reason in c.text for c in conditions if not c.holds)


def test_rhs_in_l1_or_in_panels_needs_no_packing() -> None:
    l1 = "f32@L1[0,1,2]"
    for rhs in ("f32@L1[0,1,2]", "f32@L2[0,2,1,2p16]", "f32@L2[0,2,1]"):
        assert not legal(NAME, spec(Matmul(True), (1, 6, 9, 96), l1, rhs, l1))


def test_six_rows_take_as_long_as_a_block_and_a_store_a_vector() -> None:
    c = AVX2_GOLDEN_COVE.coefficients

    def cost(k: int) -> int:
        return int(KERNELS[NAME].cost(Frame.of(packing(False, (1, 6, k, 96))), c))

    steps = 6 * (12 * c.fma + 2 * c.store)
    assert cost(24) - cost(16) == steps * 8
    assert cost(65) - cost(64) > steps + 72 * (c.load + c.store)
