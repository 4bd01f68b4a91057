"""What must hold at every point of every table (C3): more memory is never worse, and
a program that needs no more than is left is decided alike with less.

Goals are solved once; each example draws one, and a point of one of its tables.
"""

import functools
import random
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from morello.errors import ScheduleError, SearchError
from morello.machine import AVX2
from morello.search import Impl, Solver
from morello.search.dp.box import ANY
from morello.search.dp.table import Table, spec_at
from morello.search.queries.partial_program import Partial, complete
from morello.spec import Spec
from tests.search.agreement import searched
from tests.search.goals import KINDS, random_goal

EXAMPLES = 1000

LIMITS = 3
"""The last axes of a table."""

many = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


class Goal(NamedTuple):
    """A goal and the tables that its search has filled."""

    solver: Solver
    spec: Spec
    tables: tuple[Table, ...]


@functools.cache
def goals() -> tuple[Goal, ...]:
    """Goals of every kind with their tables."""
    specs = []
    for kind in KINDS:
        count = 0
        for seed in range(60):
            spec = random_goal(random.Random(f"laws {kind} {seed}"), kind)
            solver = Solver(AVX2)
            if searched(solver, spec) is not None:
                specs.append(Goal(solver, spec, solver.tables(spec)))
                count += 1
            if count == 2:
                break
    return tuple(specs)


class Pair(NamedTuple):
    """Two points of a table that differ by what is left of memories."""

    goal: Goal
    table: Table
    less: tuple[int, ...]
    more: tuple[int, ...]


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    """Tables with an axis of limits are drawn, and points that differ along it."""
    goal = goals()[draw(st.integers(0, len(goals()) - 1))]
    wide = [t for t in goal.tables if t.costs.size and max(t.box.shape[-LIMITS:]) > 1]
    assume(wide)
    table = wide[draw(st.integers(0, len(wide) - 1))]
    more = [draw(st.integers(0, extent - 1)) for extent in table.box.shape]
    less = list(more)
    for axis in range(len(more) - LIMITS, len(more)):
        less[axis] = draw(st.integers(0, more[axis]))
    return Pair(goal, table, tuple(less), tuple(more))


@pytest.mark.sampled(6)
@many
@given(pairs())
def test_more_memory_is_never_worse(pair: Pair) -> None:
    costs = pair.table.costs
    assert costs[pair.more] <= costs[pair.less]


@pytest.mark.sampled(6)
@many
@given(pairs())
def test_what_a_program_needs_is_enough_for_it(pair: Pair) -> None:
    """Solved again with no more memory than its program takes at its peak, a Spec has
    the same cost and the same decision."""
    table, run = pair.table, pair.goal.solver.run_of(pair.goal.spec)
    spec = _spec(pair, pair.more)
    chosen = table.decision(spec.sizes, spec.limits)
    assume(chosen is not None)
    impl = run.program(spec, run.entry(table.id))
    fewer = _spec(pair, pair.less)
    needs_no_more = _cost(impl, fewer) == impl.cost
    decision = table.decision(fewer.sizes, fewer.limits)
    assert (table.costs[pair.less] == impl.cost) >= needs_no_more
    if needs_no_more:
        assert decision == chosen


def _cost(impl: Impl, spec: Spec) -> int | None:
    """What a program costs with other limits; None if it is not legal there."""

    def fill(hole: Spec) -> Impl:
        raise SearchError(f"nothing is left to fill in {hole}")

    try:
        return complete(Partial.of(impl), spec, AVX2, fill).cost
    except (ScheduleError, SearchError):
        return None


def _spec(pair: Pair, point: tuple[int, ...]) -> Spec:
    table = pair.table
    limits = pair.goal.solver.run_of(pair.goal.spec).limits
    sizes, left = spec_at(table.id.key, table.box, point, limits)
    key = table.id.key
    return Spec(key.kind, sizes, key.tensors, left, key.serial)


@pytest.mark.sampled(3)
def test_the_examples_are_many_and_different() -> None:
    kinds = {goal.spec.kind.label for goal in goals()}
    assert len(kinds) == len({kind.label for kind in KINDS})
    axes = [t.box.axes[-LIMITS:] for goal in goals() for t in goal.tables]
    free = [sum(len(axis) > 1 for axis in limits) for limits in axes]
    assert set(free) == {0, 1, 2}
    assert any((ANY,) in limits for limits in axes)
