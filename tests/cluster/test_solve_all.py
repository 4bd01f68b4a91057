"""`morello.solve_all`: what is found, in which order, and what survives a worker."""

import contextlib
import dataclasses
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from pathlib import Path
from typing import Any

import pytest

import morello
from morello.cluster.job import Answer, Job, Solved, perform
from morello.cluster.solve_all import TRIES, ClusterError
from morello.errors import MorelloError
from morello.machine import AVX2
from morello.tools.morello import main

pytestmark = pytest.mark.quick

SPECS = ("max:12x9:f32", "max:7x5:f32", "max:12x8:f32", "fill:8:f32")


class Scripted(Executor):
    """One worker in this thread, whose answers a test may spoil."""

    def __init__(self, spoil: Callable[[Job], Exception | None]) -> None:
        self.spoil = spoil
        self.submitted: list[tuple[str, int]] = []
        """Specs, and bytes of what was known then."""

    def submit(
        self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        job, layer = args
        self.submitted.append((job.spec, len(layer)))
        future: Future[Any] = Future()
        error = self.spoil(job)
        if error is None:
            future.set_result(fn(*args, **kwargs))
        else:
            future.set_exception(error)
        return future


def solve(path: Path, executor: Any, *specs: str) -> dict[str, Any]:
    results = morello.solve_all(
        specs or SPECS, executor=executor, db=path, target="avx2", threads=1, workers=1
    )
    return {solved.spec: solved for solved in results}


def test_what_is_found_is_what_compile_finds(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    specs = (*SPECS, "matmul:1x8x16:f32:rhs=any", SPECS[0])
    with ThreadPoolExecutor(1) as pool:
        by_spec = solve(path, pool, *specs)
        assert set(by_spec) == set(specs)
        assert any(solved.specs for solved in by_spec.values())  # others read tables
        for text, solved in by_spec.items():
            assert not solved.error
            kernel = morello.compile(text, target="avx2", threads=1, db=path)
            assert kernel.solution is not None
            assert kernel.solution.statistics.specs == 0
            assert kernel.cost() == solved.cost
        again = solve(path, pool, *specs)
    assert {text: s.cost for text, s in again.items()} == {
        text: s.cost for text, s in by_spec.items()
    }
    assert not any(solved.specs for solved in again.values())
    assert main(["db", "verify", "--db", str(path)]) == 0


def test_the_rest_of_a_family_starts_from_the_tables_of_its_largest(
    tmp_path: Path,
) -> None:
    executor = Scripted(lambda job: None)
    solved = solve(tmp_path / "x.sqlite", executor)
    assert [spec for spec, _ in executor.submitted] == [
        "max:12x9:f32",
        "fill:8:f32",
        "max:12x8:f32",
        "max:7x5:f32",
    ]
    known = [size for _, size in executor.submitted]
    assert known[0] == known[1] < known[2] == known[3]
    alone = perform(Job.of("max:12x8:f32", AVX2, 1))
    assert 0 < solved["max:12x8:f32"].specs < alone.solved.specs


def test_a_lost_job_runs_again_and_others_stay(tmp_path: Path) -> None:
    lost = iter([CancelledError(), CancelledError()])

    def spoil(job: Job) -> Exception | None:
        return next(lost, None) if job.spec == "max:12x8:f32" else None

    executor = Scripted(spoil)
    by_spec = solve(tmp_path / "x.sqlite", executor)
    assert not any(solved.error for solved in by_spec.values())
    assert [spec for spec, _ in executor.submitted].count("max:12x8:f32") == 3


@pytest.mark.parametrize(
    ("error", "tries"),
    [(CancelledError(), TRIES), (BrokenExecutor("dead"), 1), (ValueError("odd"), 1)],
)
def test_a_job_that_is_lost_for_good_fails_alone(
    tmp_path: Path, error: Exception, tries: int
) -> None:
    executor = Scripted(lambda job: error if job.spec == "max:12x8:f32" else None)
    by_spec = solve(tmp_path / "x.sqlite", executor)
    assert [spec for spec, _ in executor.submitted].count("max:12x8:f32") == tries
    assert by_spec.pop("max:12x8:f32").error.startswith(
        f"its worker failed: {type(error).__name__}"
    )
    assert len(by_spec) == 3
    assert not any(solved.error for solved in by_spec.values())


def test_a_worker_with_another_morello_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(job: Job, layer: bytes) -> Answer:
        done = dataclasses.replace(job, source="0.1 abc")
        return perform(done if job.spec.startswith("fill") else job, layer)

    monkeypatch.setattr("morello.cluster.solve_all.perform", other)
    with pytest.raises(ClusterError, match=r"a worker is refused: .*0\.1 abc"):
        solve(tmp_path / "x.sqlite", Scripted(lambda job: None))
    kernel = morello.compile(
        SPECS[0], target="avx2", threads=1, db=tmp_path / "x.sqlite"
    )
    assert kernel.solution is not None
    assert kernel.solution.statistics.specs == 0  # what came is stored


# Tests before it, which end all children of this process, end Python's tracker, too.
@pytest.mark.filterwarnings("ignore:resource_tracker. process died:UserWarning")
def test_a_process_that_dies_loses_nothing(tmp_path: Path) -> None:
    pools: list[ProcessPoolExecutor] = []

    def make() -> ProcessPoolExecutor:
        spawn = multiprocessing.get_context("spawn")
        pools.append(ProcessPoolExecutor(1, mp_context=spawn))
        if len(pools) == 1:
            threading.Thread(target=_kill_its_process, args=(pools[0],)).start()
        return pools[-1]

    by_spec = solve(tmp_path / "x.sqlite", make, "max:12x8:f32", "max:7x5:f32")
    assert len(pools) == 2
    assert set(by_spec) == {"max:7x5:f32", "max:12x8:f32"}
    assert not any(solved.error for solved in by_spec.values())


def test_a_pool_that_cannot_be_made_again_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    spawn = multiprocessing.get_context("spawn")
    came: list[str] = []

    def take(results: Iterable[Solved]) -> None:
        for solved in results:
            if not came:
                _kill_its_process(pool)
                with contextlib.suppress(BrokenExecutor):
                    while True:  # until the pool has seen it
                        pool.submit(int).result(10)
            came.append(solved.error)

    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        results = morello.solve_all(
            ("max:12x8:f32", "max:7x5:f32", "fill:9:f32", "fill:8:f32"),
            executor=pool,
            db=path,
            target="avx2",
            threads=1,
            workers=1,
        )
        with pytest.raises(ClusterError, match=r"broken: .*give a function that makes"):
            take(results)
    assert came[0] == ""
    assert all("BrokenProcessPool" in error for error in came[1:])
    with ThreadPoolExecutor(1) as threads:
        again = solve(path, threads, "max:12x8:f32")
    assert again["max:12x8:f32"].specs == 0  # what came is stored


def _kill_its_process(pool: ProcessPoolExecutor) -> None:
    """Kill the process of a pool as soon as it has one: it imports Morello then."""
    while not pool._processes:
        time.sleep(0.01)
    for number in list(pool._processes):
        os.kill(number, signal.SIGKILL)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"db": "none"}, "no database that can be written"),
        ({"specs": ["matmul:0x1x1:f32"]}, "size 0"),
        ({"target": "vax"}, "unknown target 'vax'"),
        ({"threads": 0}, "0"),
        ({"specs": "fill:8:f32"}, "'specs' is one text"),
        ({"specs": ["fill:8:f32", None]}, "None is not the text of a Spec"),
        ({"executor": None}, "'executor' is None"),
        ({"executor": 4}, "'executor' is 4"),
        ({"workers": 0}, "'workers' is 0"),
        ({"workers": "2"}, "'workers' is '2'"),
        ({"workers": True}, "'workers' is True"),
    ],
)
def test_refusals(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    executor = Scripted(lambda job: None)
    options = {"specs": SPECS, "db": tmp_path / "x.sqlite", "executor": executor}
    with pytest.raises(MorelloError, match=message):
        morello.solve_all(**{**options, **changes})
    assert not executor.submitted


def test_an_executor_that_is_closed_is_one_sentence(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        pass
    with pytest.raises(ClusterError, match="the executor takes no jobs"):
        solve(tmp_path / "x.sqlite", pool)
    with pytest.raises(MorelloError, match="'executor' makes 4"):
        solve(tmp_path / "x.sqlite", lambda: 4)
