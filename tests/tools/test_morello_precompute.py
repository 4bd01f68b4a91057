"""``morello precompute``: families, resuming, Ctrl-C, processes that die."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

import morello
from morello.cluster.job import Solved
from morello.machine import AVX2
from morello.search import best_program
from morello.search.storage.database import Database
from morello.spec import parse_spec
from morello.tools.braces import expand_braces
from morello.tools.input_output import UsageError
from morello.tools.morello import main
from morello.tools.subcommands.db import info
from morello.tools.subcommands.precompute import _progress, _summary, _together
from morello.tools.subcommands.workers import Job, solve, solve_all
from tests.database.small import TEXTS
from tests.tool import Tool

Capture = pytest.CaptureFixture[str]

FAMILY = "fill:{4..20..8}x{5,7}:f32"


def contents(path: Path) -> dict[bytes, tuple[bytes, bytes]]:
    """Every row of a database."""
    database = Database(path, is_writable=False)
    rows = {
        row.key: (row.decisions, row.costs)
        for row, is_whole in database.rows()
        if is_whole
    }
    database.close()
    return rows


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fill:4", ["fill:4"]),
        ("{a, b}{1,2}", ["a1", "a2", "b1", "b2"]),
        ("x{8..10}", ["x8", "x9", "x10"]),
        ("{64..200..64}:f32", ["64:f32", "128:f32", "192:f32"]),
        ("x{5..17..ladder}", ["x6", "x8", "x12", "x16"]),
        ("move:7:src=[0,1]", ["move:7:src=[0,1]"]),
    ],
)
def test_braces(text: str, expected: list[str]) -> None:
    assert list(expand_braces(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "{1,2",
        "1}",
        "{1,{2,3}}",
        "{}",
        "{1,}",
        "{3..1}",
        "{1..9..0}",
        "{5..5..ladder}",
        "{1..99999999}",
        "{1..999}{1..999}",
        "{1,2}" * 15_000,
        "x" * 1_000_000 + "{1..99}",
        f"{{{'1,' * 15_000}}}",
        "{" * 15_000,
    ],
)
def test_braces_that_are_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        expand_braces(text)
    assert len(str(caught.value)) < 1000


@pytest.mark.sampled(5)
def test_a_family_is_solved_and_then_was_there(tmp_path: Path, tool: Tool) -> None:
    paths = [tmp_path / "one.sqlite", tmp_path / "two.sqlite"]
    for jobs, path in enumerate(paths, 1):
        arguments = ["precompute", FAMILY, "fill:4x5", "--jobs", str(jobs)]
        arguments += ["--threads", "2"]
        out = tool.out(*arguments, "--db", str(path))
        assert out.count("solved in") == 6
        assert re.search(
            r"^6 Specs for 2 threads in .*: 6 solved .* 0 were there, 0 failed$",
            out,
            re.M,
        )
    one, two = map(contents, paths)
    both = one.keys() & two.keys()
    assert all(one[key] == two[key] for key in both)
    assert len(both) >= 6
    out = tool.out(*arguments, "--db", str(paths[1]))
    assert out.count("was there") == 6
    assert "0 solved (0 Specs below), 6 were there, 0 failed" in out


@pytest.mark.sampled(3)
def test_parts_make_the_whole(tmp_path: Path, tool: Tool) -> None:
    whole = str(tmp_path / "whole.sqlite")
    words = ["--threads", "1", "--jobs", "1", "--db"]
    solved = []
    for part in ("1/3", "2/3", "3/3"):
        path = str(tmp_path / f"{part[0]}.sqlite")
        out = tool.out("precompute", "fill:{4,5}x8", "--shard", part, *words, path)
        of_part = re.findall(r"^(\S+)  solved", out, re.M)
        noun = "Spec" if len(of_part) == 1 else "Specs"
        assert f"{len(of_part)} {noun} for 1 thread" in out
        solved += of_part
        assert main(["db", "merge", path, "--db", whole]) == 0
    assert solved == ["fill:5x8:f32", "fill:4x8:f32"]
    assert "2 were there, 0 failed" in tool.out(
        "precompute", "fill:{4,5}x8", *words, whole
    )


def test_what_is_searched_together_is_on_one_machine() -> None:
    specs = expand_braces("matmul:{32,8,4}x{16,8}x{24,8}:f32")
    alone = ["matmul:1x16x16:f32:rhs=any", "max:4x8:f32"]
    jobs = _together([*specs, *alone], AVX2)
    assert sorted(spec for job in jobs for spec in job) == sorted([*specs, *alone])
    assert {len(job) for job in jobs} == {1, 6}
    assert jobs[0][0] == specs[0]
    assert [job for job in jobs if set(job) & set(alone)] == [(s,) for s in alone]


def test_lines_say_how_many_of_how_many_and_what_it_costs(
    tmp_path: Path, tool: Tool
) -> None:
    path = str(tmp_path / "x.sqlite")
    lines = tool.out(
        "precompute", "fill:{4,5,6}x8", "--db", path, "--jobs", "1"
    ).splitlines()
    assert [line.rpartition("(")[2] for line in lines[:3]] == [
        "1 of 3)",
        "2 of 3)",
        "3 of 3)",
    ]
    assert re.fullmatch(
        r"fill:6x8:f32  solved in .*, [\d.,]+ cycles = \S+ .?s at 3 GHz \(1 of 3\)",
        lines[0],
    )


def test_what_is_left_is_estimated() -> None:
    assert _progress(3, 12, 60.0) == (
        "3 of 12, 9 left: 60.00 s, at most about 180 s more"
    )


@pytest.mark.sampled(5)
def test_open_layouts_are_solved_and_then_were_there(
    tmp_path: Path, tool: Tool
) -> None:
    path = tmp_path / "x.sqlite"
    arguments = ["precompute", "matmul:1x{8,16}x32:f32:rhs=any", "--db", str(path)]
    out = tool.out(*arguments, "--threads", "1", "--jobs", "1")
    assert re.search(r"^matmul:1x16x32:f32:rhs=any  solved in ", out, re.M)
    out = tool.out(*arguments, "--threads", "1", "--jobs", "1")
    assert out.count("was there, read in") == 2
    kernel = morello.compile("matmul:1x16x32:f32:rhs=any", db=path, threads=1)
    assert kernel.solution is not None
    assert kernel.solution.statistics.specs == 0


@pytest.mark.sampled(3)
def test_programs_alone_are_kilobytes_and_serve_as_well(
    tmp_path: Path, tool: Tool
) -> None:
    path, small = tmp_path / "x.sqlite", tmp_path / "small.sqlite"
    specs = ["matmul:7x9x17:f32", "matmul:1x16x32:f32:rhs=any"]
    words = ["--threads", "1", "--jobs", "1", "--db", str(path)]
    assert main(["precompute", *specs, *words]) == 0
    assert re.search(
        r": 0 tables, \d+ programs, \S+ kB$",
        tool.out("db", "export", str(small), "--db", str(path), "--programs"),
    )
    with_log = sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))
    assert small.stat().st_size < with_log / 10
    for spec in specs:
        kernel = morello.compile(spec, db=f"{tmp_path / 'mine.sqlite'}:{small}")
        assert kernel.solution is not None
        assert kernel.solution.statistics.specs == 0
        assert kernel.object == morello.compile(spec, db=path).object


@pytest.mark.sampled(2)
def test_programs_alone_are_packed_and_read(tmp_path: Path, tool: Tool) -> None:
    path = tmp_path / "x.sqlite"
    words = ["--threads", "1", "--jobs", "1", "--programs", "--db", str(path)]
    assert "6 solved" in tool.out("precompute", FAMILY, *words)
    assert not contents(path)
    assert "0 solved (0 Specs below), 6 were there" in tool.out(
        "precompute", FAMILY, *words
    )
    summary = info(path)
    assert (summary.goals, summary.targets) == ({"fill": 6}, {AVX2.name: 6})
    assert [row["goals"] for row in summary.packed] == [6]


def test_when_the_time_is_over_the_same_command_goes_on(
    tmp_path: Path, tool: Tool
) -> None:
    words = ["--threads", "1", "--jobs", "1", "--db", str(tmp_path / "x.sqlite")]
    slow = "matmul:1000x1500x2000:f32"
    out = tool.out("precompute", slow, "fill:3", "--time-limit", "0.2", *words, code=1)
    assert "0 solved" in out
    assert "the time is over: 2 are left" in out
    assert main(["precompute", "fill:3", "--time-limit", "600", *words]) == 0


@pytest.mark.sampled(2)
def test_threads_are_part_of_what_is_solved(tmp_path: Path, tool: Tool) -> None:
    arguments = ["precompute", "fill:20x5", "--db", str(tmp_path / "x.sqlite")]
    for threads in ("1", "2"):
        assert "1 solved" in tool.out(*arguments, "--threads", threads)


@pytest.mark.sampled(2)
def test_a_spec_without_a_program_fails_alone(tmp_path: Path, tool: Tool) -> None:
    path = str(tmp_path / "x.sqlite")
    specs = ["fill:9", "matmul_accum:2x2x2:bf16,bf16,f32:l2=0:l1=0"]
    out, err = tool("precompute", *specs, "--db", path, code=1)
    assert "1 solved" in out
    assert "1 failed" in out
    assert "no program exists" in err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "no SPEC is given"),
        (["fill:4", "--db", "none"], 2, "there is no database to fill"),
        (["fill:{4"], 2, "braces that do not pair"),
        (["fill:{4,0}"], 1, "size 0"),
        (["fill:4", "--jobs", "0"], 2, "'0' is not an integer from 1 up"),
        (["fill:4", "--target", "vax"], 2, "unknown target 'vax'"),
        (["fill:4", "--shard", "0/2"], 2, "'0/2' is not a part I/N"),
        (["fill:4", "--shard", "3/2"], 2, "'3/2' is not a part I/N"),
        (["fill:4", "--shard", "1"], 2, "'1' is not a part I/N"),
        (
            ["fill:4", "--jobs", "1", "--scheduler", "tcp://a:1"],
            2,
            "--jobs is for processes of this machine, --scheduler for other workers",
        ),
    ],
)
def test_refusals(
    arguments: list[str], code: int, message: str, tmp_path: Path, tool: Tool
) -> None:
    path = tmp_path / "x.sqlite"
    if "--db" not in arguments:
        arguments = [*arguments, "--db", str(path)]
    out, err = tool("precompute", *arguments, code=code)
    assert out == ""
    assert message in err
    assert not path.exists() or not contents(path)


def test_a_database_that_cannot_be_written_is_refused(
    tmp_path: Path, tool: Tool
) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "x.sqlite"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert f"{path} cannot be written" in tool.err(
            "precompute", "fill:4", "--db", str(path)
        )
        done = solve(Job("fill:4", "avx2", 1, str(path)))
    assert done.error == "solved, but the database cannot be written"


@pytest.mark.sampled(2)
def test_a_process_that_dies_fails_its_spec_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "x.sqlite")
    slow = Job("matmul:1000x1500x2000:f32", "avx2", 1, path)
    quick = Job(TEXTS[0], "avx2", 1, path)
    killer = threading.Thread(target=_kill_a_child)
    killer.start()
    results = list(solve_all([slow, quick], 1))
    killer.join()
    assert [done.spec for done in results] == [slow.spec, quick.spec]
    assert results[0].error.startswith("its process ended with SIGKILL (out of memory?")
    assert not results[1].error
    best = best_program(parse_spec(TEXTS[0], AVX2.limits), AVX2).impl
    assert results[1].cost == best.cost


def _kill_a_child() -> None:
    """Kill the process that searches, when there is one."""
    while not _children():
        time.sleep(0.05)
    time.sleep(1)
    for child in _children():
        os.kill(child, signal.SIGKILL)


def _children() -> list[int]:
    tasks = Path("/proc/self/task").glob("*/children")
    return [int(word) for task in tasks for word in task.read_text().split()]


@pytest.mark.sampled(2)
def test_ctrl_c_stops_at_once_and_loses_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "x.sqlite")
    command = [sys.executable, "-m", "morello", "precompute", "max:{30..90}x70:f32"]
    running = subprocess.Popen(
        [*command, "--db", path, "--jobs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert running.stdout is not None
    lines = [running.stdout.readline() for _ in range(3)]
    os.killpg(running.pid, signal.SIGINT)
    start = time.monotonic()
    out, err = running.communicate(timeout=300)
    assert time.monotonic() - start < 20  # at once, but the machine may be busy
    assert running.returncode == 130, err
    assert re.search(r"interrupted after \d+ of 61 Specs; what was solved is", err)
    assert "Traceback" not in err
    solved = [line.split()[0] for line in [*lines, *out.splitlines(True)] if line]
    assert main(["db", "verify", "--db", path]) == 0
    for spec in solved:
        done = solve(Job(spec, "avx2", 1, path))
        assert not done.specs, f"{spec} was not stored"


def test_what_is_solved_but_not_stored_has_failed_alone() -> None:
    lost = Solved("fill:8:f32", 0.1, specs=21, error="the database cannot be written")
    assert "0 solved (21 Specs below), 0 were there, 1 failed" in _summary(
        [lost], 1, 0.1
    )
