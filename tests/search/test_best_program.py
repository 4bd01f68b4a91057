"""A search that is stopped still gives a legal program, and says so."""

import dataclasses
import random
import signal
import time
from pathlib import Path

import pytest

from morello.errors import MorelloError, SearchError
from morello.machine import AVX2
from morello.search import Patience, Solution, Solver, Statistics, best_program
from morello.search.queries import best_program as queries
from morello.search.queries.first_program import first_programs
from morello.search.storage.database import Database
from morello.search.storage.overlay import open_database
from morello.spec import Spec, parse_spec

SPEC = parse_spec("matmul:8x8x16:f32", AVX2.limits)
UNKNOWN = parse_spec("matmul:9x8x16:f32", AVX2.limits)
"""Never searched to the end, in whatever order tests run: solutions are remembered."""

STOPS = 20


def test_no_time_at_all_gives_a_program_at_once() -> None:
    start = time.thread_time()
    solution = best_program(UNKNOWN, AVX2, patience=Patience(0.0))
    assert time.thread_time() - start < 0.5
    assert not solution.complete
    check_costs(solution)
    assert solution.impl.cost >= Solver(AVX2.at(UNKNOWN)).solve(UNKNOWN).impl.cost


HURRIED = [
    "attention:12x197x197x64x64:f32",
    "compose:4x8x4:f32:graph=v0[d0]=sum(x0[d1,d0]);v1[d1,d0]=x0-(v0*0.125);"
    "v2[d2]=sum(x1[d1,d2]);v3[d1,d2]=x1-(v2*0.125);v4[d0,d2]=sum(v1*v3);"
    "out v5[d0,d2]=v4/7.0:serial=false",
    "conv:1x256x56x56x256x3x3:f32",
    "matmul:8192x8192x8192:f32",
    "softmax:64x256:f32",
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("text", HURRIED)
@pytest.mark.parametrize("seconds", [0.0, 0.6])
def test_a_time_limit_holds_and_there_is_a_program(text: str, seconds: float) -> None:
    """Seconds of this thread beyond the limit: others' load is not counted."""
    spec = parse_spec(text, AVX2.limits)
    waited, start = time.perf_counter(), time.thread_time()
    solution = best_program(spec, AVX2, patience=Patience(seconds))
    if time.perf_counter() - waited > seconds + 0.5:
        assert time.thread_time() - start < seconds + 0.5
    check_costs(solution)


def test_after_the_grace_the_first_program_is_taken() -> None:
    """And not none, however busy the machine is."""
    spec = parse_spec("matmul:3x700x77:f32", AVX2.limits)
    solver = Solver(dataclasses.replace(AVX2.at(spec), relayouts=False))
    first, *others = first_programs(spec, solver, lambda: None)
    assert min(impl.cost for impl in others) < first.cost
    late = Patience(1.0).after(2.0)
    assert best_program(spec, AVX2, patience=late).impl == first


def test_a_first_program_of_many_kernels_is_as_much_cheaper() -> None:
    """Code of many kernels takes as much longer to make, which no limit ends."""
    spec = parse_spec("conv:1x32x7x7x48x3x3:f32:pad=1", AVX2.limits)
    smaller = Solver(dataclasses.replace(AVX2.at(spec), relayouts=False))
    solvers = smaller, Solver(AVX2.at(spec))
    every = [i for s in solvers for i in first_programs(spec, s, lambda: None)]
    first = queries._first(spec, solvers, 60.0).impl
    assert first.leaves <= min(every, key=lambda i: i.cost).leaves
    assert all(first.cost * first.leaves <= i.cost * i.leaves for i in every)


def test_a_late_search_leaves_less_grace_to_the_next_ones() -> None:
    patience = Patience(2.0, grace=0.5)
    assert patience.after(1.5) == Patience(0.5, grace=0.5)
    assert patience.after(2.25).shared(0.2) == Patience(0.0, grace=0.05)
    assert patience.after(9.0) == Patience(0.0, grace=0.0)
    assert Patience().after(9.0).shared(0.5) == Patience()


def test_what_was_solved_makes_a_first_program_better() -> None:
    spec = parse_spec("matmul:33x17x40:f32", AVX2.limits)
    solver = Solver(AVX2.at(spec))
    costs = {impl.cost for impl in first_programs(spec, solver, lambda: None)}
    best = solver.solve(spec).impl
    assert best.cost < min(costs)
    assert set(first_programs(spec, solver, lambda: None)) == {best}


@pytest.mark.sampled(2)
def test_after_ctrl_c_there_is_the_best_program_of_the_smaller_space() -> None:
    stops = [KeyboardInterrupt()]

    def watch(statistics: Statistics) -> None:
        if stops:
            raise stops.pop()

    patience = Patience(interruptible=True, watch=watch)
    spec = parse_spec("matmul:9x8x24:f32", AVX2.limits)
    solution = best_program(spec, AVX2, patience=patience)
    smaller = dataclasses.replace(AVX2.at(spec), relayouts=False)
    assert not solution.complete
    assert solution.impl == Solver(smaller).solve(spec).impl
    assert all("[0,2,1,2p" not in str(i.action) for i in solution.impl.walk())


def test_a_search_that_finds_nothing_in_time_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queries, "GRACE", 0.0)
    spec = parse_spec("conv:1x16x64x64x16x7x7:f32", AVX2.limits)
    message = "no program of .*16x58x58x16x7x7.* was found in .*; give more"
    with pytest.raises(SearchError, match=message):
        best_program(spec, AVX2, patience=Patience(0.0))


