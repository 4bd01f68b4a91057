"""gemm_rows: where it applies; what it costs."""

from morello.cost.of_target import cost_model
from morello.kernels import KERNELS
from morello.learned.ledger import with_costs
from morello.machine import AVX2, Target
from morello.spec import Matmul, Spec
from morello.spec.frame import Frame
from tests.kernels.harness import legal, spec


def test_rows_with_gaps_or_in_l1_are_not_its_own() -> None:
    for rhs in ("f32@L2[0,1,2]", "f32@L1[0,1,2]!", "f32@MEM[0,1,2]!"):
        forms = "f32@L1[0,1,2]", rhs, "f32@L1[0,1,2]"
        assert not legal("gemm_rows", spec(Matmul(True), (1, 6, 9, 64), *forms))


def test_it_costs_its_blocks_while_which_lines_come() -> None:
    """Lines of rhs cost nothing where there is arithmetic enough; else they are waited
    for."""

    def cost(name: str, goal: Spec, target: Target = AVX2) -> int:
        frame = Frame.of(goal)
        return int(cost_model(target).kernel(frame, KERNELS[name].op_counts(frame)))

    near = ("f32@L1[0,1,2]",) * 3
    block = cost("gemm_tile", spec(Matmul(False), (1, 6, 128, 16), *near))
    far = near[0], "f32@L2[0,1,2]!", near[2]
    goal = spec(Matmul(False), (1, 6, 128, 128), *far)
    assert 7.9 * block < cost("gemm_rows", goal) < 8 * block
    slow = with_costs(AVX2, {"line_l2": 10_000})
    lines = 128 * 128 * 4 // 64 * 10_000
    assert lines < cost("gemm_rows", goal, slow) < 1.1 * lines
