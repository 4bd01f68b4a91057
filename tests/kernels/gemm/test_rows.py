"""gemm_rows: exact at every edge size; where it applies; what it costs."""

import pytest

from morello.cost.of_target import cost_model
from morello.kernels import KERNELS
from morello.learned.ledger import with_costs
from morello.machine import AVX2, Target
from morello.spec import Limits, Matmul, Spec
from morello.spec.frame import Frame
from tests.kernels.harness import (
    EDGE,
    TWIN,
    check_random,
    legal,
    legal_cases,
    spec,
)


def rows(accum: bool, sizes: tuple[int, ...], lhs: str = "[0,1,2]") -> Spec:
    forms = f"f32@L1{lhs}", "f32@L2[0,1,2]!", "f32@L1[0,1,2]"
    return spec(Matmul(accum), sizes, *forms)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("accum", [True, False])
def test_every_edge_size_is_exact(accum: bool) -> None:
    edge = EDGE if accum else TWIN
    sizes = [(1, 1, 5, n) for n in edge]
    sizes += [(1, m, 5, n) for m in range(2, 7) for n in TWIN]
    sizes += [(1, 3, k, 51) for k in edge]
    sizes += [(1, m, k, n) for k in TWIN for m, n in ((4, 48), (6, 40))]
    given = [rows(accum, s) for s in dict.fromkeys(sizes)]
    cases = legal_cases("gemm_rows", tuple(given))
    assert len(cases) > (100 if accum else 40)
    check_random(cases)


@pytest.mark.parametrize("lhs", ["[0,2,1]", "[0,1,2,1p6]"])
def test_every_layout_of_lhs_is_exact(lhs: str) -> None:
    sizes = [(1, m, 7, n) for m in (1, 2, 6) for n in (64, 67)]
    given = tuple(rows(accum, s, lhs) for s in sizes for accum in (True, False))
    check_random(legal_cases("gemm_rows", given))


@pytest.mark.parametrize(
    ("sizes", "vrf", "reason"),
    [
        ((2, 6, 8, 32), 16, "needs b = 1"),
        ((1, 7, 8, 32), 16, "takes at most 6 rows"),
        ((1, 6, 256, 257), 16, "takes at most 4096 lines of rhs"),
        ((1, 6, 9, 2048), 16, "takes few rows of rhs where they push"),
        ((1, 4, 9, 44), 16, "needs registers for m * ceil(n / 8) sums"),
        ((1, 6, 8, 32), 15, "needs all registers"),
    ],
)
def test_what_does_not_fit_says_why(
    sizes: tuple[int, ...], vrf: int, reason: str
) -> None:
    given = rows(True, sizes)
    given = Spec(
        given.kind, given.sizes, given.tensors, Limits.of(vrf=vrf, l1=512, l2=16384)
    )
    conditions = KERNELS["gemm_rows"].conditions(Frame.of(given))
    assert any(reason in c.text for c in conditions if not c.holds)


def test_rows_with_gaps_or_in_l1_are_not_its_own() -> None:
    for rhs in ("f32@L2[0,1,2]", "f32@L1[0,1,2]!", "f32@MEM[0,1,2]!"):
        forms = "f32@L1[0,1,2]", rhs, "f32@L1[0,1,2]"
        assert not legal("gemm_rows", spec(Matmul(True), (1, 6, 9, 64), *forms))


def test_it_costs_its_blocks_while_which_lines_come() -> None:
    """Lines of rhs cost nothing where there is arithmetic enough; else they are waited
    for."""

    def cost(name: str, given: Spec, target: Target = AVX2) -> int:
        frame = Frame.of(given)
        return int(cost_model(target).kernel(frame, KERNELS[name].op_counts(frame)))

    near = ("f32@L1[0,1,2]",) * 3
    block = cost("gemm_tile", spec(Matmul(False), (1, 6, 128, 16), *near))
    given = rows(False, (1, 6, 128, 128))
    assert 7.9 * block < cost("gemm_rows", given) < 8 * block
    slow = with_costs(AVX2, {"line_l2": 10_000})
    lines = 128 * 128 * 4 // 64 * 10_000
    assert lines < cost("gemm_rows", given, slow) < 1.1 * lines
