"""Each action on a Spec: the Specs before and after, and its own cost."""

import dataclasses

import pytest

from morello.actions import (
    ACTIONS,
    Action,
    GridParallel,
    Move,
    Select,
    Split,
    SplitParallel,
    Tile,
    TileParallel,
    ToAccum,
)
from morello.machine import AVX2, Target
from morello.machine.operand_context import OperandContext
from morello.spec import L1, L2, Layout, Limits, Spec, parse_spec, print_spec
from tests.actions.written import action_of
from tests.tables import rows

pytestmark = pytest.mark.quick

UNIT = AVX2.coefficients
DEMAND, OVERLAPPED = UNIT.line_mem_demand, UNIT.line_mem_overlapped
LINE = DEMAND + UNIT.line_l2
HIDDEN = OVERLAPPED + UNIT.line_l2
"""From beyond L2 to L1: through L2."""
WRITTEN = UNIT.store_mem
ROWS = Layout.row_major(3)
ALIASED = AVX2.in_context(
    OperandContext(aliased=("lhs", "rhs", "out"), row_distance=64)
)
PANELS = Layout.parse("[0,2,1,2p16]")
FULL = AVX2.limits


def spec(text: str) -> Spec:
    return parse_spec(text, FULL)


@pytest.mark.parametrize("row", rows(__file__, "rewrites"), ids=lambda row: row[2])
def test_holes_are_as_listed(row: tuple[str, ...]) -> None:
    """The lines of `rewrites.tsv`: a Spec, the threads that it may use ("serial" inside
    a parallel loop), an action, and of each hole its role, how often it runs, its
    Spec."""
    text, threads, written, *holes = row
    is_serial = threads == "serial"
    goal = dataclasses.replace(spec(text), serial=is_serial)
    target = dataclasses.replace(AVX2, threads=4 if is_serial else int(threads))
    left = action_of(written).apply(goal, target).holes
    assert [f"{h.role} {h.times} {print_spec(h.spec, FULL)}" for h in left] == holes
    assert all(hole.spec.serial for hole in left)


def test_a_loop_costs_its_trips() -> None:
    for action, text, trips in (
        (Tile("m", 48), "matmul:96x8x8:f32", 3),
        (Tile("m", 48), "matmul:100x8x8:f32", 4),
        (Split("k", 256), "matmul_accum:8x600x8:f32", 4),
        (ToAccum(), "matmul:4x5x6", 0),
    ):
        assert cost(action, text) == trips * UNIT.loop
    assert cost(Move("rhs", L2, PANELS), "matmul:8x16x32:f32") == UNIT.loop


PARALLEL = (
    (SplitParallel("k", 32, 4), "matmul:3x100x5", 2),
    (TileParallel("m", 9), "matmul:100x8x16", 5),
    (GridParallel("m", 64, "n", 16), "matmul:100x8x20", 2),
)


@pytest.mark.parametrize(("action", "text", "trips"), PARALLEL, ids=str)
def test_a_team_costs_a_fork_and_its_trips(
    action: Action, text: str, trips: int
) -> None:
    goal = dataclasses.replace(spec(text), serial=False)
    target = dataclasses.replace(AVX2, threads=4)
    assert action.apply(goal, target).cost == trips * UNIT.loop + UNIT.fork


def cost(action: Action, text: str, target: Target = AVX2) -> int:
    return action.apply(spec(text), target).cost


def test_tile_of_packs() -> None:
    text = "fill:4x40:f32:out=[0,1,1p16]"
    for size in (1, 2, 4, 8, 16, 32):
        assert Tile("d1", size).apply(spec(text), AVX2).holes
    odd_even = "fill:4x40:f32:out=[0,1,1oe8]"
    for size in (1, 8, 16, 24):
        assert Tile("d1", size).apply(spec(odd_even), AVX2).holes


def test_move_into_a_cache_models_its_lines() -> None:
    text = "matmul:8x16x16:f32"
    assert cost(Move("lhs", L1, ROWS), text) == 8 * HIDDEN
    assert cost(Move("out", L2, ROWS), text) == 8 * WRITTEN
    near = "matmul:8x16x16:f32:lhs=[0,1,2]@L2"
    assert cost(Move("lhs", L1, ROWS), near) == 8 * UNIT.line_l2


def test_lines_that_are_used_once_are_waited_for() -> None:
    near = Move("rhs", L2, ROWS)
    assert cost(near, "matmul:1x16x16") == cost(near, "matmul:16x16x16") == 16 * DEMAND
    nearer, from_l2 = Move("rhs", L1, ROWS), UNIT.line_l2
    assert cost(nearer, "matmul:16x16x16") == 16 * (OVERLAPPED + from_l2)
    # What computing hides of a line grows with its uses, where prefetchers follow.
    half = DEMAND - (DEMAND - OVERLAPPED) * 7 // 15
    assert cost(nearer, "matmul:8x16x80") == 80 * (half + from_l2)
    apart = "matmul:8x16x16:f32:rhs=[0,1,2]@MEM/strided"
    assert cost(near, apart) == 16 * (DEMAND + UNIT.stream_start_mem)
    flat = Layout.row_major(2)
    assert cost(Move("src", L2, flat), "move:4x16") == 4 * DEMAND
    assert cost(Move("dst", L2, flat), "move:4x16") == 4 * WRITTEN
    assert cost(Move("dst", L2, flat), "move:1x64") == 4 * UNIT.store_mem
    near = "move:4x16:dst=[0,1]@L2"
    assert cost(Move("dst", L1, flat), near) == 4 * UNIT.store_l2
    both = DEMAND + WRITTEN
    assert cost(Move("out", L2, ROWS), "matmul_accum:16x1x16") == 16 * both


