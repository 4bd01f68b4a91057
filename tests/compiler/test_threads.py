"""The number of threads of a kernel: argument, schedule, environment, processors."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello
import morello.machine.processors as module
from morello.compiler.threads import VARIABLE, thread_count
from morello.errors import CompileError, TargetError
from morello.tools.morello import main
from tests.compiler.test_parallel import CHEAP_FORK
from tests.tool import Tool

pytestmark = pytest.mark.quick

SPEC = "fill:64x64"
CHEAP = "avx2{fork=1000}"


def test_the_argument_is_first(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("5", "none of this is read"):
        monkeypatch.setenv(VARIABLE, variable)
        assert thread_count(3) == 3
        assert thread_count(np.int64(3)) == thread_count(np.uint8(3)) == 3
        assert thread_count(3, 'morello.target = "avx2{threads=2}"') == 3


def test_second_is_the_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "5")
    schedule = 'module attributes {morello.target = "%s"} {}'
    assert thread_count(None, schedule % "avx2{fork=7,threads=2}") == 2
    assert thread_count(None, schedule % "avx2") == 1
    assert thread_count(None, "module {}") == 1


def test_third_is_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "7")
    assert thread_count(None) == 7


@pytest.mark.parametrize(
    "text", ["0", "-1", "2.5", "many", " 2", "²", "1e3", "1025", "9" * 5000]
)
def test_an_environment_that_means_nothing(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(CompileError, match=r"MORELLO_THREADS is .*; set it to a whole"):
        thread_count(None)


@pytest.mark.parametrize("text", [None, ""])
def test_last_is_the_affinity(
    text: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if text is None:
        monkeypatch.delenv(VARIABLE)
    else:
        monkeypatch.setenv(VARIABLE, text)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5, 6})
    assert thread_count(None) == 3


@pytest.mark.parametrize("variable", ["OMP_NUM_THREADS", "OMP_THREAD_LIMIT"])
@pytest.mark.parametrize(
    ("text", "count"),
    [("1", 1), (" 2,1 ", 2), ("7", 3), ("0", 1), ("many", 3), ("", 3), ("-1", 3)],
)
def test_openmp_may_allow_fewer(
    variable: str, text: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv(variable, text)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5, 6})
    assert thread_count(None) == count
    assert thread_count(5) == 5
    monkeypatch.setenv(VARIABLE, "4")
    assert thread_count(None) == 4


def test_a_quota_allows_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5, 6})
    for quota, count in ((0.5, 1), (1.0, 1), (1.5, 2), (64.0, 3), (None, 3)):
        monkeypatch.setattr(module, "processor_quota", lambda quota=quota: quota)
        assert thread_count(None) == count


@pytest.mark.parametrize("threads", [0, -1, True, np.True_, 2.0, "2", 1025, 10**9])
def test_an_argument_that_means_nothing(threads: Any) -> None:
    with pytest.raises(CompileError, match=r"'threads' is .*; give an integer of at"):
        thread_count(threads)


def test_compile_asks_in_this_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "3")
    three = morello.compile(SPEC, target=CHEAP_FORK)
    two = morello.compile(SPEC, target=CHEAP_FORK, threads=2)
    assert (three.threads, two.threads) == (3, 2)
    for kernel in (three, two):
        again = morello.compile(SPEC, target=CHEAP_FORK, schedule=kernel.schedule)
        assert again.object == kernel.object
        assert again.threads == kernel.threads


def test_the_tools_ask_in_this_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: Tool
) -> None:
    path = str(tmp_path / "two.mlir")
    flags = [SPEC, "--target", CHEAP]
    assert (
        main(["emit", *flags, "--threads", "2", "--stage", "schedule", "-o", path]) == 0
    )
    monkeypatch.setenv(VARIABLE, "3")
    bench = ["bench", *flags, "--seconds", "0.01"]
    for asked, more in (
        ("3 allowed, 3 used", []),
        ("2 allowed, 2 used", ["--threads", "2"]),
        ("2 allowed, 2 used", ["--schedule", path]),
    ):
        assert asked in tool.out(*bench, *more)
    tool("run", *flags, "--schedule", path)
    for stage, mark in (("mlir", "omp.parallel"), ("asm", "__kmpc_fork_call")):
        assert mark in tool.out("emit", *flags, "--schedule", path, "--stage", stage)


def test_text_and_objects_are_serial_unless_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tool: Tool
) -> None:
    """The text of a Spec is the same on every machine; an object needs no library."""
    monkeypatch.setenv(VARIABLE, "3")
    flags = [SPEC, "--target", CHEAP]
    for stage in ("spec", "schedule", "mlir", "asm"):
        text = tool.out("emit", *flags, "--stage", stage)
        assert not [w for w in ("serial = false", "omp", "kmpc") if w in text]
    header = tmp_path / "k.h"
    for more, threads in ((["--threads", "2"], "up to 2 threads"), ([], "the thread")):
        assert main(["save", *flags, *more, "-o", str(header)]) == 0
        assert threads in " ".join(header.read_text().split())


def test_a_spec_is_parallel_if_asked(tool: Tool) -> None:
    assert "serial = false" in tool.out(
        "emit", SPEC, "--stage", "spec", "--threads", "2"
    )


def test_a_target_has_as_few_threads() -> None:
    with pytest.raises(TargetError, match="threads=1025; give a whole number"):
        morello.compile("fill:4x4", target="avx2{threads=1025}")
