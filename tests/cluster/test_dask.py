"""Searching and tuning on a Dask scheduler: two workers, one of which is killed."""

import os
import re
import signal
import subprocess
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

import morello
from morello.cluster.dask import DaskExecutor, refuse_others
from morello.cluster.fingerprint import source_fingerprint
from morello.cluster.solve_all import ClusterError
from morello.machine.host import processor_name
from morello.tools.morello import main
from tests.tool import Tool

pytestmark = pytest.mark.quick

Capture = pytest.CaptureFixture[str]


def test_without_dask_there_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: Tool
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    arguments = ["precompute", "fill:4", "--db", str(tmp_path / "x.sqlite")]
    err = tool.err(*arguments, "--scheduler", "tcp://127.0.0.1:1")
    assert "Dask cannot be imported" in err
    assert "pip install 'morello[dask]'" in err


@pytest.mark.parametrize(
    ("fingerprints", "message"),
    [
        (
            {"tcp://a": source_fingerprint(), "tcp://b": "0.1 abc"},
            r"1 of 2 workers are refused: tcp://b has Morello 0\.1 abc, and this",
        ),
        (
            {"tcp://a": ModuleNotFoundError("No module named 'morello'")},
            r"1 of 1 workers are refused: tcp://a has no such Morello \(No module",
        ),
    ],
)
def test_workers_with_another_morello_are_refused(
    fingerprints: dict[str, object], message: str
) -> None:
    with pytest.raises(ClusterError, match=message):
        refuse_others(fingerprints)


def test_workers_with_the_same_morello_are_not() -> None:
    refuse_others({"tcp://a": source_fingerprint()})


CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=None
    ) as cluster:
        pids = [worker.pid for worker in cluster.workers.values()]
        print(cluster.scheduler_address, *pids, flush=True)
        sys.stdin.readline()
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Two workers in processes of a process; its first line says where."""
    pytest.importorskip(
        "distributed", reason="Dask is not installed: pip install -e '.[test-dask]'"
    )
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    running = subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    try:
        yield running
    finally:
        running.communicate("\n", timeout=60)


@pytest.mark.sampled(5)
def test_a_killed_worker_loses_nothing(
    tmp_path: Path, cluster: "subprocess.Popen[str]", capsys: Capture, tool: Tool
) -> None:
    path = tmp_path / "x.sqlite"
    arguments = ["precompute", "matmul:{8,12}x{8,16}x16:f32", "--db", str(path)]
    assert cluster.stdout is not None
    address, victim, _ = cluster.stdout.readline().split()
    killer = threading.Timer(0.7, os.kill, (int(victim), signal.SIGKILL))
    killer.start()
    code = main([*arguments, "--threads", "1", "--scheduler", address])
    killer.join()
    out, err = capsys.readouterr()
    assert code == 0, err
    assert len(re.findall(r"solved in", out)) == 4
    assert "4 solved" in out
    assert "0 failed" in out
    with DaskExecutor(address) as executor:
        assert executor.submit(len, b"12").result(60) == 2
    assert main(["db", "verify", "--db", str(path)]) == 0
    assert "4 were there, 0 failed" in tool.out(
        *arguments, "--threads", "1", "--jobs", "1"
    )


@pytest.mark.sampled(5)
def test_tuning_loses_nothing_with_a_killed_worker(
    tmp_path: Path, cluster: "subprocess.Popen[str]", tool: Tool
) -> None:
    path = tmp_path / "x.sqlite"
    specs = [f"max:{rows}x{columns}:f32" for rows in (6, 7, 8) for columns in (5, 9)]
    assert cluster.stdout is not None
    address, victim, _ = cluster.stdout.readline().split()
    options = {"target": "avx2", "threads": 1, "db": path}
    by_spec = {}
    with DaskExecutor(address) as executor:
        for done in morello.tune_all(specs, executor=executor, seconds=0.2, **options):
            if not by_spec:  # the others are on the workers, or wait there
                os.kill(int(victim), signal.SIGKILL)
            by_spec[done.spec] = done
    assert set(by_spec) == set(specs)
    for text, done in by_spec.items():
        assert not done.error, done.error
        assert sum(row.chosen for row in done.measured) == 1
        assert {row.key.cpu for row in done.measured} == {processor_name()}
        kernel = morello.compile(text, **options)
        assert kernel.solution is not None
        assert kernel.solution.measured == done.measured
    assert main(["db", "verify", "--db", str(path)]) == 0
    words = ["precompute", *specs, "--target", "avx2", "--threads", "1"]
    words += ["--db", str(path), "--tune", "0.2", "--scheduler", address]
    assert len(re.findall("measured: ", tool.out(*words))) == len(specs)
    again = {text: morello.compile(text, **options).solution for text in specs}
    for text, solution in again.items():
        assert solution is not None
        assert solution.measured == by_spec[text].measured


def test_a_scheduler_that_is_gone_is_one_sentence() -> None:
    def gone(*args: object, **named: object) -> None:
        raise OSError("Timed out trying to connect")

    executor = DaskExecutor.__new__(DaskExecutor)
    executor._address = "tcp://here:1"
    executor._client = types.SimpleNamespace(nthreads=gone)
    executor._pool = types.SimpleNamespace(submit=gone)
    for ask in (lambda: executor._max_workers, lambda: executor.submit(print)):
        with pytest.raises(ClusterError, match="tcp://here:1 is gone: Timed out"):
            ask()
