"""One search of every size beside a search of each, and the programs that cover all."""

import itertools
import math
from typing import Any

import pytest

from morello import compile
from morello.errors import ScheduleError, SearchError
from morello.machine import AVX2, Target
from morello.search import Impl, Solver, Statistics, best_program
from morello.search.ranges import area
from morello.search.ranges.cover import MOST_PARTS, REGRETS, Cover, cover
from morello.search.ranges.over import Over
from morello.search.ranges.sizes import sampled_rows, search_sizes
from morello.spec import Spec, parse_spec


def parsed(text: str) -> Spec:
    return parse_spec(text, AVX2.limits)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "text",
    [
        "matmul:1..9x8x8:f32",
        "matmul:1..7x5x18:bf16,bf16,f32",
        "matmul:1..3x5x6x7:f32",
        "matmul:4x1..9x8:f32",
        "softmax:1..7x9:f32",
        "softmax:3x1..18:f32",
        "move:1..9x7:f32:dst=[1,0]",
        "fill:2..12/2x5:f32",
        "move:3x12..18:f32:dst=[1,0]",
        # Operands that lie in L2 at first, of more lines than it has for copies.
        "sum:3x8..64/8:f32:l2=8",
        "softmax:1..12x32:f32:l2=10",
        "matmul:4x8..40/8x16:f32:l2=10",
    ],
)
def test_each_size_costs_what_a_search_of_it_alone_finds(text: str) -> None:
    spec = parsed(text)
    sizes = search_sizes(spec, AVX2)
    assert list(sizes.best) == list(spec.calls)
    for call, impl in sizes.best.items():
        assert impl.spec == spec.at(*call)
        solver = Solver(AVX2.at(impl.spec, spec))
        assert impl.cost == best_program(impl.spec, AVX2, solver=solver).impl.cost
    assert len(set(sizes.tables.values())) <= 1 + ((1,) in sizes.best)


@pytest.fixture(scope="module")
def covered() -> Cover:
    return cover(parsed("matmul:1..20x16x24:f32"), AVX2)


def test_every_size_has_its_best_program(covered: Cover) -> None:
    boxes = [part.box for part in covered.parts]
    sizes = [m for (first,), (last,) in boxes for m in range(first, last + 1)]
    assert sizes == list(range(1, 21))
    # Beyond the best: comparisons that choose what remains of a loop.
    assert all(0 <= regret < 0.05 for regret in covered.regrets.values())
    least = min(covered.regrets.values())
    assert least == 0


@pytest.mark.sampled(2)
def test_fewer_programs_where_a_regret_is_allowed(covered: Cover) -> None:
    spec = covered.sizes.spec
    counts = [len(covered.parts)]
    for percent in (5, 40, 400):
        allowed = cover(spec, AVX2, percent)
        counts.append(len(allowed.parts))
        worst = max(allowed.regrets.values())
        assert worst <= max(percent / 100, max(covered.regrets.values()))
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < counts[0]


def alone(impl: Impl, spec: Spec, target: Target) -> float:
    """The cost of the decisions of a program on a Spec of another size; infinite where
    they do not apply, or leave what they say nothing of."""
    try:
        rewrite = impl.action.apply(spec, target)
    except ScheduleError:
        return math.inf
    by_role = {branch.role: branch.impl for branch in impl.branches}
    if any(hole.role not in by_role for hole in rewrite.holes):
        return math.inf
    return rewrite.cost + sum(
        hole.times * alone(by_role[hole.role], hole.spec, target)
        for hole in rewrite.holes
    )


def test_a_program_costs_at_each_size_what_its_decisions_cost_there(
    covered: Cover,
) -> None:
    sizes, finite, infinite = covered.sizes, 0, 0
    for solved in (1, 4, 7, 13, 20):
        tables, impl = sizes.tables[solved,], sizes.best[solved,]
        over = Over(tables)
        for size in sizes.best:
            spec = sizes.spec.at(*size)
            cost = over.cost(impl, spec)
            assert cost == alone(impl, spec, tables.target), (solved, size)
            finite += math.isfinite(cost)
            infinite += math.isinf(cost)
            assert sizes.tables[size] is not tables or cost >= sizes.cost(size)
    assert finite > 20
    assert infinite > 20


def test_statistics_of_several_searches_add_but_for_the_peak() -> None:
    goals = (("one", 2), ("two", 1)), (("two", 4),), ()
    parts = [
        Statistics(
            3, 50, 0.5, 700, 8, 2, 1, n, sum(count for _, count in counts), 1, 1, counts
        )
        for n, counts in zip((20, 90, 70), goals, strict=True)
    ]
    sums = ("two", 5), ("one", 2)
    every = Statistics(9, 150, 1.5, 2100, 24, 6, 3, 90, 7, 3, 3, sums)
    assert Statistics.of_all(parts) == every


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", ["sum:64x2..512:f32", "layer_norm:16x2..128:f32"])
def test_few_programs_take_all_lengths_of_rows(text: str) -> None:
    """One whose rows fill L1 at the greatest length takes lengths that leave room."""
    few = cover(parsed(text), AVX2)
    assert len(few.parts) <= 8
    assert max(few.regrets.values()) < 0.05