def test_what_watches_a_search_watches_the_smaller_space() -> None:
    """The end of a process, say, which PyTorch's backend raises from there."""
    told = 0

    def watch(statistics: Statistics) -> None:
        nonlocal told
        told += 1
        if told > 1:
            raise MorelloError("the process ends")

    spec = parse_spec("max:63x40:f32", AVX2.limits)
    with pytest.raises(MorelloError, match="the process ends"):
        best_program(spec, AVX2, patience=Patience(0.0, watch=watch))


def test_enough_time_gives_the_optimum_and_remembers_it() -> None:
    spec = parse_spec("max:33x65:f32", AVX2.limits)
    solution = best_program(spec, AVX2, patience=Patience(600.0))
    assert solution.complete
    assert solution.impl == Solver(AVX2.at(spec)).solve(spec).impl
    start = time.process_time()
    assert best_program(spec, AVX2, patience=Patience(0.0)) is solution
    assert time.process_time() - start < 0.1


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(STOPS))
def test_an_interrupt_at_any_table_leaves_a_whole_database(
    seed: int, tmp_path: Path
) -> None:
    spec = parse_spec(f"max:{seed + 3}x40:f32", AVX2.limits)
    left = random.Random(seed).randrange(12)

    def watch(statistics: Statistics) -> None:
        nonlocal left
        left -= 1
        if left == -1:
            raise KeyboardInterrupt

    path = str(tmp_path / "tables.sqlite")
    stopped = best_program(
        spec, AVX2, open_database(path), Patience(interruptible=True, watch=watch)
    )
    assert not stopped.complete
    best = Solver(AVX2.at(spec)).solve(spec).impl
    assert stopped.impl.cost >= best.cost
    assert Solver(AVX2.at(spec), open_database(path)).solve(spec).impl == best


@pytest.mark.sampled(5)
def test_ctrl_c_at_any_moment_is_answered_within_two_seconds(tmp_path: Path) -> None:
    """C8: a signal, wherever the search is. CPU seconds: the machine may be busy."""
    rng = random.Random(8)
    for columns in (68, 69):  # the first one loads what the others have
        start = time.process_time()
        spec = parse_spec(f"max:{columns}x40:f32", AVX2.limits)
        assert interrupted(spec, tmp_path / f"first-{columns}.sqlite", 0)
        length = time.process_time() - start  # of a search that nothing stops
    moments: list[float] = []

    def interrupt(number: int, frame: object) -> None:
        moments.append(time.process_time())
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGPROF, interrupt)
    try:
        for number in range(5 * STOPS):
            path = tmp_path / f"{number}.sqlite"
            spec = parse_spec(f"max:{number + 70}x40:f32", AVX2.limits)
            seen = len(moments)
            solution = interrupted(spec, path, rng.uniform(0.001, length))
            assert len(moments) == seen or time.process_time() - moments[-1] < 2
            check_answer(spec, solution, path)
            if len(moments) == STOPS:
                break
    finally:
        signal.signal(signal.SIGPROF, before)
    assert len(moments) == STOPS


def interrupted(spec: Spec, path: Path, seconds: float) -> Solution | None:
    """What a search answers that is stopped after some CPU seconds, never after 0; None
    if it had not begun, or had ended."""
    patience = Patience(interruptible=True)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        try:
            return best_program(spec, AVX2, open_database(path), patience)
        finally:  # the signal may arrive here, too
            signal.setitimer(signal.ITIMER_PROF, 0)
    except KeyboardInterrupt:
        return None


def check_answer(spec: Spec, solution: Solution | None, path: Path) -> None:
    """Whether an answer is legal, and a search that goes on finds the best program."""
    best = Solver(AVX2.at(spec)).solve(spec).impl
    if solution is not None:
        check_costs(solution)
        assert (
            solution.impl == best
            if solution.complete
            else solution.impl.cost >= best.cost
        )
    check_database(path)
    assert Solver(AVX2.at(spec), open_database(path)).solve(spec).impl == best


def check_costs(solution: Solution) -> None:
    """Whether every action of a program applies, and costs what it says."""
    target = AVX2.at(solution.impl.spec)
    for part in {id(part): part for part in solution.impl.walk()}.values():
        costs = tuple(branch.impl.cost for branch in part.branches)
        assert part.action.apply(part.spec, target).total(costs) == part.cost


def check_database(path: Path) -> None:
    """Whether a database is sound, and every row of it whole."""
    if path.exists():
        database = Database(path)
        assert database.check() == ()
        assert all(is_whole for _, is_whole in database.rows())
        database.close()


def test_an_interrupt_is_the_callers_unless_it_says_otherwise() -> None:
    def watch(statistics: Statistics) -> None:
        raise KeyboardInterrupt

    spec = parse_spec("max:61x40:f32", AVX2.limits)
    with pytest.raises(KeyboardInterrupt):
        best_program(spec, AVX2, patience=Patience(watch=watch))


def test_the_watcher_is_told_how_far_the_search_is() -> None:
    told: list[Statistics] = []
    spec = parse_spec("max:62x40:f32", AVX2.limits)
    best_program(spec, AVX2, patience=Patience(watch=told.append))
    assert [s.tables for s in told] == sorted(s.tables for s in told)
    assert told[-1].specs > told[0].specs == 0


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), 10**400])
def test_a_time_limit_is_a_time(seconds: float) -> None:
    with pytest.raises(MorelloError, match=r"a time limit of .* seconds; give"):
        Patience(seconds)
