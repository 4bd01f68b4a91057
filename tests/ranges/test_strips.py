"""The kernel that multiplies rows strip by strip, for any number of rows."""

from collections.abc import Sequence

import numpy as np
import pytest

from morello.actions import Action, Move, Select
from morello.compiler.kernel import native_function, parameters
from morello.compiler.stages import build_stages
from morello.errors import ScheduleError
from morello.machine import Target, find_target
from morello.runtime.engine import compile_object, load
from morello.search import Branch, Impl, Solution, Statistics
from morello.spec import L2, Layout, Spec, parse_spec
from tests.guarded import check_in_child, guarded_array

ROWS = Layout.row_major(3)


def program(spec: Spec, actions: Sequence[Action], target: Target) -> Impl:
    """The program of some actions, each on the one hole of that before."""
    first, *others = actions
    rewrite = first.apply(spec, target)
    branches = tuple(
        Branch(hole.role, hole.times, program(hole.spec, others, target))
        for hole in rewrite.holes
    )
    cost = rewrite.total(tuple(branch.impl.cost for branch in branches))
    return Impl(spec, first, cost, branches)


# One block; two, three and more; few rows of rhs, block by block; a tail of columns.
@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "text", ["matmul:5..30x40x20:f32", "matmul_accum:5..40/5x8x36:f32"]
)
def test_any_number_of_rows(text: str) -> None:
    target = find_target("avx2")
    spec = parse_spec(text, target.limits)
    actions = [Move("lhs", L2, ROWS), Select("gemm_strips")]
    impl = program(spec, actions, target.at(spec))
    stages = build_stages(spec, target, Solution(impl, Statistics(0, 0, 0.0)))
    assert stages.cost == impl.cost
    features = ",".join(f"+{feature}" for feature in target.features)
    engine = load(compile_object(stages.llvm, cpu=target.cpu, features=features))
    function = native_function(stages, engine, parameters(spec))
    _, _, k, n = spec.sizes

    def run() -> None:
        rng = np.random.default_rng(4)
        for m in spec.ranges[0].sizes(spec.greatest[0]):
            shapes = (m, k), (k, n), (m, n)
            values = [rng.integers(-4, 5, s).astype(np.float32) for s in shapes]
            lhs, rhs, out = (
                guarded_array(value, name, "end")
                for value, name in zip(values, ("lhs", "rhs", "out"), strict=True)
            )
            function(lhs, rhs, out)
            wanted = values[0] @ values[1] + spec.kind.accumulates * values[2]
            np.testing.assert_array_equal(out, wanted)

    check_in_child(run)


def test_it_has_to_apply_to_every_size() -> None:
    target = find_target("avx2")
    spec = parse_spec("matmul:3..9x40x20:f32", target.limits)
    moved = Move("lhs", L2, ROWS).apply(spec, target.at(spec)).holes[0].spec
    with pytest.raises(ScheduleError, match="at the size 3: takes more than 4 rows"):
        Select("gemm_strips").apply(moved, target.at(spec))
