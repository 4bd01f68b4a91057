"""Machine code that works on whole tables: it does what NumPy's passes do."""

import dataclasses

import numpy as np
import pytest

from morello.machine import AVX2
from morello.search.dp import table_solver
from morello.search.dp.fused import improve
from morello.search.dp.limit_slices import Slices
from morello.search.dp.solver import Solver
from morello.search.dp.table import Table
from morello.spec import parse_spec

NEAR = "lhs=[0,1,2]@L1:rhs=[0,2,1]@L1:out=[0,1,2]@L1"
GOALS = (
    (f"matmul_accum:6x8x32:f32:l2=0:{NEAR}", 1),
    ("matmul:2x3x16x8:bf16,bf16,f32", 1),
    ("matmul:9x8x20:f32", 2),
    ("max:7x33:f32", 1),
    ("move:12x8:f32:src=[1,0]", 2),
)


def solved(text: str, threads: int) -> tuple[tuple[Table, ...], int]:
    """The tables of a goal, and how many implementations were compared."""
    target = dataclasses.replace(
        AVX2, threads=threads, relayouts=text.startswith("matmul_accum")
    )
    solver = Solver(target)
    spec = parse_spec(text, target.limits)
    found = solver.solve(spec)
    return solver.tables(spec), found.statistics.impls


@pytest.mark.parametrize(("text", "threads"), GOALS)
def test_one_pass_decides_as_many(
    text: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Costs, decisions and the number of what was compared are the same."""
    answers: list[bool] = []

    def watched(*given: object) -> int | None:
        found = improve(*given)  # type: ignore[arg-type]
        answers.append(found is not None)
        return found

    monkeypatch.setattr(table_solver, "improve", watched)
    quick, compared = solved(text, threads)
    assert sum(answers) > 0.9 * len(answers)
    monkeypatch.setattr(table_solver, "improve", lambda *_: None)
    slow, same = solved(text, threads)
    assert compared == same
    for one, other in zip(quick, slow, strict=True):
        assert one.id == other.id
        assert np.array_equal(one.costs, other.costs)
        assert np.array_equal(one.decisions, other.decisions)


def test_equal_slices_are_one() -> None:
    """Over limits that leave the same costs; infinite ones, too."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        sizes = tuple(rng.integers(1, 6, 2).tolist())
        near, far = rng.integers(1, 7, 2).tolist()
        few = rng.integers(0, 3, (*sizes, 4)).astype(float)
        few[rng.random(few.shape) < 0.2] = np.inf
        costs = few[..., rng.integers(0, 4, near * far)].reshape(*sizes, 1, near, far)
        slices = Slices.of(costs, 2)
        again = slices.costs.take(slices.place, axis=-1)
        assert np.array_equal(again.reshape(costs.shape), costs)
        columns = costs.reshape(-1, near * far).T
        assert slices.costs.shape[-1] == len({row.tobytes() for row in columns})
