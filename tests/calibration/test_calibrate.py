"""``morello calibrate``: what it prints, the file that it leaves, what it refuses."""

import dataclasses
import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import morello
from morello.calibration import calibrate as module
from morello.calibration import draw
from morello.calibration.draw import Plan
from morello.calibration.probes import bounds, configure, probe, probes, written
from morello.calibration.reprice import Ledger
from morello.calibration.specs import ALL, specs
from morello.calibration.specs import QUICK as QUICK_SPECS
from morello.calibration.timing import Program, Stopwatch, Time
from morello.learned.ledger import FITTED, with_costs
from morello.machine import AVX2, TARGETS, find_target, print_target
from morello.machine.digests import COST_MODEL, digests_of
from morello.machine.isa import Isa, Op
from morello.runtime.engine import compile_object
from morello.search import Impl, Solver
from morello.spec import Spec, parse_spec
from morello.tools.morello import main
from tests.kernels.harness import features_text, skip_where_it_cannot_run
from tests.kernels.tiles import Tiles
from tests.tool import Tool

Capture = pytest.CaptureFixture[str]
QUICK = ["calibrate", "--quick", "--programs", "2", "--seconds", "0.005"]
TRUTH = find_target("avx2{scalar=250,shuffle=1400,vector_op=1800}")
ISAS = {target.isa.name: target.isa for target in TARGETS.values()}
NEAR = "lhs=[0,1,2]@L1:rhs=[0,1,2]@L1:out=[0,1,2]@L1"


def times_of_truth(spec: Spec, impls: Sequence[Impl], *rest: object) -> list[float]:
    """What programs take on a machine that is as `TRUTH` says."""
    if not impls:
        return []
    return [cost / 1000 for cost in Ledger(impls, AVX2).costs(TRUTH)]


@pytest.mark.sampled(5)
def test_a_file_that_is_read_back(tmp_path: Path, tool: Tool) -> None:
    path = tmp_path / "here.target"
    out, err = tool(*QUICK, "-o", str(path))
    assert err == ""
    assert out.startswith("millicycles")
    assert "fork                         8000000   8000000  no program pays" in out
    assert "median relative error" in out
    text = path.read_text()
    for word in ("written by: morello calibrate --quick", "date: 2", "machine: "):
        assert f"# {word}" in text
    target = find_target(f"@{path}")
    costs, _, record = text.partition("measured{")
    whole = print_target(dataclasses.replace(target, stale=()), whole=True)
    assert costs.endswith(whole.replace(",", ",\n ") + "\n")
    assert record.count("=") == 1 + len(target.kernels)
    assert not {COST_MODEL, *target.kernels} & {*target.stale}
    assert "# round 1: regret of 4 choices" in text
    assert text.count(", kept\n") == 1
    assert morello.compile("fill:7", target=f"@{path}").target == target
    assert print_target(target) in tool.out(
        "emit", "fill:7", "--stage", "spec", "--target", f"@{path}"
    )


@pytest.mark.sampled(2)
def test_the_file_on_the_standard_output(tmp_path: Path, tool: Tool) -> None:
    out = tool.out(*QUICK, "--rounds", "0", "-o", "-")
    assert out.startswith("# written by: morello calibrate")
    path = tmp_path / "here.target"
    path.write_text(out)
    assert find_target(f"@{path}").name == "avx2"


def test_targets_whose_kernels_have_changed_are_listed(
    tmp_path: Path, capsys: Capture, tool: Tool
) -> None:
    path = tmp_path / "here.target"
    rows = ",".join(f"{n}={d}" for n, d in digests_of(AVX2.kernels).items())
    path.write_text(f"avx2{{fork=1}}measured{{{rows}}}")
    lines = dict(
        line.split(maxsplit=1)
        for line in tool.out("calibrate", "--list", "--target", f"@{path}").splitlines()
    )
    assert set(lines) == set(TARGETS)
    assert lines["avx2"] == "current"
    path.write_text(f"avx2{{fork=1}}measured{{{rows.replace('load=', 'store_=')}}}")
    assert main(["calibrate", "--list", "--target", f"@{path}"]) == 0
    count = 1 + len(AVX2.kernels)
    assert f"avx2              1 of {count} prices are stale: load\n" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "vax"], "argument --target: unknown target 'vax'"),
        (["--target", "@/nowhere"], "argument --target: the target file '/nowhere'"),
        (["-o", "/nowhere/here.target"], "its directory does not exist"),
        (["--programs", "0"], "'0' is not an integer from 1 up"),
        (["--seconds", "0"], "'0' is not a number of seconds"),
        (["--rounds", "-1"], "'-1' is not an integer from 0 up"),
        (["--jobs", "0"], "'0' is not an integer from 1 up"),
    ],
)
def test_refusals(arguments: list[str], message: str, tool: Tool) -> None:
    out, err = tool("calibrate", "--quick", *arguments, code=2)
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