def test_what_is_packed_costs_the_same_with_a_stop_in_l2_as_without() -> None:
    panels, text = Layout.parse("[0,2,1,2p16]"), "matmul:16x16x16:f32:rhs=[0,1,2]@{}"
    packed = Move("rhs", L2, panels)
    setup = cost(packed, text.format("MEM"))
    assert cost(packed, text.format("L2")) == setup
    again = Move("rhs", L1, panels)  # for each block: the tile is there
    assert cost(again, text.format("L2")) == setup
    written = Move("out", L2, panels)
    assert cost(written, "matmul:16x16x16:f32:out=[0,1,2]@L2") == setup


def test_a_piece_of_a_line_costs_its_part_in_a_copy() -> None:
    flat, text = Layout.row_major(2), "move:{}x{}:src=[0,1]/strided"
    move = Move("src", L2, flat)
    quarter, more = DEMAND // 4, 17 * DEMAND // 16
    assert cost(move, text.format(1, 4)) == quarter + quarter // 2
    assert cost(move, text.format(1, 16)) == DEMAND
    assert cost(move, text.format(1, 17)) == (more + 2 * DEMAND) // 2
    assert cost(move, text.format(2, 4)) == DEMAND // 2 + DEMAND // 4
    turned = text + ":dst=[1,0]"  # the rest of its line is for a tile that comes later
    assert cost(move, turned.format(2, 4)) == 2 * DEMAND
    panel = Move("src", L2, Layout.parse("[1,0,1p16]"))
    lines = cost(panel, "move:2x16:src=[1,0,1p16]/strided")
    assert lines == cost(panel, "move:1x32:src=[1,0,1p16]/strided") == 2 * DEMAND


def test_rows_of_a_copy_are_not_aliased() -> None:
    text = "matmul:8x{}x{}:f32:rhs=[0,2,1,2p16]"
    for level, k, n in ((L1, 40, 160), (L2, 64, 1600)):
        move, product = Move("rhs", level, PANELS), text.format(k, n)
        assert cost(move, product, ALIASED) == cost(move, product)


def test_what_is_left_of_a_cache_is_snapped_down() -> None:
    lines = {16: 256, 256: 256, 257: 128, 480: 32, 481: 0, 512: 0}
    for taken, left in lines.items():
        text = f"fill:{taken * 16}:f32"
        (hole,) = Move("out", L1, Layout.row_major(1)).apply(spec(text), AVX2).holes
        assert hole.spec.limits == Limits.of(vrf=16, l1=left, l2=8192)


def test_select() -> None:
    text = "fill:8:f32:out=[0]@L1"
    rewrite = Select("fill_rows").apply(spec(text), AVX2)
    assert rewrite.holes == ()
    assert rewrite.cost == 8 // 8 * AVX2.ops.store
    assert rewrite.total(()) == rewrite.cost


def test_candidates_are_values() -> None:
    """Frozen, hashable, ordered within a class, each once, and they print."""
    axes = ((1,), (1, 2, 4, 5), (1, 2, 3), (1, 8, 16))
    key = spec("matmul_accum:5x3x16:f32:out=[0,1,2]@L1").key
    every = {kind: list(kind.candidates(key, axes, AVX2)) for kind in ACTIONS}
    assert {kind for kind, actions in every.items() if actions} == {
        Move,
        Select,
        Split,
        Tile,
    }
    for kind, actions in every.items():
        assert len(set(actions)) == len(actions)
        assert sorted(actions, key=str) == sorted(sorted(actions), key=str)
        assert all(str(a).startswith(f"{kind.name}(") for a in actions)
    assert str(Tile("m", 4)) == "tile(m, 4)"
    assert str(Move("rhs", L1, PANELS)) == "move(rhs, L1, [0,2,1,2p16])"
    assert [str(a) for a in Split.candidates(key, axes, AVX2)] == [
        "split(k, 1)",
        "split(k, 2)",
    ]
    assert len(list(Tile.candidates(key, axes, AVX2))) == 5


def test_candidates_of_a_move() -> None:
    """Nearer caches, panels for matmul, registers for its output in L1."""

    def moves_of(text: str) -> set[str]:
        key = spec(f"matmul_accum:5x3x16:f32:{text}").key
        return {str(a) for a in Move.candidates(key, ((1,),) * 4, AVX2)}

    printed = moves_of("lhs=[0,1,2,1p6]@L2")
    assert "move(lhs, L1, [0,1,2,1p6])" in printed
    assert {f"move(rhs, {level}, [0,2,1,2p16])" for level in ("L2", "L1")} <= printed
    assert not any("lhs" in a and "1p4" in a for a in printed)
    assert "move(out, VRF, [0,1,2])" in moves_of("out=[0,1,2]@L1:lhs=[0,1,2,1p6]@L1")
    moves = spec("move:8x8x16").key
    assert {str(a) for a in Move.candidates(moves, ((1,),) * 3, AVX2)} == {
        f"move({name}, {level}, [0,1,2])"
        for name in ("src", "dst")
        for level in ("L1", "L2")
    }


@pytest.mark.parametrize("action", [Tile("m", 1), Split("k", 1)])
def test_loops_name_their_dimension(action: Action) -> None:
    key = spec("matmul_accum:5x3x16:f32").key
    assert action.loop_dim(key) == {"tile": 1, "split": 2}[action.name]
    assert ToAccum().loop_dim(key) is None
