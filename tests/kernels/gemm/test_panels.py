"""gemm_panels: exact at every edge size; where it applies; what it costs."""

import pytest

from morello.kernels import KERNELS
from morello.spec import Limits, Matmul, Spec
from morello.spec.frame import Frame
from tests.kernels.harness import EDGE, check_random, legal, legal_cases, price, spec

NAME = "gemm_panels"


def panels(
    accum: bool, sizes: tuple[int, ...], columns: int = 16, gaps: str = ""
) -> Spec:
    forms = f"f32@L1[0,1,2]{gaps}", f"f32@L2[0,2,1,2p{columns}]", "f32@L1[0,1,2]"
    return spec(Matmul(accum), sizes, *forms)


@pytest.mark.parametrize("accum", [True, False])
@pytest.mark.parametrize("columns", [16, 24])
def test_every_count_of_rows_and_panels_is_exact(accum: bool, columns: int) -> None:
    sizes = [(1, m, 5, columns * n) for m in range(1, 7) for n in (1, 2, 3, 7)]
    given = tuple(panels(accum, s, columns) for s in sizes)
    cases = legal_cases(NAME, given)
    assert len(cases) >= 16
    check_random(cases)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("gaps", ["", "!"])
def test_every_edge_size_of_k_is_exact(gaps: str) -> None:
    sizes = [(1, m, k, 96) for k in EDGE for m in (2, 6)]
    given = tuple(panels(True, s, gaps=gaps) for s in sizes)
    check_random(legal_cases(NAME, given))


@pytest.mark.parametrize(
    ("sizes", "vrf", "reason"),
    [
        ((2, 6, 8, 32), 16, "needs b = 1"),
        ((1, 7, 8, 32), 16, "takes at most 6 rows"),
        ((1, 6, 8, 32), 15, "needs all registers"),
    ],
)
def test_what_does_not_fit_says_why(
    sizes: tuple[int, ...], vrf: int, reason: str
) -> None:
    given = panels(True, sizes)
    given = Spec(
        given.kind, given.sizes, given.tensors, Limits.of(vrf=vrf, l1=512, l2=16384)
    )
    conditions = KERNELS[NAME].conditions(Frame.of(given))
    assert any(reason in c.text for c in conditions if not c.holds)


def test_rows_and_panels_elsewhere_are_not_its_own() -> None:
    l1 = "f32@L1[0,1,2]"
    for lhs, rhs in (
        (l1, "f32@L2[0,1,2]!"),
        (l1, "f32@L1[0,2,1,2p16]"),
        ("f32@L1[0,1,2,1p6]", "f32@L2[0,2,1,2p16]"),
    ):
        assert not legal(NAME, spec(Matmul(True), (1, 6, 9, 96), lhs, rhs, l1))


def test_two_rows_have_as_many_sums_as_six() -> None:
    """Three panels at a time: 32 products a step take no longer than their share."""

    def cost(m: int) -> int:
        frame = Frame.of(panels(False, (1, m, 512, 96)))
        return int(price(NAME, frame))

    assert 0.32 * cost(6) < cost(2) < 0.36 * cost(6)
