"""Least squares, and coefficients recovered from times that they made."""

import itertools
import random

import numpy as np
import pytest

from morello.calibration.calibrate import Plan, draw
from morello.calibration.fit import Measured, fit
from morello.calibration.nnls import nnls
from morello.calibration.reprice import Ledger
from morello.errors import MorelloError
from morello.search import Impl
from morello.spec import parse_spec
from morello.targets import AVX2, Target, find_target

L1 = "lhs=[0,1,2]@L1:rhs=[0,1,2]@L1:out=[0,1,2]@L1"
SPECS = (
    f"matmul_accum:6x40x16:f32:{L1}",
    "move:16x24:f32:src=[0,1]@L1:dst=[1,0]@L1",
    "max:30x100:f32",
    "fill:1000:f32:out=[0]@L1",
)
TRUTH = find_target(
    "avx2{line_gl=4000,loop_trip=300,loop_setup=200,kernel_setup=4000,fma=650,"
    "load=700,store=1600}"
)
DETERMINED = ("line_gl", "loop_trip", "kernel_setup", "store")


@pytest.fixture(scope="module")
def programs() -> tuple[Impl, ...]:
    found = [draw(parse_spec(t, AVX2.limits), AVX2, Plan(10, seed=3)) for t in SPECS]
    return tuple(itertools.chain(*found))


def measured(
    programs: tuple[Impl, ...], truth: Target, noise: float = 0.0
) -> tuple[Measured, ...]:
    costs, rng = Ledger(programs).costs(truth), random.Random(0)
    return tuple(
        Measured(i, cost / 1000 * (1 + noise * rng.uniform(-1, 1)))
        for i, cost in zip(programs, costs, strict=True)
    )


def brute_nnls(a: np.ndarray, b: np.ndarray) -> float:
    """The least norm over every set of variables that may differ from 0."""
    best = float(np.linalg.norm(b))
    columns = range(a.shape[1])
    for size in range(1, a.shape[1] + 1):
        for chosen in itertools.combinations(columns, size):
            x = np.linalg.lstsq(a[:, chosen], b, rcond=None)[0]
            if (x >= 0).all():
                best = min(best, float(np.linalg.norm(a[:, chosen] @ x - b)))
    return best


@pytest.mark.parametrize("seed", range(60))
def test_nnls_is_the_least_of_all_active_sets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = int(rng.integers(1, 7))
    a = rng.normal(size=(columns + int(rng.integers(0, 6)), columns))
    b = rng.normal(size=a.shape[0])
    x = nnls(a, b)
    assert (x >= 0).all()
    assert np.linalg.norm(a @ x - b) == pytest.approx(brute_nnls(a, b), abs=1e-9)


def test_nnls_of_what_pulls_down_only_is_zero() -> None:
    assert nnls(np.eye(3), np.array([-1.0, -2.0, -3.0])).tolist() == [0, 0, 0]


def test_known_coefficients_are_recovered(programs: tuple[Impl, ...]) -> None:
    found = fit(measured(programs, TRUTH), AVX2, ridge=1e-7)
    assert found.median_before > 0.1
    assert found.median_after < 0.01
    for name in DETERMINED:
        got = getattr(found.after.coefficients, name)
        assert got == pytest.approx(getattr(TRUTH.coefficients, name), rel=0.1), name


def test_noise_does_not_lead_far_away(programs: tuple[Impl, ...]) -> None:
    found = fit(measured(programs, TRUTH, noise=0.05), AVX2)
    assert found.median_after < 0.15 < found.median_before
    assert len(found.errors_after) == len(programs)


def test_what_is_right_stays(programs: tuple[Impl, ...]) -> None:
    found = fit(measured(programs, AVX2), AVX2)
    assert found.after == AVX2
    assert found.median_after == 0


def test_what_no_program_pays_for_stays(programs: tuple[Impl, ...]) -> None:
    found = fit(measured(programs, TRUTH), AVX2)
    for name in ("fork", "multiply_add_int"):
        assert name not in found.seen
        before = getattr(AVX2.coefficients, name)
        assert getattr(found.after.coefficients, name) == before
    assert {"line_gl", "fma", "store", "loop_trip"} <= set(found.seen)


@pytest.mark.parametrize("cycles", [[], [0.0], [-1.0]])
def test_times_that_are_none_are_refused(
    cycles: list[float], programs: tuple[Impl, ...]
) -> None:
    with pytest.raises(MorelloError, match="measure at least one program"):
        fit([Measured(programs[0], c) for c in cycles], AVX2)
