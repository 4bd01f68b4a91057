"""The search's cost with parallel loops is the optimum by enumeration."""

import dataclasses

import pytest

from morello.actions import SplitParallel, TileParallel
from morello.machine import AVX2, Target
from morello.search import Solver
from morello.spec import parse_spec
from tests.search.agreement import Agreement, compare
from tests.search.brute_force import BruteForce

GOALS = (
    "move:5x9",
    "move:12x7:s32:dst=[1,0]",
    "fill:33x6",
    "max:11x5",
    "max_accum:6x13:s32",
    "matmul_accum:3x1x4",
)

SHARED = (
    "max:1x512",
    "matmul:1x16x1",
    "sum:1x640:s32",
    "compose:1x20:f32:graph=m[r]=max(x[r,n]);p[r,n]=exp(x-m);out l[r]=sum(p)",
)
"""One row, few results: reductions can be shared out. Only the longest is."""


def with_threads(threads: int, fork: int) -> Target:
    """A target whose parallel loops are cheap enough to be chosen for small Specs."""
    units = dataclasses.replace(AVX2.coefficients, fork=fork)
    return dataclasses.replace(AVX2, threads=threads, coefficients=units)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("threads", "fork"), [(2, 10), (4, 8000000)])
def test_the_optimum_with_threads(threads: int, fork: int) -> None:
    target = with_threads(threads, fork)
    solver, brute = Solver(target), BruteForce(target)
    agreement = Agreement()
    chosen = shared = 0
    for text in GOALS + SHARED:
        spec = dataclasses.replace(parse_spec(text, AVX2.limits), serial=False)
        compare(spec, solver, brute, agreement)
        actions = [impl.action for impl in solver.solve(spec).impl.walk()]
        chosen += any(isinstance(action, TileParallel) for action in actions)
        shared += any(isinstance(action, SplitParallel) for action in actions)
    assert agreement.mismatches == []
    assert sum(agreement.goals.values()) == len(GOALS + SHARED)
    assert (chosen > 0) == (fork < AVX2.coefficients.fork)
    assert (shared > 0) == (fork < AVX2.coefficients.fork)
