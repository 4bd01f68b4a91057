"""Tables depend on the part of a goal's context that `OperandContext.below` leaves.

What goals share by `Target.plain` depends on no context.
"""

import dataclasses
import random
from typing import Any

import numpy as np
import pytest

from morello.actions import ACTIONS
from morello.machine import AVX2
from morello.machine.operand_context import OperandContext
from morello.search import Solver
from morello.search.dp import axes
from morello.search.dp.table import Table
from morello.spec import Kind, Limits, Spec
from morello.spec.frame import Frame
from morello.spec.structure import has_several_products
from tests.search.agreement import searched
from tests.search.goals import KINDS, goals_of, random_goal

GOALS = {kind: goals_of(kind, few=2, many=8) for kind in KINDS}


def random_context(rng: random.Random, goal: Spec) -> OperandContext:
    """A context that a goal of the kind could have, also where this one has not."""
    names = [operand.name for operand in goal.kind.operands]
    rows = {name: rng.choice(("aliased", "widened", "other")) for name in names}
    aliased, widened, other = (
        tuple(name for name in names if rows[name] == how)
        for how in ("aliased", "widened", "other")
    )
    some = tuple(name for name in names if rng.random() < 0.5)
    far = rng.random() < 0.5
    return OperandContext(
        far=far,
        near=not far and rng.random() < 0.5,
        aliased=aliased,
        widened=tuple((name, rng.choice((2, 4))) for name in widened),
        other=other if aliased or widened else (),
        row_distance=rng.choice((32, 64, 128)) if aliased or widened else 0,
        chained=has_several_products(goal.kind),
        packed=some if far else (),
        crossing=tuple(name for name in names if rng.random() < 0.5),
    )


@pytest.mark.sampled(12)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_tables_depend_on_no_more_of_a_context(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorter = 0
    for seed in range(GOALS[kind]):
        monkeypatch.undo()
        rng = random.Random(f"contexts {kind} {seed}")
        goal = random_goal(rng, kind)
        if rng.random() < 0.5:
            goal = dataclasses.replace(goal, serial=True)
        context = random_context(rng, goal)
        whole = Solver(AVX2.in_context(context))
        searched(whole, goal)
        room = whole.run_of(goal).room  # keys have it beside the context
        monkeypatch.setattr(axes, "room", lambda *_, room=room: room)
        others: dict[OperandContext, Solver] = {}
        for table in whole.tables(goal):
            assert alike_without(context, table)
            part = context.below(table.id.key)
            assert part.below(table.id.key) == part
            if part == context:
                continue
            solver = others.setdefault(part, Solver(AVX2.in_context(part)))
            again = solver.run_of(goal).table(table.id)
            assert same(again, table), (str(table.id.key), context, part)
            shorter += 1
    assert shorter or GOALS[kind] < 8


def alike_without(context: OperandContext, table: Table) -> bool:
    """Whether keys of children, levels and costs of loops need no context."""
    key, within = table.id.key, AVX2.in_context(context)
    frame = Frame(
        key, tuple(max(axis, default=1) for axis in table.box.sizes), Limits()
    )
    for action in table.actions.values():
        if action.child_keys(key, within) != action.child_keys(key, within.plain):
            return False
        if action.loop_dim(key) is not None:
            costs = {int(action.expand(frame, t).cost) for t in (within, within.plain)}
            if len(costs) > 1:
                return False
    taken = [[a.levels_taken(key, t) for a in ACTIONS] for t in (within, within.plain)]
    return within.plain == AVX2 and taken[0] == taken[1]


def same(one: Table, other: Table) -> bool:
    """Whether two tables have the same costs and choices at the points of both."""
    ours, theirs = common(one, other), common(other, one)
    choices = zip(one.decisions[ours].flat, other.decisions[theirs].flat, strict=True)
    return np.array_equal(one.costs[ours], other.costs[theirs]) and all(
        one.actions.get(int(a)) == other.actions.get(int(b)) for a, b in {*choices}
    )


def common(one: Table, other: Table) -> Any:
    """The positions of the points of a table that another has, too."""
    axes = zip(one.box.axes, other.box.axes, strict=True)
    return np.ix_(*([i for i, n in enumerate(a) if n in b] for a, b in axes))
