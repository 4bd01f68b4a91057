"""gemm_panels: where it applies; what it costs."""

from morello.spec import Matmul
from morello.spec.frame import Frame
from tests.kernels.harness import legal, price, spec

NAME = "gemm_panels"


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
        forms = "f32@L1[0,1,2]", "f32@L2[0,2,1,2p16]", "f32@L1[0,1,2]"
        goal = spec(Matmul(False), (1, m, 512, 96), *forms)
        return int(price(NAME, Frame.of(goal)))

    assert 0.32 * cost(6) < cost(2) < 0.36 * cost(6)
