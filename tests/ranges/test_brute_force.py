"""Covers of tiny ranges beside the enumeration of all programs of each size."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from morello.machine import AVX2, Target
from morello.search import Impl
from morello.search.ranges.cover import Cover, cover
from morello.spec import parse_spec
from morello.spec.frame import Frame
from tests.search.brute_force import BruteForce


def vector(
    impl: Impl, frames: list[Frame], varying: frozenset[int], target: Target
) -> list[float]:
    """The cost of a program at each of some calls, decision by decision; infinite where
    one does not apply.

    Args:
        frames: of each call.
        varying: the dimensions whose sizes calls say.
    """
    holes = {branch.role: branch.impl for branch in impl.branches}
    costs = []
    for frame in frames:
        expansion = impl.action.expand(frame, target)
        cost = float(expansion.cost)
        if varying:
            cost += int(impl.action.varying_cost(frame, varying, target))
        for one in expansion.conditions:
            if not one.holds and not (
                impl.action.splits_sizes or (one.is_of_settled and varying)
            ):
                cost = math.inf
        for child in expansion.children:
            if not int(child.exists):
                continue
            if child.role not in holes:
                cost = math.inf
                continue
            below = holes[child.role]
            dims = frozenset(d for one in below.spec.ranges for d in one.dims)
            cost += int(child.times) * vector(below, [child.frame], dims, target)[0]
        costs.append(cost)
    return costs


def differences(covered: Cover) -> dict[str, int]:
    """How many calls of a cover have another least cost than their enumeration, cost
    something else than their decisions do, or less than the least."""
    spec, wrong = covered.sizes.spec, dict.fromkeys(("least", "cost", "regret"), 0)
    for part in covered.parts:
        calls = [call for call in spec.calls if call in part.box]
        dims = frozenset(dim for one in part.impl.spec.ranges for dim in one.dims)
        for call, cost in zip(calls, part.costs, strict=True):
            goal = spec.point(*call)
            target = AVX2.at(goal, spec)
            least = BruteForce(target).best(goal)
            assert least is not None
            (program,) = vector(part.impl, [Frame.of(goal)], dims, target)
            wrong["least"] += covered.least[call] != least
            wrong["cost"] += cost != program
            regret = covered.regrets[call]
            wrong["regret"] += program < least or not np.isclose(
                regret, program / least - 1
            )
    return wrong


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "text",
    [
        "matmul:1..6x4x8:f32",
        "matmul:3x1..5x8:f32",
        "matmul:1..3x4x1..3:f32",
        "matmul:2..6/2x3x8:bf16,bf16,f32",
        "softmax:1..4x9:f32",
        "softmax:2x1..9:f32",
        "sum:1..3x1..4:f32",
        "move:1..6x8:f32:dst=[1,0]",
    ],
)
def test_regrets_are_over_the_least_of_all_programs(text: str) -> None:
    covered = cover(parse_spec(text, AVX2.limits), AVX2)
    assert not any(differences(covered).values())


def test_a_cost_that_is_wrong_is_found() -> None:
    covered = cover(parse_spec("matmul:1..3x2x4:f32", AVX2.limits), AVX2)
    first, *others = covered.parts
    dearer = dataclasses.replace(first, costs=(first.costs[0] + 1, *first.costs[1:]))
    least: dict[Any, float] = {**covered.least, (3,): covered.least[3,] - 1}
    wrong = differences(
        dataclasses.replace(covered, parts=(dearer, *others), least=least)
    )
    assert wrong["cost"] == wrong["least"] == 1
    assert wrong["regret"] == 2
