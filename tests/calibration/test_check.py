"""``morello calibrate --check``: what programs take, beside what they cost."""

import dataclasses
import random

import pytest

from morello.calibration import check as module
from morello.calibration.check import Timed, check, programs_of, rows
from morello.calibration.sample import Sampler, main_kernel
from morello.calibration.specs import CHECKED, specs
from morello.machine import AVX2, find_target
from morello.spec import parse_spec
from morello.tools.morello import main
from morello.tools.subcommands import calibrate as command
from tests.tool import Tool

Capture = pytest.CaptureFixture[str]
FRESH = dataclasses.replace(AVX2, stale=())
SMALL = ("max:33x17:f32", "fill:1000:f32", "move:16x24:f32")


def test_rows_are_the_kernels_means() -> None:
    timed = [
        [Timed("gemm_rows", 100, 200), Timed("gemm_tile", 100, 100)],
        [Timed("gemm_rows", 100, 50), Timed("gemm_rows", 100, 800)],
        [Timed("load", 100, 300)],
    ]
    target = find_target("avx2{stale=load+store}")
    by_rows, tile, load = sorted(
        rows(timed, target), key=lambda row: ("load" in row.kernel, row.kernel)
    )
    assert (by_rows.kernel, by_rows.programs) == ("gemm_rows", 3)
    assert by_rows.ratio == pytest.approx(2)
    assert by_rows.regret == pytest.approx(2**0.5)
    assert not by_rows.stale
    assert (tile.programs, tile.ratio, tile.regret) == (1, pytest.approx(1), None)
    assert load.stale
    assert load.is_off
    assert not by_rows.is_off or by_rows.ratio > module.FACTOR


@pytest.mark.sampled(2)
def test_programs_have_different_main_kernels() -> None:
    (spec,) = specs(("matmul:24x40x33:f32",), AVX2)
    impls = programs_of(spec, FRESH)
    assert impls[0] == Sampler(spec, FRESH, random.Random(0)).best
    assert main_kernel(impls[0]) != main_kernel(impls[1])
    assert len({str(impl) for impl in impls}) == len(impls) == module.PROGRAMS


def test_what_there_is_no_time_for_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    one = [Timed("fill_rows", 1, 1)]
    monkeypatch.setattr(module, "timed_programs", lambda *rest: one)
    monkeypatch.setattr(module.time, "process_time", iter(range(100)).__next__)
    goals = specs(SMALL, AVX2)
    report = check(goals, AVX2, 4.5, 0.01, lambda text: None)
    assert report.left_out == goals[2:]
    assert [row.programs for row in report.rows] == [2]


PRICES = len(AVX2.kernels) + 1
"""One for each kernel, and those that all share."""


@pytest.mark.parametrize(
    ("target", "took", "code", "words"),
    [
        ("avx2{stale=}", 110, 0, ["fill_rows", "1.10", "avx2              current"]),
        ("avx2{stale=}", 210, 1, ["2.10", "off\n", "prices do not hold here"]),
        ("avx2{stale=}", 40, 1, ["0.40", "off\n", "'morello calibrate -o FILE'"]),
        ("avx2{stale=load}", 110, 1, [f"1 of {PRICES} prices are stale: load"]),
        ("avx2{stale=fill_rows}", 110, 1, ["1.000  stale\n", "do not hold"]),
    ],
)
def test_the_exit_status_says_whether_prices_hold(
    target: str,
    took: float,
    code: int,
    words: list[str],
    tool: Tool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = [Timed("fill_rows", 100, took)]
    monkeypatch.setattr(module, "timed_programs", lambda *rest: one)
    out = tool.out("calibrate", "--check", "--target", target, code=code)
    assert all(word in out for word in words)
    assert ("do not hold" in out) == bool(code)


@pytest.mark.sampled(5)
def test_programs_are_timed_here(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "CHECKED", SMALL)
    code = main(["calibrate", "--check"])
    out = capsys.readouterr().out
    assert code == int("the prices do not hold here" in out)
    lines = out.splitlines()
    assert lines[0].split() == ["kernel", "programs", "measured/predicted", "regret"]
    seen = {line.split()[0]: line.split()[1] for line in lines[1:]}
    assert {"fill_rows", "copy_rows", "reduce_rows"} <= seen.keys()
    assert any(line.startswith("no program timed: gemm_registers") for line in lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--check", "--list"], "--check and --list exclude each other; give one"),
        (["--check", "--from-database"], "--check and --from-database exclude"),
        (["--check", "-o", "t"], "--check calibrates nothing that --output could wri"),
        (["--list", "-o", "-"], "--list calibrates nothing that --output could write"),
    ],
)
def test_refusals(arguments: list[str], message: str, tool: Tool) -> None:
    assert message in tool.err("calibrate", *arguments, code=2)


def test_every_spec_of_a_check_can_be_read() -> None:
    assert len({parse_spec(text, AVX2.limits) for text in CHECKED}) == len(CHECKED)
