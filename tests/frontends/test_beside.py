"""The searches of a model in several processes: the same programs as in one."""

import os
import pickle
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello
from morello.compiler.driver import Driver
from morello.compiler.searches import Searches
from morello.errors import CompileError
from morello.frontends.grouping import beside
from morello.frontends.grouping.beside import Order, search_beside
from morello.frontends.model import Model
from morello.machine import find_target
from morello.search.queries.best_program import known_programs
from morello.search.storage.overlay import open_database
from morello.spec import OpenSpec, parse_open_spec, parse_spec

AVX2 = find_target("avx2")


def goals(*texts: str) -> list[OpenSpec]:
    return [parse_open_spec(text, AVX2.limits) for text in texts]


def model(size: int) -> Model:
    """Two products; no other test has a prime like ``size``."""
    x, w, v = f"tensor<4x{size}xf32>", f"tensor<{size}x9xf32>", f"tensor<9x{size}xf32>"
    return morello.from_mlir(f"""
        func.func @two(%x: {x}, %w: {w}, %v: {v}) -> (tensor<4x9xf32>, {x}) {{
          %zero = arith.constant 0.0 : f32
          %some = tensor.empty() : tensor<4x9xf32>
          %many = tensor.empty() : {x}
          %0 = linalg.fill ins(%zero : f32) outs(%some : tensor<4x9xf32>)
            -> tensor<4x9xf32>
          %1 = linalg.fill ins(%zero : f32) outs(%many : {x}) -> {x}
          %y = linalg.matmul ins(%x, %w : {x}, {w}) outs(%0 : tensor<4x9xf32>)
            -> tensor<4x9xf32>
          %z = linalg.matmul ins(%y, %v : tensor<4x9xf32>, {v}) outs(%1 : {x}) -> {x}
          return %y, %z : tensor<4x9xf32>, {x}
        }}
    """)


@pytest.mark.sampled(3)
def test_programs_are_those_of_one_process(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    told: list[str] = []
    one = model(83)
    kernel = one.compile(
        target="avx2", threads=1, db=path, jobs=2, progress=told.append
    )
    assert [text.partition(":")[0] for text in told] == ["1 of 2", "2 of 2"]
    told.clear()
    again = one.compile(target="avx2", threads=1, db=path, jobs=2, progress=told.append)
    alone = one.compile(target="avx2", threads=1, db="none", jobs=1)
    assert kernel.schedule == again.schedule == alone.schedule
    fresh = open_database(path)
    assert fresh is not None
    assert fresh.top is not None
    assert len(fresh.top.programs()) >= 2
    rng = np.random.default_rng(0)
    x, w, v = (rng.integers(-3, 4, p.shape).astype("f4") for p in one.parameters[:3])
    y, z = kernel(x, w, v)
    np.testing.assert_array_equal(y, x @ w)
    np.testing.assert_array_equal(z, x @ w @ v)


@pytest.mark.sampled(2)
def test_what_another_process_solved_is_remembered_here() -> None:
    wanted = dict.fromkeys(goals("matmul:5x89x7:f32", "softmax:5x89:f32"), False)
    driver = Driver(AVX2, 1, Searches("none", None))
    told: list[tuple[OpenSpec, int, int]] = []
    answers = search_beside(wanted, driver, 2, lambda *what: told.append(what))
    assert answers.keys() == wanted.keys()
    assert {(number, total) for _, number, total in told} == {(1, 2), (2, 2)}
    known = {spec for spec, _, _ in known_programs()}
    assert {goal.spec for goal in wanted} <= known
    assert search_beside(wanted, driver, 2, _never) == {}
    for goal, answer in answers.items():
        assert answer.program is not None
        alone = Searches("none", None).settle(goal, AVX2)
        assert (alone[0], alone[1].impl) == (answer.program[0], answer.program[1].impl)


def _never(goal: OpenSpec, number: int, total: int) -> None:
    raise AssertionError(goal)


@pytest.mark.sampled(2)
def test_a_goal_whose_process_dies_has_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted = dict.fromkeys(goals("matmul:5x97x7:f32", "softmax:5x97:f32"), False)
    monkeypatch.setattr(beside, "_searched", _killed)
    driver = Driver(AVX2, 1, Searches("none", None))
    assert search_beside(wanted, driver, 2, lambda *what: None) == {}


def _killed(search: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_largest_first_and_families_stay_together() -> None:
    order = Order(
        goals(
            "matmul:8x8x8:f32",
            "matmul:64x64x64:f32",
            "matmul:32x32x32:f32",
            "softmax:16x16:f32",
            "max:4x4:f32",
        )
    )
    taken = [order.take(place) for place in (0, 1, 1, 1, 0, 0)]
    assert [None if g is None else g.spec for g in taken] == [
        parse_spec(text, AVX2.limits)
        for text in (
            "matmul:64x64x64:f32",
            "softmax:16x16:f32",
            "max:4x4:f32",
            "matmul:32x32x32:f32",  # of the other's family: nothing else is left
            "matmul:8x8x8:f32",
        )
    ] + [None]


@pytest.mark.parametrize("jobs", [0, -1, True, 1.5, "2", None])
def test_no_number_of_processes_is_refused(jobs: Any) -> None:
    with pytest.raises(CompileError, match=r"'jobs' is .*; give"):
        model(83).compile(target="avx2", threads=1, jobs=jobs)


def test_nothing_is_timed_beside_other_searches() -> None:
    with pytest.raises(CompileError, match="leave one of them out"):
        model(83).compile(target="avx2", threads=1, jobs=2, tune=1.0)


def test_databases_are_opened_again_where_they_are_unpickled(tmp_path: Path) -> None:
    paths = tmp_path / "top.sqlite", tmp_path / "below.sqlite"
    assert open_database(paths[1]) is not None
    both = open_database(f"{paths[0]}:{paths[1]}")
    assert both is not None
    again = pickle.loads(pickle.dumps(both.of_programs()))
    assert again.top.path == paths[0]
    assert again.top.is_writable
    assert [d.path for d in again.readable] == [*paths]
    assert not again.readable[1].is_writable
    assert not again.keeps_tables
