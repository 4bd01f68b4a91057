"""Tuning a goal: what is timed, what is kept, and what is used from then on."""

import dataclasses
import itertools
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import morello
from morello.compiler.kernel import Kernel
from morello.compiler.tuning import Plan, Tuned, tune, tuner
from morello.compiler.tuning.entry import Entry
from morello.compiler.tuning.order import by_novelty
from morello.compiler.tuning.trial import Trial
from morello.compiler.tuning.verify import Verdict
from morello.errors import MorelloError
from morello.machine import AVX2
from morello.search import Solver
from morello.search.dp.solver import pins_of
from morello.search.queries import measured as lookup
from morello.search.storage.overlay import open_database
from morello.spec import Array, parse_spec

TEXT = "matmul:4x8x16:f32"
FEW = Plan(20.0, 3)  # of which little is needed


def _tuned(db: Path, plan: Plan = FEW) -> Tuned:
    spec = parse_spec(TEXT, AVX2.limits)
    return tune(spec, AVX2, Solver(AVX2.at(spec), open_database(db)), plan)


def _choose(db: Path, place: int) -> None:
    """Say that another program was the fastest."""
    overlay = open_database(db)
    assert overlay is not None
    assert overlay.top is not None
    rows = [row for row, _ in overlay.top.measured()]
    new = (dataclasses.replace(row, chosen=int(row.place == place)) for row in rows)
    overlay.keep_measured(tuple(new))


def test_every_program_is_timed_and_one_is_chosen(tmp_path: Path) -> None:
    result = _tuned(tmp_path / "db")
    rows = result.measured.rows
    assert len(rows) == len(result.candidates) == 2  # two become the same code
    assert rows[0].features == result.candidates[0].class_text
    assert result.measured.gain >= 1 or result.measured.chosen is result.measured.model
    assert sum(row.chosen for row in rows) == 1
    assert all(0 < row.seconds < 1e-3 for row in rows)
    assert all(1e8 < row.cycles / row.seconds < 1e11 for row in rows)


@pytest.mark.sampled(5)
def test_the_choice_is_used_until_somebody_says_otherwise(tmp_path: Path) -> None:
    db = tmp_path / "db"
    model = morello.compile(TEXT, db=db)
    assert model.solution is not None
    assert not model.solution.measured
    tuned_kernel = morello.compile(TEXT, db=db, tune=20.0)
    assert tuned_kernel.solution is not None
    assert len(tuned_kernel.solution.measured) > 1
    _choose(db, 1)
    again = morello.compile(TEXT, db=db, tune=True)  # was measured: nothing is timed
    for kernel in (again, morello.compile(TEXT, db=db)):
        assert kernel.solution is not None
        assert [row.chosen for row in kernel.solution.measured][:2] == [0, 1]
        assert kernel.impl != model.impl
        assert kernel.cost() >= model.cost()
    plain = morello.compile(TEXT, db=db, tune=False)
    assert plain.object == model.object


def test_another_processor_does_not_believe_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = tmp_path / "db"
    _tuned(db)
    spec = parse_spec(TEXT, AVX2.limits)
    overlay = open_database(db)
    pins = pins_of(overlay, AVX2)
    assert lookup.measured_solution(spec, AVX2, overlay, pins) is not None
    other = dataclasses.replace(AVX2, name="another")
    assert lookup.measured_solution(spec, other, overlay, pins) is None
    more = dataclasses.replace(AVX2, threads=2)
    assert lookup.measured_solution(spec, more, overlay, pins) is None
    monkeypatch.setattr(lookup, "processor_name", lambda: "another")
    assert lookup.measured_solution(spec, AVX2, overlay, pins) is None


def test_without_a_database_it_is_remembered_in_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lookup, "_remembered", {})
    text = "max:3x16:f32"
    assert (
        morello.compile(text, tune=20.0).solution
        != morello.compile(text, tune=False).solution
    )
    solution = morello.compile(text).solution
    assert solution is not None
    assert solution.measured


def test_a_wrong_kernel_is_not_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = [1]  # the second that is judged
    judged: list[int] = []

    def is_right(trial: Trial, outputs: list[Array]) -> bool:
        judged.append(len(judged))
        return judged[-1] != wrong[0]

    codes = itertools.count()
    monkeypatch.setattr(Trial, "agree", lambda *args: False)
    monkeypatch.setattr(Kernel, "object", property(lambda _: bytes([next(codes)])))
    monkeypatch.setattr(Trial, "is_right", is_right)
    monkeypatch.setattr(Trial, "judge", lambda *args: Verdict(4, 1, "c[0] is 1"))
    with pytest.warns(RuntimeWarning, match=r"wrong and was not timed.*c\[0\] is 1"):
        result = _tuned(tmp_path / "db")
    assert len(result.measured.rows) == 2
    assert result.measured.rows[1].features != result.candidates[0].class_text
    wrong[0] = len(judged)  # the first
    with pytest.raises(MorelloError, match="wrong and was not timed"):
        _tuned(tmp_path / "other")


def test_threads_of_a_process_time_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meeting = threading.Barrier(2)
    met: list[bool] = []

    def contest(entries: Sequence[Entry], seconds: float) -> int:
        try:
            meeting.wait(0.5)  # which the other thread has to come here
            met.append(True)
        except threading.BrokenBarrierError:
            met.append(False)
            meeting.reset()
        for entry in entries:
            entry.sample(0)
        return 0

    monkeypatch.setattr(tuner, "contest", contest)
    plan = Plan(0.4, 2)
    ready = threading.Barrier(2)

    def show(text: str) -> None:
        if text.startswith("timing"):
            ready.wait(60)

    def tuned(text: str) -> Tuned:
        spec = parse_spec(text, AVX2.limits)
        database = open_database(tmp_path / f"{spec.kind.name}.sqlite")
        return tune(spec, AVX2, Solver(AVX2.at(spec), database), plan, show)

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(tuned, ("max:3x16:f32", "fill:24:f32")))
    assert met == [False, False]
    assert all(one.measured.rows for one in results)


def test_candidates_that_show_something_new_are_tried_first() -> None:
    spec = parse_spec("matmul:12x8x32:f32", AVX2.limits)
    candidates = morello.candidates(spec, 12, target=AVX2)
    order = by_novelty(candidates)
    assert order[0] == candidates[0]
    assert sorted(order, key=candidates.index) == list(candidates)
    seen: set[str] = set()
    news = []
    for one in order:
        news.append(not seen.issuperset(one.features))
        seen.update(one.features)
    assert news == sorted(news, reverse=True)
    assert not all(news)


@pytest.mark.parametrize("tune", [0, -1, "fast", float("nan"), 1e6])
def test_times_that_mean_nothing_are_refused(tune: float) -> None:
    with pytest.raises(morello.MorelloError, match=r"'tune' is"):
        morello.compile(TEXT, tune=tune)


def test_a_given_schedule_is_not_tuned() -> None:
    schedule = morello.compile(TEXT).schedule
    with pytest.raises(morello.MorelloError, match="a schedule is given"):
        morello.compile(TEXT, schedule=schedule, tune=True)
