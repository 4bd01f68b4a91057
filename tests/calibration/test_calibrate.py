"""``morello calibrate``: what it prints, the file that it leaves, what it refuses."""

from pathlib import Path

import pytest

import morello
from morello.calibration import calibrate as module
from morello.calibration.specs import ALL, specs
from morello.calibration.timing import Stopwatch
from morello.search import Solver
from morello.spec import parse_spec
from morello.targets import AVX2, find_target, print_target
from morello.tools.morello import main

Capture = pytest.CaptureFixture[str]
QUICK = ["calibrate", "--quick", "--programs", "2", "--seconds", "0.005"]


def test_a_file_that_is_read_back(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "here.target"
    assert main([*QUICK, "-o", str(path)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("millicycles")
    assert "fork                         8000000   8000000  no program pays" in out
    assert "median relative error" in out
    text = path.read_text()
    for word in ("written by: morello calibrate --quick", "date: 2", "machine: "):
        assert f"# {word}" in text
    target = find_target(f"@{path}")
    assert text.splitlines()[-1] == print_target(target)
    assert target.coefficients != AVX2.coefficients
    assert morello.compile("fill:7", target=f"@{path}").target == target
    assert main(["emit", "fill:7", "--stage", "spec", "--target", f"@{path}"]) == 0
    assert print_target(target) in capsys.readouterr().out


def test_the_file_on_the_standard_output(capsys: Capture) -> None:
    assert main([*QUICK, "-o", "-"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# written by: morello calibrate")
    assert find_target(out.splitlines()[-1]).name == "avx2"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "vax"], "argument --target: unknown target 'vax'"),
        (["--target", "@/nowhere"], "argument --target: the target file '/nowhere'"),
        (["-o", "/nowhere/here.target"], "its directory does not exist"),
        (["--programs", "0"], "'0' is not an integer from 1 up"),
        (["--seconds", "0"], "'0' is not a number of seconds"),
    ],
)
def test_refusals(arguments: list[str], message: str, capsys: Capture) -> None:
    assert main(["calibrate", "--quick", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


def test_every_spec_of_a_calibration_can_be_read() -> None:
    found = specs(ALL, AVX2)
    assert len(set(found)) == len(ALL) >= 20
    assert {spec.kind.label for spec in found} >= {"matmul", "move", "max"}


def test_what_is_drawn_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stopwatch, "seconds_of", lambda *args: (1e-7, 1e-9))
    told: list[str] = []
    goals = specs(("fill:1000:f32", "max:20x17:f32"), AVX2)
    found = module.calibrate(goals, AVX2, module.Plan(4), told.append)
    assert {round(m.cycles) for m in found.measured} == {100}
    assert {m.impl.spec for m in found.measured} == set(goals)
    assert told[-1] == "fitting"
    assert any("max:20x17:f32" in line for line in told)


def test_a_program_twice_as_long_takes_twice_as_long() -> None:
    watch = Stopwatch(0.02)
    times = []
    for size in (2000, 4000):
        spec = parse_spec(f"fill:{size}:f32:out=[0]@L1", AVX2.limits)
        impl = Solver(AVX2).solve(spec).impl
        times.append(watch.cycles_of(spec, impl, AVX2))
    # One store of 8 elements a cycle at best; two on some.
    assert 2000 / 8 / 2 * 0.8 < times[0] < 2000
    assert 1.4 < times[1] / times[0] < 2.8