def test_every_spec_of_a_calibration_can_be_read() -> None:
    every = specs(ALL, AVX2)
    assert len(set(every)) == len(ALL) >= 20
    assert {spec.kind.label for spec in every} >= {"matmul", "move", "max"}


@pytest.mark.sampled(2)
def test_what_is_drawn_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    time = Time(1e-7, 100, True)
    monkeypatch.setattr(Stopwatch, "times", lambda _, spec, codes: [time] * len(codes))
    told: list[str] = []
    goals = specs(("fill:1000:f32", "max:20x17:f32"), AVX2)
    calibration = module.calibrate(goals, AVX2, Plan(4, rounds=2), told.append)
    assert {round(m.cycles) for m in calibration.measured} == {100}
    assert {m.impl.spec for m in calibration.measured} == set(goals)
    assert told.count("fitting") == len(calibration.trials) - 1 <= 2
    assert all(trial.regrets == (1, 1) for trial in calibration.trials)
    assert calibration.chosen == 0  # nothing chose better than what was there
    assert any("max:20x17:f32" in line for line in told)


def test_what_no_program_pays_for_costs_what_it_does_alone() -> None:
    """A chain waits a little longer than alone for its port."""
    probed = {"dot": 491.6, "dot_latency": 3950.0, "fma": 480.0}
    target = module.as_probed(AVX2, probed, seen=("fma", "loop"))
    changed = {"dot": 492, "dot_latency": 4345}
    assert target == with_costs(AVX2, changed)
    overlapped = AVX2.coefficients.line_mem_overlapped
    turned = module.as_probed(AVX2, {"line_l2": 2.0 * overlapped}, seen=())
    assert AVX2.coefficients.line_l2 < turned.coefficients.line_l2
    assert turned.coefficients.line_l2 <= turned.coefficients.line_mem_overlapped


