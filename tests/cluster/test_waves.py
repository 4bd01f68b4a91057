"""The order of jobs: the largest of each family, then what starts from its tables."""

import pytest

from morello.cluster.waves import Waves, largest_first
from morello.machine import AVX2
from morello.spec import parse_open_spec

pytestmark = pytest.mark.quick

JOBS = [("a4", "a"), ("a3", "a"), ("b3", "b"), ("a2", "a"), ("b1", "b")]


def test_the_largest_of_each_family_go_first_and_the_rest_follow() -> None:
    waves = Waves(JOBS)
    assert list(waves.ready(2)) == ["a4", "b3"]
    assert list(waves.ready(0)) == []
    waves.came("b")
    assert list(waves.ready(0)) == ["b1"]
    waves.came("a")
    assert list(waves.ready(0)) == ["a3", "a2"]
    assert list(waves.ready(9)) == []


def test_idle_workers_take_what_has_to_wait() -> None:
    waves = Waves(JOBS)
    assert list(waves.ready(3)) == ["a4", "b3", "a3"]
    assert list(waves.ready(1)) == ["a2"]


def test_at_most_so_many() -> None:
    waves = Waves(JOBS)
    assert list(waves.ready(1, 1)) == ["a4"]
    assert list(waves.ready(0, 0)) == []
    assert list(waves.ready(1, 1)) == ["b3"]
    waves.came("a")
    assert list(waves.ready(2, 2)) == ["a3", "a2"]
    assert list(waves.ready(2, 2)) == ["b1"]


def test_families_have_all_but_the_sizes_in_common() -> None:
    texts = ["matmul:4x5x6:f32", "matmul:7x8x9:f32", "matmul:4x5x6:f32:rhs=any"]
    texts += ["matmul:4x5x6:f32:rhs=[0,2,1]", "matmul:4x5x6:u8,s8,s32", "max:4x5"]
    goals = {text: parse_open_spec(text, AVX2.limits) for text in texts}
    families = [goal.family for goal in goals.values()]
    assert families[0] == families[1]
    assert len(set(families)) == 5
    assert largest_first(goals)[0] == "matmul:7x8x9:f32"
    assert largest_first(goals)[-1] == "max:4x5"
