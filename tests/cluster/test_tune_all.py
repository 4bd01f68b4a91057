"""`morello.tune_all` and ``morello precompute --tune``: what is timed, and kept."""

from pathlib import Path
from typing import Any

import pytest

import morello
from morello.cluster.job import Job, perform
from morello.errors import MorelloError
from morello.machine import AVX2
from morello.machine.host import processor_name
from morello.tools.morello import main
from tests.threads import Here
from tests.tool import Tool

SPECS = ("fill:24:f32", "max:7x5:f32")


def _tuned(db: Path, **changes: Any) -> dict[str, Any]:
    options = {"executor": Here(), "db": db, "target": "avx2", "threads": 1}
    results = morello.tune_all(SPECS, seconds=0.1, workers=1, **{**options, **changes})
    return {done.spec: done for done in results}


def test_what_workers_measure_is_the_choice(tmp_path: Path) -> None:
    db = tmp_path / "x.sqlite"
    tuned = _tuned(db)
    assert set(tuned) == set(SPECS)
    for text, done in tuned.items():
        assert not done.error
        assert sum(row.chosen for row in done.measured) == 1
        assert {row.key.cpu for row in done.measured} == {processor_name()}
        kernel = morello.compile(text, target="avx2", threads=1, db=db)
        assert kernel.solution is not None
        assert kernel.solution.measured == done.measured
    again = _tuned(db)  # the workers are told what is known
    assert {t: d.measured for t, d in again.items()} == {
        t: d.measured for t, d in tuned.items()
    }
    anew = _tuned(db, again=True)
    assert all(anew[text].measured != tuned[text].measured for text in SPECS)


def test_an_open_layout_is_settled_and_searches_alone_time_nothing() -> None:
    answer = perform(Job.of("matmul:1x8x16:f32:rhs=any", AVX2, 1, 0.1))
    assert not answer.solved.error
    assert "rhs=any" not in answer.solved.measured[0].key.spec
    assert not perform(Job.of(SPECS[0], AVX2, 1)).solved.measured


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), 1e6, "long"])
def test_times_that_mean_nothing_are_refused(tmp_path: Path, seconds: Any) -> None:
    with pytest.raises(MorelloError, match="'seconds' is"):
        morello.tune_all(SPECS, seconds=seconds, executor=Here(), db=tmp_path / "x")


def test_precompute_tunes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tool: Tool
) -> None:
    db = str(tmp_path / "x.sqlite")
    words = ["precompute", SPECS[0], "--db", db, "--target", "avx2", "--threads", "1"]
    line = tool.out(*words, "--tune", "0.1").splitlines()[0]
    assert "measured: " in line
    assert " timed on " in line
    assert "1 thread, here: " in tool.out("db", "info", "--db", db)
    assert main([*words, "--tune", "1", "--jobs", "2"]) != 0
    assert "processes beside each other would disturb" in capsys.readouterr().err
