"""Contenders in processes: the talk with them, and what may go wrong."""

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.harness.backend import Ready, UnsupportedError
from benchmarks.harness.case import Case, Data
from benchmarks.harness.measure import Field, Plan, joined, load_alone
from benchmarks.harness.process import (
    ROOT,
    Command,
    ContenderError,
    Process,
    last_error,
)
from benchmarks.harness.results import Entry, Row
from benchmarks.harness.session import contenders
from benchmarks.harness.worker import Worker, load_data, save_data, serve
from tests.benchmarks.fake import Fake, FakeReady, FakeRoofs

CASE = Case((2, 3, 4, 5))
QUICK = Plan(seconds=0, sample=2e-6, least=3, loads=2)


def command(mode: str, threads: int = 1) -> Command:
    return Command(
        "tests.benchmarks.fake:Fake",
        threads,
        (("mode", mode),),
        (("FAKE_LIMIT", "AVX2"),),
    )


@pytest.fixture
def started() -> Iterator[dict[str, Process]]:
    processes: dict[str, Process] = {}
    yield processes
    for process in processes.values():
        process.close()


def state(process: Process) -> str:
    """As Linux has it: T is stopped, S waits."""
    stat = Path(f"/proc/{process.pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0]


def test_a_process_has_as_many_cores_as_threads(started: dict[str, Process]) -> None:
    mine = os.sched_getaffinity(0)
    for threads in (1, 2):
        process = started[str(threads)] = Process(command("right", threads))
        assert os.sched_getaffinity(process.pid) == set(sorted(mine)[-threads:])
        assert os.sched_getaffinity(0) == mine


def test_a_process_answers_and_is_stopped_between(started: dict[str, Process]) -> None:
    process = started["a"] = Process(command("right", threads=3))
    answer = process.ask({"do": "open"})
    assert answer == {"version": "1.0, 3 threads", "limit": "AVX2", "confirmed": True}
    assert state(process) == "T"
    assert process.ask({"do": "open"}) == answer


_PARENT = """
import sys, time
from tests.benchmarks.test_processes import command
from benchmarks.harness.process import Process
process = Process(command("right"))
process.ask({"do": "open"})
print(process.pid, flush=True)
time.sleep(60)
"""


def test_a_contender_ends_with_the_command_though_it_is_stopped() -> None:
    words = [sys.executable, "-c", _PARENT]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        stat = Path(f"/proc/{int(parent.stdout.readline())}/stat")
        assert runs(stat)
        parent.kill()
    end = time.monotonic() + 30
    while runs(stat) and time.monotonic() < end:
        time.sleep(0.05)
    assert not runs(stat)


def runs(stat: Path) -> bool:
    """Whether a process is there, and not merely waiting to be forgotten."""
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_missing_contender_says_why(started: dict[str, Process]) -> None:
    process = started["a"] = Process(command("missing"))
    assert process.ask({"do": "open"}) == {"missing": "it was never installed"}


def test_a_process_that_ends_says_how(started: dict[str, Process]) -> None:
    process = started["a"] = Process(command("die"))
    with pytest.raises(ContenderError, match="exit code 1: no such instruction"):
        process.ask({"do": "open"})


def test_the_line_that_names_the_error_is_told() -> None:
    text = "Traceback:\n  File x\nTypeError: no such call:\n    1. f(x)\n\nInvoked so\n"
    assert last_error(text) == "TypeError: no such call:"
    assert last_error("libx: Aborting.\n\n") == "libx: Aborting."
    assert last_error("") == ""


def test_who_has_ended_is_started_again(started: dict[str, Process]) -> None:
    with contenders({"a": command("die late"), "b": command("missing")}) as field:
        started.update(field.running)
        assert [c.missing for c in field.about] == ["", "it was never installed"]
        first = field.running["a"]
        field.revive()
        assert field.running["a"] is first
        with pytest.raises(ContenderError):
            load_case(first)
        assert first.is_over
        field.revive()
        assert not field.running["a"].is_over
        assert load_alone("a", field.running["a"], CASE).status == "ok"


def load_case(process: Process) -> None:
    assert load_alone("a", process, CASE).status == "ok"
    for _ in range(9):
        process.ask({"do": "sample", "seconds": 1e-5})


def test_a_process_that_hangs_is_given_up(started: dict[str, Process]) -> None:
    process = started["a"] = Process(command("hang"))
    with pytest.raises(ContenderError, match="no answer within"):
        process.ask({"do": "open"}, timeout=1.5)
    with pytest.raises(ContenderError):
        process.ask({"do": "open"}, timeout=1.5)


def measured(modes: list[str], started: dict[str, Process]) -> Row:
    started.update({mode: Process(command(mode)) for mode in modes})
    for process in started.values():
        process.ask({"do": "open"})
    field = Field(started, FakeRoofs(), 1, QUICK)
    return field.measure(CASE, {"command": "", "commit": "", "date": ""})


def test_everybody_is_measured_whatever_becomes_of_others(
    started: dict[str, Process],
) -> None:
    modes = ["right", "wrong", "unsupported", "drift", "die late", "bf16", "python"]
    table_row = measured(modes, started)
    status = {e.name: e.status for e in table_row.entries}
    assert status == {
        "right": "ok",
        "wrong": "wrong",
        "unsupported": "unsupported",
        "drift": "wrong",
        "die late": "failed",
        "bf16": "ok",
        "python": "ok",
    }
    details = {e.name: e.detail for e in table_row.entries}
    assert details["wrong"].startswith(
        "1 of 30 elements differ, the first at (0, 2, 4)"
    )
    assert details["drift"].startswith("after many calls: ")
    assert "SIGABRT" in details["die late"]
    entries = {e.name: e for e in table_row.entries if e.samples}
    assert list(entries) == ["right", "bf16", "python"]
    assert all(len(e.samples) == 4 and e.calls > 0 for e in entries.values())
    assert entries["bf16"].out_dtype == "bf16"
    assert entries["python"].in_python
    best = table_row.best_other("right")
    assert best is not None
    assert best.name == "python"


def test_samples_of_all_loads_are_kept_and_a_failure_is() -> None:
    one, two = (Entry("a", "ok", samples=(s,), calls=2) for s in (1.0, 3.0))
    bad = Entry("a", "wrong", "by one")
    assert joined(None, one) == one
    assert joined(one, two).samples == (1.0, 3.0)
    assert joined(bad, one) == joined(one, bad) == bad


def test_getting_ready_alone(started: dict[str, Process]) -> None:
    process = started["a"] = Process(command("right"))
    process.ask({"do": "open"})
    assert load_alone("a", process, CASE).detail == "made up"


def test_requests_and_answers_are_lines_of_json(tmp_path: Path) -> None:
    save_data(Data.make(CASE), tmp_path)
    assert (load_data(tmp_path).answer == Data.make(CASE).answer).all()
    load = {"do": "load", "folder": str(tmp_path), "case": CASE.text}
    requests = [load, {"do": "sample", "seconds": 1e-6}, {"do": "check"}]
    lines = io.StringIO("".join(json.dumps(r) + "\n" for r in requests))
    out = io.StringIO()
    serve(Worker(Fake(1)), lines, out)
    loaded, sample, check = map(json.loads, out.getvalue().splitlines())
    assert loaded["wrong"] == check["wrong"] == ""
    assert loaded["out_dtype"] == "f32"
    assert sample["s"] > 0
    assert sample["calls"] >= 1


class Choosy(Fake):
    """Slow but in one form, which it writes down."""

    def ready(self, case: Case, data: Data) -> Ready:
        """Check that the operand is in the form that was asked for."""
        if case.rhs == "open":
            raise UnsupportedError("it packs nothing")
        b, _, k, n = case.sizes
        assert data.rhs.shape == ((b, n, k) if case.rhs == "column" else (b, k, n))
        ready = FakeReady(case, data, "right")
        ready.pause = {"row": 0.2, "column": 1e-6}[case.rhs]
        return ready


def test_where_the_form_is_open_the_fastest_is_taken(tmp_path: Path) -> None:
    case = Case((2, 3, 4, 5), rhs="open")
    save_data(Data.make(case), tmp_path)
    load = {"do": "load", "folder": str(tmp_path), "case": case.text}
    answer = Worker(Choosy(1)).do(load)
    assert answer["note"] == "column-major, made up"
    assert answer["wrong"] == ""
    assert "no such product" in Worker(Fake(1, "unsupported")).do(load)["unsupported"]


def test_unknown_requests_and_requests_out_of_order() -> None:
    worker = Worker(Fake(1))
    for request in ({"do": "dance"}, {"do": "sample", "seconds": 1}, {"do": "check"}):
        with pytest.raises(ValueError, match="no "):
            worker.do(request)