def test_a_machine_that_slows_down_makes_no_choice_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Choices of later rounds are timed beside the fastest of the first."""
    (goal,) = specs(("max:33x17:f32:x0=[1,0]@L1:v0=[0]@L1",), AVX2)
    first = draw.draw(goal, AVX2, Plan(6))
    known = {str(impl): (impl, 100.0) for impl in first[1:]}
    monkeypatch.setattr(
        draw, "cycles_of_all", lambda _, some, *rest: [130.0] * len(some)
    )
    drawn = draw._drawn(draw._Task(goal, AVX2, Plan(6), known, later=True))
    assert drawn.times
    assert all(time == pytest.approx(100) for _, time in drawn.times)


@pytest.mark.sampled(5)
def test_wrong_choices_are_unlearnt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "cycles_of_all", times_of_truth)
    monkeypatch.setattr(module, "probe", lambda watch, isa: {})
    texts = (
        f"matmul_accum:7x40x17:f32:{NEAR}",
        "move:16x24:f32:src=[0,1]@L1:dst=[1,0]@L1",
        "max:17x33:f32:x0=[1,0]@L1:v0=[0]@L1",
    )
    goals = specs(texts, AVX2)
    calibration = module.calibrate(goals, AVX2, Plan(6, rounds=4), lambda line: None)
    before, after = calibration.trials[0], calibration.trials[calibration.chosen]
    assert before.mean > 1.1
    assert after.mean < 1.01
    assert calibration.fit.after == after.target
    best = [Solver(TRUTH).solve(goal).impl.cost for goal in goals]
    chosen = [Solver(after.target).solve(goal).impl for goal in goals]
    for least, impl in zip(best, chosen, strict=True):
        assert Ledger([impl], AVX2).costs(TRUTH)[0] < 1.1 * least
    assert max(m.weight for m in calibration.measured) > 1


@pytest.mark.sampled(2)
def test_what_is_timed_already_is_not_timed_again() -> None:
    goals = specs(QUICK_SPECS[:2], AVX2)
    plan = Plan(3, seconds=0.002)
    (one, two) = draw.in_turns(goals, AVX2, plan, None, lambda line: None)
    assert one.choice == str(Solver(AVX2).solve(goals[0]).impl)
    assert one.choice in {str(impl) for impl, _ in one.times}
    known = {
        drawn.spec: {str(impl): (impl, time) for impl, time in drawn.times}
        for drawn in (one, two)
    }
    for again in draw.in_turns(goals, AVX2, plan, known, lambda line: None):
        assert not {str(impl) for impl, _ in again.times} & known[again.spec].keys()
        assert again.choice in known[again.spec]


@pytest.mark.sampled(5)
def test_processes_draw_what_one_does() -> None:
    goals = specs(QUICK_SPECS, AVX2)
    plans = Plan(2, seconds=0.002), Plan(2, seconds=0.002, jobs=2)
    one, two = (
        list(draw.in_turns(goals, AVX2, plan, None, lambda line: None))
        for plan in plans
    )
    for here, there in zip(one, two, strict=True):
        assert (here.spec, here.choice) == (there.spec, there.choice)
        assert [i for i, _ in here.times] == [i for i, _ in there.times]
        assert all(cycles > 0 for _, cycles in there.times)


@pytest.mark.parametrize("isa", ISAS.values(), ids=list(ISAS))
def test_instructions_are_probed_and_bound_their_coefficients(isa: Isa) -> None:
    skip_where_it_cannot_run(isa)
    probed = probe(Stopwatch(0.01), isa)
    assert set(probed) == {p.coefficient for p in probes(isa)} <= set(FITTED)
    # At most four a cycle; a result is not there before the next cycle begins.
    vectors = [c for name, c in probed.items() if not name.startswith("tile_")]
    assert all(200 < cost < 20000 for cost in vectors)
    assert probed["fma_latency"] > 2 * probed["fma"]
    assert probed["line_l2"] > probed["load"]
    within = bounds(AVX2, probed)
    assert set(within) == set(FITTED)
    low, high = within["load"]
    assert low < probed["load"] < high
    loop = AVX2.coefficients.loop
    assert within["loop"] == (round(loop / 5), 5 * loop)


def test_probes_of_tiles_configure_them_and_release_them() -> None:
    """Compares assembly: no CPU of the tests need have them."""
    (isa,) = (isa for isa in ISAS.values() if isa.has(Op.TILE_DOT_U8S8))
    of_tiles = [p for p in probes(isa) if p.needs is Op.TILE_DOT_U8S8]
    costs = [p.coefficient for p in of_tiles]
    assert costs == ["tile_dot", "tile_dot_latency", "tile_config"]
    text = "\n".join(written(p, isa) for p in of_tiles)
    code = compile_object(text, cpu=isa.cpu, features=features_text(isa)).assembly()
    products = ["ldtilecfg", *["tdpbusd"] * 4, "tilerelease"]
    wanted = products, products, [*["ldtilecfg"] * 4, "tilerelease"]
    for one, words in zip(code.split(".globl")[1:], wanted, strict=True):
        assert re.findall("ldtilecfg|tdpbusd|tilerelease", one) == words
    memory = np.zeros(64, np.uint8)
    configure(memory)
    tiles = Tiles()
    tiles.configure(memory.ctypes.data)
    assert tiles.shapes == [(16, 64)] * 8


def test_a_program_twice_as_long_takes_twice_as_long() -> None:
    watch = Stopwatch(0.02)
    programs = []
    for size in (2000, 4000):
        spec = parse_spec(f"fill:{size}:f32:out=[0]@L1", AVX2.limits)
        programs.append((spec, Program(spec, Solver(AVX2).solve(spec).impl, AVX2)))
    # What else runs on the core takes stores, too: some minutes are no use.
    for _ in range(10):
        short, long = (
            min(watch.time(spec, program).cycles for _ in range(3))
            for spec, program in programs
        )
        # One store of 8 elements a cycle at best; two on some.
        if 2000 / 8 / 2 * 0.8 < short < 2000 and 1.4 < long / short < 2.8:
            return
    pytest.fail(f"{short:.0f} and {long:.0f} cycles")


def _end(task: object) -> None:
    """Be ended as by a system that has no memory left."""
    os._exit(9)


@pytest.mark.sampled(2)
def test_a_process_that_is_ended_is_an_error(
    tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draw, "_drawn_or_refused", _end)
    err = tool.err(*QUICK, "--jobs", "2")
    assert "its process ended with exit code 9; give fewer --jobs" in err


def test_the_worst_choice_is_named() -> None:
    specs = tuple(parse_spec(f"matmul:{n}x8x8:f32", AVX2.limits) for n in (4, 5, 6))
    assert module.Trial(AVX2, specs, (1.0, 1.5, 1.2)).worst == (1.5, specs[1])
