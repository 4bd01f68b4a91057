"""`morello.candidates`: the cheapest program of each class, as values."""

import dataclasses

import numpy as np
import pytest

import morello
from morello.machine import AVX2
from morello.search import Solver
from morello.search.dp.table_solver import TableSolver
from morello.search.storage.shelf import SHELF
from morello.spec import parse_spec


def test_the_first_is_what_is_compiled_and_others_can_be() -> None:
    candidates = morello.candidates("matmul:5x7x9:f32", 4, target=AVX2)
    kernel = morello.compile("matmul:5x7x9:f32", target=AVX2, tune=False)
    assert candidates[0].impl == kernel.impl
    assert [one.cost for one in candidates] == sorted(one.cost for one in candidates)
    assert len({one.features for one in candidates}) == len(candidates) == 4
    second = morello.compile(candidates[1].spec, schedule=candidates[1].schedule)
    assert second.cost() == candidates[1].cost
    assert second.target == AVX2


def test_a_candidate_is_a_value_that_says_what_it_is() -> None:
    one, other = morello.candidates("softmax:5x40:f32", 2)
    again = morello.candidates("softmax:5x40:f32", 1)[0]
    assert one == again != other
    assert len({one.features, again.features, other.features}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.features = ()  # type: ignore[misc]
    text = str(one)
    assert text.startswith("softmax:5x40:f32: ")
    assert one.class_text in text
    assert str(one.impl) in text


def test_threads_are_part_of_the_class() -> None:
    candidates = morello.candidates("move:256x256:f32", 4, threads=2)
    assert any("parallel" in feature for one in candidates for feature in one.features)


@pytest.mark.parametrize("k", [0, -3, 1.5, True, "two"])
def test_a_number_that_means_nothing_is_refused(k: int) -> None:
    with pytest.raises(morello.MorelloError, match="give a whole number from 1 on"):
        morello.candidates("matmul:4x4x4:f32", k)


def test_open_layouts_are_settled_first() -> None:
    candidates = morello.candidates("matmul:1x16x16:f32:rhs=any", 2)
    assert candidates[0].spec == morello.compile("matmul:1x16x16:f32:rhs=any").spec


def test_numbers_of_numpy_are_numbers_and_a_goal_is_a_spec() -> None:
    assert len(morello.candidates("fill:3:f32", np.int64(1))) == 1
    with pytest.raises(morello.MorelloError, match="'spec' is NoneType"):
        morello.candidates(None, 1)  # type: ignore[arg-type]


def test_tables_of_earlier_goals_are_not_solved_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    goal = parse_spec("max:9x8:f32", AVX2.limits)
    SHELF.clear()
    Solver(AVX2.at(goal), shelf=SHELF).solve(goal)
    monkeypatch.setattr(TableSolver, "solve", _refuse)
    assert len(morello.candidates("max:9x8:f32", 2, target=AVX2, threads=1)) == 2
    with pytest.raises(AssertionError, match="is solved again"):
        morello.candidates("max:9x7:f32", 2, target=AVX2, threads=1)


def _refuse(solver: TableSolver) -> None:
    raise AssertionError(f"{solver.key} is solved again")
