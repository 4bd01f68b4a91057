"""Narrow tables have legal programs, and come to those of the whole search."""

import pytest

from morello.machine import AVX2
from morello.search import Solver
from morello.search.dp.narrow import NarrowRun
from morello.search.impl import Impl
from morello.search.queries.first_program import first_programs
from morello.spec import Spec, parse_spec

GOALS = [
    "matmul:17x20x24:f32",
    "matmul:8x16x24:bf16,bf16,f32",
    "gelu_matmul:9x16x24:f32",
    "attention:1x9x8x4x8:f32",
    "softmax:7x40:f32",
    "conv:1x4x6x7x8x2x2:f32:pad=1",
    "compose:8x8x5:u8,s8,s32,s32:graph=v0[d0,d1]=sum(x0[d0,d2]*x1[d2,d1]);"
    "out v1[d0,d1]=v0-(x2[d1]*120.0)",
]

WIDTHS = (0, 2, 4, 64)


def narrow(solver: Solver, spec: Spec, width: int) -> tuple[Impl, bool]:
    """The best program of narrow tables, and whether these are whole."""
    run = NarrowRun(solver.run_of(spec), width, None)
    with run.store.working():
        return run.best(spec, solver.goal_table(spec)), run.is_whole


@pytest.mark.sampled(4)
@pytest.mark.parametrize("text", GOALS)
def test_wider_tables_come_to_the_best_program(text: str) -> None:
    """And no action costs less than it says."""
    spec = parse_spec(text, AVX2.limits)
    target = AVX2.at(spec)
    best = Solver(target).solve(spec).impl
    solver = Solver(target)
    for width in WIDTHS:
        impl, is_whole = narrow(solver, spec, width)
        assert impl.cost >= best.cost
        for part in {id(part): part for part in impl.walk()}.values():
            costs = tuple(branch.impl.cost for branch in part.branches)
            assert part.action.apply(part.spec, target).total(costs) == part.cost
    assert is_whole
    assert impl == best


@pytest.mark.sampled(4)
@pytest.mark.parametrize("text", GOALS)
def test_what_is_left_to_the_search_is_whole(text: str) -> None:
    spec = parse_spec(text, AVX2.limits)
    target = AVX2.at(spec)
    solver, alone = Solver(target), Solver(target)
    narrow(solver, spec, 2)
    left = {table.id: table for table in solver.tables(spec)}
    assert left
    for identity, table in left.items():
        other = alone.run_of(spec).table(identity)
        assert table.box == other.box
        assert (table.costs == other.costs).all()
    assert solver.solve(spec).impl == alone.solve(spec).impl


def test_narrow_tables_are_better_than_first_programs() -> None:
    spec = parse_spec("conv:1x32x9x9x24x3x3:f32:pad=1:layout=nhwc", AVX2.limits)
    solver = Solver(AVX2.at(spec))
    first = min(impl.cost for impl in first_programs(spec, solver, lambda: None))
    impl, is_whole = narrow(solver, spec, 0)
    assert not is_whole
    assert 2 * impl.cost < first
