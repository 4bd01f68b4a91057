"""A2: programs that the search finds, of every kind, against both oracles.

A search of matmul solves thousands of smaller Specs on its way; the program of any of
them is read from the solved tables.
"""

import dataclasses
import functools
import random
from collections.abc import Sequence

import numpy as np

from morello.machine import AVX2
from morello.search import Solver
from morello.search.dp.table import NO_ACTION, Table
from morello.search.impl import Impl
from morello.spec import L2, MEM, Dtype, Limits, Matmul, Spec, argument_tensor
from morello.spec.tensors.layout import Layout
from tests.named_kinds import reuses_inputs
from tests.quality.bounds import check_bound, is_bounded
from tests.quality.execution import check_all
from tests.quality.programs import Program, build_programs
from tests.quality.specs import random_spec

GOAL_SEEDS = 60
"""So many seeds in a row draw their matmuls from the tables of one goal."""

MATMULS = 0.5
"""The share of matmuls; each other kind has a search of its own."""


def check_searched_programs(seeds: Sequence[int]) -> int:
    """For each seed a Spec and its best program; how many were run.

    Raises:
        AssertionError: names the seed of the Spec that failed.
    """
    impls = [searched(seed) for seed in seeds]
    labels = [
        f"python -m tests.soak searched_programs --count 1 --seed {seed}  # {impl.spec}"
        for seed, impl in zip(seeds, impls, strict=True)
    ]
    check_all(build_programs(impls, labels), seeds[0], _bound)
    return len(impls)


def _bound(program: Program, rng: np.random.Generator) -> None:
    if is_bounded(program.spec):
        check_bound(program, rng)


def searched(seed: int) -> Impl:
    """The best program of a random Spec."""
    rng = random.Random(f"searched {seed}")
    if rng.random() < MATMULS:
        return _random_part(seed // GOAL_SEEDS, rng)
    spec = random_spec(rng)
    while reuses_inputs(spec.kind):
        spec = random_spec(rng)
    spec = dataclasses.replace(spec, limits=_limits(seed))
    return Solver(AVX2).solve(spec).impl


def _limits(number: int) -> Limits:
    """All memories for even numbers; for the others no L2, of which most tables are."""
    return AVX2.limits.replace(L2, 0) if number % 2 else AVX2.limits


_INTO_S16 = (Dtype.U8, Dtype.S8, Dtype.S16)

PRODUCTS: tuple[tuple[Matmul, tuple[Dtype, ...]], ...] = (
    (Matmul(), (Dtype.F32,) * 3),
    (Matmul(), (Dtype.BF16, Dtype.BF16, Dtype.F32)),
    (Matmul(), (Dtype.U8, Dtype.S8, Dtype.S32)),
    (Matmul(saturating=True), _INTO_S16),
    (Matmul(), _INTO_S16),
    (Matmul(), (Dtype.F32, Dtype.BF16, Dtype.F32)),
    (Matmul(), (Dtype.F16, Dtype.F16, Dtype.F32)),
    (Matmul(), (Dtype.S32,) * 3),
    (Matmul(flushing=True), (Dtype.BF16, Dtype.BF16, Dtype.F32)),
)
"""The goals of runs of seeds, one after another."""


@dataclasses.dataclass(frozen=True)
class Solved:
    """A goal and what its search solved."""

    goal: Spec
    solver: Solver
    roots: tuple[Table, ...]
    """The tables of products of operands in MEM."""


@functools.lru_cache(maxsize=1)
def _solved(number: int) -> Solved:
    """The goal of a run of seeds: a matmul of odd sizes, solved."""
    rng = random.Random(f"goal {number}")
    b, m, k, n = rng.randint(1, 2), *(rng.randint(5, 31) for _ in range(3))
    kind, dtypes = PRODUCTS[number % len(PRODUCTS)]
    rows = tuple(argument_tensor(dtype, Layout.row_major(3)) for dtype in dtypes)
    goal = Spec(kind, (b, m, k, n), rows, _limits(number))
    solver = Solver(AVX2)
    solver.solve(goal)
    roots = [
        table
        for table in solver.tables(goal)
        if reuses_inputs(table.id.key.kind)
        and all(t.level is MEM for t in table.id.key.tensors)
        and table.costs.size
    ]
    return Solved(goal, solver, tuple(sorted(roots, key=lambda t: str(t.id.key))))


def _random_part(number: int, rng: random.Random) -> Impl:
    """The program of one of the Specs in MEM that a goal's search has solved."""
    solved = _solved(number)
    limits = solved.goal.limits
    while True:
        table = rng.choice(solved.roots)
        sizes = tuple(rng.choice(axis) for axis in table.box.sizes)
        spec = Spec(table.id.key.kind, sizes, table.id.key.tensors, limits)
        point = table.point(spec.sizes, spec.limits)
        if point is not None and table.decisions[point] != NO_ACTION:
            return solved.solver.run_of(solved.goal).program(spec, table)
