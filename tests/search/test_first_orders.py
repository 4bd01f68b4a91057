"""Goals as they are searched for calls of threads, and orders of first programs."""

import dataclasses
import time

import pytest

from morello.machine import AVX2
from morello.search import Solver, Statistics
from morello.search.queries.best_program import parallel_goal
from morello.search.queries.first_program import _Order, _orders
from morello.spec import parse_spec

pytestmark = pytest.mark.quick

SPEC = parse_spec("matmul:64x64x64:f32", AVX2.limits)


def test_one_thread_changes_nothing() -> None:
    assert parallel_goal(SPEC, AVX2, 1) == (SPEC, AVX2)
    goal, target = parallel_goal(SPEC, AVX2, 4)
    assert goal == dataclasses.replace(SPEC, serial=False)
    assert target == dataclasses.replace(AVX2, threads=4)


def test_orders_of_first_programs() -> None:
    serial = [(order.small, order.step) for order in _orders(SPEC)]
    assert serial == [(True, 6), (False, 6), (False, 2)]
    goal, _ = parallel_goal(SPEC, AVX2, 4)
    shared = [(o.shares, o.small, o.step) for o in _orders(goal)]
    assert shared == [
        (is_shared, *order) for order in serial for is_shared in (False, True)
    ]


def test_tiles_of_an_order_are_powers_of_two_a_few_apart() -> None:
    axis = (1, 2, 3, 4, 8, 16, 32, 64, 100)
    assert _Order(False, True, 6).tiles(axis, 100) == (1, 64, 100)
    assert _Order(False, True, 6).tiles(axis, 64) == (1, 64)
    assert _Order(False, False, 2).tiles(axis, 100) == (1, 4, 16, 64, 100)
    assert _Order(False, False, 2).tiles(axis, 3) == (1, 3)


def test_within_a_table_who_watches_is_told_now_and_then() -> None:
    told: list[Statistics] = []
    run = Solver(AVX2, watch=told.append).run_of(SPEC)
    run._told = time.perf_counter() + 100
    run.pause()
    assert not told
    run._told = time.perf_counter() - 1
    run.pause()
    run._told += 100
    run.pause()
    assert len(told) == 1
