"""Least squares, and coefficients recovered from times that they made."""

import dataclasses
import itertools
import random

import numpy as np
import pytest

from morello.calibration.draw import Plan, draw
from morello.calibration.fit import Measured, fit, nearest
from morello.calibration.least_squares import (
    constrained_least_squares,
    non_negative_least_squares,
)
from morello.calibration.reprice import Ledger
from morello.errors import MorelloError
from morello.learned.ledger import cost_of
from morello.machine import AVX2, Target, find_target
from morello.machine.costs import ORDERS
from morello.search import Impl
from morello.spec import parse_spec

Matrix = np.ndarray

L1 = "lhs=[0,1,2]@L1:rhs=[0,1,2]@L1:out=[0,1,2]@L1"
SPECS = (
    f"matmul_accum:6x40x16:f32:{L1}",
    "move:16x24:f32:src=[0,1]@L1:dst=[1,0]@L1",
    "max:3000x1000:f32",
    "fill:1000:f32:out=[0]@L1",
)
TRUTH = find_target("avx2{line_mem_demand=4000,loop=400,fma=650,load=700,store=1600}")
DETERMINED = ("loop", "store")


@pytest.fixture(scope="module")
def programs() -> tuple[Impl, ...]:
    drawn = [draw(parse_spec(t, AVX2.limits), AVX2, Plan(10, seed=3)) for t in SPECS]
    return tuple(itertools.chain(*drawn))


def measured(
    programs: tuple[Impl, ...], truth: Target, noise: float = 0.0
) -> tuple[Measured, ...]:
    costs, rng = Ledger(programs, AVX2).costs(truth), random.Random(0)
    return tuple(
        Measured(i, cost / 1000 * (1 + noise * rng.uniform(-1, 1)))
        for i, cost in zip(programs, costs, strict=True)
    )


def brute(a: Matrix, b: Matrix, g: Matrix, h: Matrix) -> float:
    """The least norm over every way to make some inequalities equations."""
    best, columns = np.inf, a.shape[1]
    for count in range(columns + 1):
        for tied in map(list, itertools.combinations(range(len(h)), count)):
            zeros = np.zeros((count, count))
            system = np.block([[a.T @ a, g[tied].T], [g[tied], zeros]])
            if np.linalg.matrix_rank(system) < columns + count:
                continue
            x = np.linalg.solve(system, np.concatenate([a.T @ b, h[tied]]))[:columns]
            if (g @ x >= h - 1e-9).all():
                best = min(best, float(np.linalg.norm(a @ x - b)))
    return best


def test_constrained_least_squares_is_the_least_of_all_active_sets() -> None:
    for seed in range(80):
        rng = np.random.default_rng(seed)
        columns = int(rng.integers(1, 5))
        a = rng.normal(size=(columns + int(rng.integers(0, 6)), columns))
        b = rng.normal(size=a.shape[0])
        g = rng.normal(size=(int(rng.integers(0, 7)), columns))
        inside = rng.normal(size=columns)  # fulfils all inequalities, some just so
        h = g @ inside - rng.choice([0.0, 0.1, 1.0], len(g))
        x = constrained_least_squares(a, b, g, h)
        assert (g @ x >= h - 1e-9).all(), seed
        least = brute(a, b, g, h)
        assert np.linalg.norm(a @ x - b) == pytest.approx(least, abs=1e-8), seed


def test_inequalities_that_are_none_leave_the_optimum_alone() -> None:
    none = np.full(2, -np.inf)
    optimum = constrained_least_squares(
        np.eye(2), np.array([3.0, -4.0]), np.eye(2), none
    )
    assert optimum.tolist() == pytest.approx([3.0, -4.0])


def test_what_pulls_down_only_becomes_nothing() -> None:
    optimum = non_negative_least_squares(np.eye(3), np.array([-1.0, -2.0, -3.0]))
    assert optimum.tolist() == [0, 0, 0]


def test_a_fit_keeps_the_orders_of_hardware(programs: tuple[Impl, ...]) -> None:
    """Where times say that a masked load is quicker than a load, both become alike."""
    turned = find_target("avx2{load=2000,masked_load=300,line_l2=4000}")
    fitted = fit(measured(programs, turned), AVX2, ridge=1e-3).after
    for less, more in ORDERS:
        assert cost_of(fitted, less) <= cost_of(fitted, more), (less, more)


def test_the_nearest_in_order_changes_what_is_turned_round_alone() -> None:
    turned = find_target("avx2{load=800,masked_load=400}")
    ordered = nearest(turned)
    assert cost_of(ordered, "load") == cost_of(ordered, "masked_load") == 480
    assert dataclasses.replace(ordered, ops=turned.ops) == turned
    assert nearest(ordered) == ordered


def test_what_is_nothing_holds_no_other_down() -> None:
    without = find_target("avx2{line_l2=0}")
    assert nearest(without) == without


def test_a_fit_stays_within_bounds(programs: tuple[Impl, ...]) -> None:
    within = {"line_mem_demand": (2000, 3000), "store": (1100, 1200)}
    fitted = fit(measured(programs, TRUTH), AVX2, 1e-7, within).after
    assert 2000 <= cost_of(fitted, "line_mem_demand") <= 3000
    assert 1100 <= cost_of(fitted, "store") <= 1200


def test_what_weighs_more_is_explained_better(programs: tuple[Impl, ...]) -> None:
    """Of two times of one program the heavier one is nearer to the prediction."""
    light, heavy = Measured(programs[0], 1000.0), Measured(programs[0], 2000.0, 50.0)
    fitted = fit([light, heavy], AVX2, 1e-4).after
    cost = float(Ledger([programs[0]], AVX2).costs(fitted)[0]) / 1000
    assert cost > 1.7 * 1000


def test_known_coefficients_are_recovered(programs: tuple[Impl, ...]) -> None:
    result = fit(measured(programs, TRUTH), AVX2, ridge=1e-7)
    assert result.median_before > 0.1
    assert result.median_after < 0.01
    for name in DETERMINED:
        got = cost_of(result.after, name)
        assert got == pytest.approx(cost_of(TRUTH, name), rel=0.1), name


def test_noise_does_not_lead_far_away(programs: tuple[Impl, ...]) -> None:
    result = fit(measured(programs, TRUTH, noise=0.05), AVX2)
    assert result.median_after < 0.15 < result.median_before
    assert len(result.errors_after) == len(programs)


def test_what_is_right_stays(programs: tuple[Impl, ...]) -> None:
    result = fit(measured(programs, AVX2), AVX2)
    assert result.after == AVX2
    assert result.median_after == 0


def test_what_no_program_pays_for_stays(programs: tuple[Impl, ...]) -> None:
    result = fit(measured(programs, TRUTH), AVX2)
    for name in ("fork", "multiply_add_int"):
        assert name not in result.seen
        before = cost_of(AVX2, name)
        assert cost_of(result.after, name) == before
    assert {"line_mem_demand", "fma", "store", "loop"} <= set(result.seen)


@pytest.mark.parametrize("cycles", [[], [0.0], [-1.0]])
def test_times_that_are_none_are_refused(
    cycles: list[float], programs: tuple[Impl, ...]
) -> None:
    with pytest.raises(MorelloError, match="measure at least one program"):
        fit([Measured(programs[0], c) for c in cycles], AVX2)
