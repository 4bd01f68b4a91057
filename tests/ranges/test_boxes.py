"""Boxes of pairs of sizes, beside every way to cut the pairs."""

import functools
import math
import random
from typing import Any

import numpy as np
import pytest

from morello.actions import Range
from morello.machine import AVX2
from morello.search import Solver, best_program
from morello.search.ranges import boxes
from morello.search.ranges.boxes import Boxes
from morello.search.ranges.cover import Cover, cover
from morello.search.ranges.over import Over
from morello.spec import parse_spec

ALONE, FOUND = 1.5, 0.25


def drawn(rng: random.Random) -> Boxes:
    """Programs that take some of the pairs of a grid."""
    grid = rng.randint(1, 4), rng.randint(1, 4)
    regrets, kernels = [], []
    for _ in range(rng.randint(1, 4)):
        cells = np.array(
            [
                [rng.choice((0, 1, 4, np.inf)) for _ in range(grid[1])]
                for _ in range(grid[0])
            ]
        )
        regrets.append(cells)
        kernels.append(
            [
                np.array(rng.choices((False, True), k=cells.size)).reshape(grid)
                for _ in range(3)
            ]
        )
    regrets.append(np.full(grid, 5.0))
    kernels.append([np.ones(grid, bool)])
    return Boxes(np.array(regrets), kernels, ALONE)


def cost(drawn: Boxes, places: Any, number: int | None, price: float) -> float:
    """The cost of a box with a program."""
    if number is None:
        return price * ALONE + FOUND
    part = tuple(slice(*one) for one in places)
    runs = sum(bool(one[part].any()) for one in drawn.kernels[number])
    return float(drawn.regrets[number][part].sum() + price * runs + FOUND)


def least(drawn: Boxes, price: float) -> float:
    """The least cost of all ways to cut the pairs."""

    @functools.cache
    def of(start: int, end: int, first: int, last: int) -> float:
        places = (start, end), (first, last)
        costs = [cost(drawn, places, n, price) for n in range(len(drawn.kernels))]
        if (end - start, last - first) == (1, 1):
            costs.append(cost(drawn, places, None, price))
        costs += [
            of(start, at, first, last) + of(at, end, first, last)
            for at in range(start + 1, end)
        ]
        costs += [
            of(start, end, first, at) + of(start, end, at, last)
            for at in range(first + 1, last)
        ]
        return min(costs)

    rows, columns = drawn.regrets.shape[1:]
    return of(0, rows, 0, columns)


@pytest.mark.quick
@pytest.mark.parametrize("price", [0.0, 0.5, 3.0, 1e9])
def test_no_other_cuts_cost_less(price: float) -> None:
    several = 0
    for seed in range(80):
        grid = drawn(random.Random(seed))
        chosen = grid.chosen(price, FOUND)
        taken = np.zeros(grid.regrets.shape[1:], int)
        for places, _ in chosen:
            taken[tuple(slice(*one) for one in places)] += 1
        assert (taken == 1).all()
        total = sum(cost(grid, places, number, price) for places, number in chosen)
        assert total == pytest.approx(least(grid, price))
        several += len(chosen) > 1
    assert several > 0 or price == 1e9


@pytest.mark.quick
def test_of_too_many_boxes_some_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    regrets = np.ones((2, 4, 9))
    regrets[0, :, :6] = regrets[1, :, 6:] = 0
    runs = [[np.ones((4, 9), bool)], [np.ones((4, 9), bool)]]
    monkeypatch.setattr(boxes, "MOST_BOXES", 30)
    chosen = Boxes(regrets, runs, ALONE).chosen(0.1, FOUND)
    assert chosen == [(((0, 4), (0, 6)), 0), (((0, 4), (6, 9)), 1)]


def with_comparisons(covered: Cover) -> float:
    """The regrets of all pairs, and what finding their programs adds."""
    compared = COMPARISON * math.log2(len(covered.parts))
    shares = (compared / least for least in covered.least.values())
    return sum(covered.regrets.values()) + sum(shares)


COMPARISON = Range.comparison
PRODUCT = "matmul:1..3x8x1..6:f32"


@functools.cache
def covering(text: str) -> Cover:
    return cover(parse_spec(text, AVX2.limits), AVX2)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("text", ["softmax:1..2x1..4:f32", PRODUCT])
def test_regrets_are_over_the_best_program_of_each_pair(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, compared = parse_spec(text, AVX2.limits), covering(text)
    monkeypatch.setattr(Range, "comparison", 0)
    covered = cover(spec, AVX2)
    assert max(covered.regrets.values()) < 0.05
    assert with_comparisons(compared) <= with_comparisons(covered)
    for call in list(spec.calls)[::5]:
        goal = spec.at(*call)
        alone = best_program(goal, AVX2, solver=Solver(AVX2.at(goal, spec)))
        assert covered.least[call] == alone.impl.cost
    few = cover(spec, AVX2, 20.0)
    assert few.impl.leaves < covered.impl.leaves
    assert min(few.regrets.values()) >= 0


def test_where_each_kernel_runs() -> None:
    spec, covered = parse_spec(PRODUCT, AVX2.limits), covering(PRODUCT)
    over = Over(covered.sizes.tables[3, 6])
    runs = list(over.kernels(covered.impl, spec))
    assert len(runs) == covered.impl.leaves
    for at, call in enumerate(spec.calls):
        part_of_call = next(part for part in covered.parts if call in part.box)
        assert 1 <= sum(one[at] for one in runs) <= part_of_call.impl.leaves
    assert all(one.any() for one in runs)
