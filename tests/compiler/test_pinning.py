"""Pinning from Python: a compilation with a database follows its pins."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import morello
from morello.actions import Action, Move, Tile
from morello.compiler.hand_schedule import read_program
from morello.compiler.pinning import pin, pinned, unpin
from morello.compiler.stages import build_stages
from morello.errors import MorelloError, ScheduleError
from morello.machine import AVX2, Target
from morello.search import Explorer, Impl, Solver
from morello.search.queries.partial_program import HOLE, Partial
from morello.search.queries.pins import Pin, Pins, full_text
from morello.search.storage.database import Database
from morello.search.storage.overlay import DatabaseWarning
from morello.search.storage.schema import PinRow
from morello.spec import L1, Layout, parse_spec
from tests.compiler.test_partial_schedule import END, MATCH, MODULE, PARTIAL, SPEC, tile

TILED = MODULE + MATCH + tile("t", "m", 5) + END + "}"

WRONG = MODULE + MATCH + tile("t", "m", 25) + END + "}"


def test_a_goal_is_pinned_and_left_again(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    free = morello.compile(SPEC, db=path)
    new_pin = pin(SPEC, TILED, db=path)
    assert new_pin.program == Partial(new_pin.program.action, (HOLE,))
    assert pinned(db=path) == (new_pin,)
    kernel = morello.compile(SPEC, db=path)
    assert kernel.schedule != free.schedule
    assert 'dim = "d1", size = 5' in kernel.schedule
    array = np.arange(80, dtype=np.float32).reshape(4, 20)
    assert np.array_equal(kernel(array), array)
    assert kernel.cost() > free.cost()
    assert unpin(SPEC, db=path)
    assert not unpin(SPEC, db=path)
    assert morello.compile(SPEC, db=path).schedule == free.schedule


@pytest.mark.sampled(5)
@pytest.mark.parametrize("text", ["max:13x21:f32", "move:13x20:f32:src=[1,0]"])
def test_a_part_of_a_goal_is_pinned_in_every_way_that_it_can_begin(text: str) -> None:
    goal = parse_spec(text, AVX2.limits)
    target = AVX2.at(goal)
    best = Solver(target).solve(goal).impl
    compared = 0
    for part in {p.spec: p for p in best.walk() if p.branches}.values():
        for action in list(other_ways(part, target))[:4]:
            holes = action.apply(part.spec, target).holes
            decided = Pin(part.spec, "avx2", Partial(action, (HOLE,) * len(holes)))
            solution = Solver(target, pins=Pins((decided,))).solve(goal)
            met = [p for p in solution.impl.walk() if p.spec == part.spec]
            assert all(p.action == action for p in met)
            assert (
                build_stages(goal, AVX2, solution).cost
                == solution.impl.cost
                >= best.cost
            )
            compared += bool(met)
    assert compared >= 3


def other_ways(part: Impl, target: Target) -> Iterator[Action]:
    """First actions of a Spec that lead to a program, other than the best."""
    explorer = Explorer(Solver(target), part.spec)
    for alternative in explorer.alternatives(explorer.root).rejected:
        yield alternative.action


def test_one_spec_with_two_programs_has_two_sequences() -> None:
    """A part made by hand may hold a Spec that the search does otherwise elsewhere."""
    goal = parse_spec("move:6x24:f32", AVX2.limits)
    target = AVX2.at(goal)
    sixteen = Tile("d1", 16).apply(goal, target).holes[0]
    eight = Tile("d1", 8).apply(sixteen.spec, target)
    best = Solver(target).solve(eight.holes[0].spec).impl
    other = Tile("d0", 5)
    assert best.action != other
    by_hand = Partial(other, (HOLE, HOLE))
    partial = Partial(Tile("d1", 16), (Partial(Tile("d1", 8), (by_hand,)), HOLE))
    solution = Solver(target).complete(goal, partial)
    ways = {p.action for p in solution.impl.walk() if p.spec == best.spec}
    assert ways == {best.action, other}
    assert build_stages(goal, AVX2, solution).cost == solution.impl.cost


@pytest.mark.parametrize("name", PARTIAL)
def test_the_decisions_of_a_schedule_are_read(name: str) -> None:
    spec = parse_spec(SPEC, AVX2.limits)
    program = read_program(PARTIAL[name], spec, AVX2)
    assert Partial.parse(str(program)) == program
    filled = morello.compile(SPEC, schedule=PARTIAL[name])
    solver = Solver(AVX2.at(spec))
    assert solver.complete(spec, program).impl.cost == filled.cost()
    whole = read_program(filled.schedule, spec, AVX2)
    assert not whole.holes
    assert solver.complete(spec, whole).impl.cost == filled.cost()


def test_a_found_program_is_read_back() -> None:
    kernel = morello.compile("max:13x21:f32")
    assert kernel.solution is not None
    program = read_program(kernel.schedule, kernel.spec, kernel.target)
    assert program == Partial.of(kernel.solution.impl)


def test_wrong_pins_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    for schedule, message in (
        (WRONG, r'^"-":\d+:\d+: .*size 25 is not smaller than d1 = 20'),
        ("module {", r'^the schedule is not a module of MLIR: "-":1:7'),
        (
            TILED.replace("avx2", "avx2{threads=2}"),
            "is for the target 'avx2{threads=2}",
        ),
        (PARTIAL["nothing is done"], "decides nothing of move:4x20"),
    ):
        with pytest.raises(ScheduleError, match=message):
            pin(SPEC, schedule, db=path)
    with pytest.raises(ScheduleError, match=r'^"-":\d+:\d+: .*for another Spec'):
        pin("move:4x21:f32", TILED, db=path)
    with pytest.raises(MorelloError, match="there is no database to pin"):
        pin(SPEC, TILED, db="none")
    assert pinned(db=path) == ()


def test_a_pin_that_takes_what_is_not_counted_is_refused() -> None:
    """Lines of a cache where nothing more can move: its table has no axis for them."""
    spec = parse_spec("max_accum:8x8:f32:x0=[0,1]@L1:v0=[0]@L1", AVX2.limits)
    move = Move("x0", L1, Layout.parse("[1,0]"))
    holes = move.apply(spec, AVX2).holes
    decided = Pin(spec, "avx2", Partial(move, (HOLE,) * len(holes)))
    with pytest.raises(ScheduleError, match="the schedule takes a part of L1"):
        Solver(AVX2, pins=Pins((decided,))).pinned.check(decided)


def test_a_pin_that_does_not_apply_any_more_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    rows = {"move:4x20": Partial(Tile("d1", 64), (HOLE,)), "move:4x24": HOLE}
    for text, program in rows.items():
        spec = full_text(parse_spec(text, AVX2.limits))
        Database(path).pin((PinRow(spec, "avx2", str(program), ""),), replace=True)
    with pytest.warns(DatabaseWarning, match=r"pinned for move:4x20.*does not apply"):
        kernel = morello.compile(SPEC, db=path)
    assert kernel.object == morello.compile(SPEC).object
    bad = PinRow(full_text(parse_spec("move:4x28", AVX2.limits)), "avx2", "[]", "")
    Database(path).pin((bad,), replace=True)
    with pytest.warns(DatabaseWarning, match=r"pinned for move:4x28.*cannot be read"):
        morello.compile("fill:9:f32", db=path)