def test_tiles_take_sizes_that_no_other_program_takes() -> None:
    # Programs of one size of it take no other: rows of a graph stay in registers.
    few = cover(parsed("softmax:2..40x256:f32"), AVX2, None, None, 1)
    assert [part.box for part in few.parts] == [((2,), (40,))]
    assert "tile(d0, " in str(few.parts[0].impl)
    assert max(few.regrets.values()) < 0.02


@pytest.mark.sampled(2)
@pytest.mark.quick
def test_kernels_of_any_length_take_sizes_for_which_there_are_too_many_programs() -> (
    None
):
    rows = cover(parsed("layer_norm:4x1..300:f32"), AVX2)
    assert len(rows.parts) <= MOST_PARTS
    assert max(rows.regrets.values()) < 0.3
    # Each program of one length is still there for the lengths that it takes alone.
    assert min(rows.regrets.values()) == 0
    last = rows.parts[-1]
    alone = rows.sizes.best[last.box.first]
    select, compared = rows.parts[-1].impl, last.costs[0] - alone.cost
    assert str(select.action) == str(alone.action)
    assert compared > 0


@pytest.mark.sampled(2)
def test_more_programs_than_are_wanted_are_taken_where_it_takes_more() -> None:
    spec = parsed("matmul:1..5x4x6:f32")
    fewest = cover(spec, AVX2, None, None, 0)
    exact = cover(spec, AVX2, 0.0, None, 1)
    assert len(fewest.parts) < len(exact.parts)
    assert max(exact.regrets.values()) == 0
    wide = cover(spec, AVX2, REGRETS[-1], None, 0)
    assert len(wide.parts) == len(fewest.parts)
    assert max(wide.regrets.values()) >= max(fewest.regrets.values())


def test_more_programs_than_a_kernel_has_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("morello.search.ranges.cover.MOST_PARTS", 1)
    with pytest.raises(SearchError, match="programs, more than 1"):
        cover(parsed("matmul:1..5x4x6:f32"), AVX2, 0.0)


@pytest.mark.quick
def test_ranges_that_are_too_many_are_refused() -> None:
    with pytest.raises(SearchError, match="4112 pairs of sizes"):
        search_sizes(parsed("matmul:1..257x5x1..16:f32"), AVX2)
    with pytest.raises(SearchError, match="65537 sizes"):
        search_sizes(parsed("matmul:1..65537x5x6:f32"), AVX2)


def test_steps(covered: Cover) -> None:
    stepped = search_sizes(parsed("matmul:4..20/8x16x24:f32"), AVX2)
    assert {m: stepped.cost((m,)) for m in (4, 12, 20)} == {
        m: covered.sizes.cost((m,)) for m in (4, 12, 20)
    }
    assert list(itertools.islice(stepped.best, 4)) == [(4,), (12,), (20,)]


@pytest.mark.parametrize("regret", [-1, "x", math.nan, 10**400, True])
def test_a_regret_is_a_share(regret: Any) -> None:
    for text in ("matmul:4x4x4:f32", "sum:1..3x4:f32"):
        with pytest.raises(SearchError, match=r"'regret' is .*; give per cent from 0"):
            compile(text, regret=regret)


def test_some_rows_of_each_octave_are_searched() -> None:
    rows = sampled_rows(tuple(range(1, 513)))
    assert rows[:64] == tuple(range(1, 65))
    assert {80, 89, 96, 128, 137, 256, 320, 448, 480, 510, 511, 512} < {*rows}
    assert len(rows) < 110
    assert sampled_rows(tuple(range(100, 300, 50))) == (100, 150, 200, 250)
    assert sampled_rows((7,)) == (7,)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", ["matmul:1..200x24x32:f32", "softmax:1..150x24:f32"])
def test_rows_between_have_the_programs_of_those_that_are_searched(text: str) -> None:
    spec = parsed(text)
    (sizes,) = spec.every_size
    some, every = cover(spec, AVX2), search_sizes(spec, AVX2, more=sizes)
    assert len(some.sizes.best) < len(every.best)
    for call, cost in some.sizes.costs.items():
        assert cost == every.cost(call)
    more = [some.least[call] / every.cost(call) for call in every.best]
    assert min(more) >= 1
    assert max(more) < 1.03
    assert max(some.regrets.values()) < 0.05


def test_rows_between_are_searched_where_one_of_them_costs_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(area, "DOUBTFUL", 0.5)
    assert len(cover(parsed("relu:1..80x7:f32"), AVX2).sizes.best) == 80
