"""What each action makes of a Spec: the Specs before and after, and its own cost."""

import pytest

from morello.actions import ACTIONS, Action, Move, Select, Split, Tile, ToAccum
from morello.machine import AVX2, Target
from morello.machine.operand_context import OperandContext
from morello.spec import L1, L2, MEM, VRF, Layout, Limits, Spec, parse_spec, print_spec

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


def after(action: Action, text: str) -> list[str]:
    """The holes: role, how often, and the Spec as text."""
    holes = action.apply(spec(text), AVX2).holes
    return [f"{h.role} {h.times} {print_spec(h.spec, FULL)}" for h in holes]


def cost(action: Action, text: str, target: Target = AVX2) -> int:
    return action.apply(spec(text), target).cost


def test_tile_that_divides() -> None:
    text = "matmul:96x8x8:f32"
    assert after(Tile("m", 48), text) == [
        "main 2 matmul:48x8x8:f32:lhs=[0,1,2]/strided:out=[0,1,2]/strided"
    ]
    assert cost(Tile("m", 48), text) == 3 * UNIT.loop


def test_tile_with_a_remainder() -> None:
    text = "matmul:100x8x8:f32"
    assert after(Tile("m", 48), text) == [
        "main 2 matmul:48x8x8:f32:lhs=[0,1,2]/strided:out=[0,1,2]/strided",
        "remainder 1 matmul:4x8x8:f32:lhs=[0,1,2]/strided:out=[0,1,2]/strided",
    ]
    loops = 4 * UNIT.loop
    assert cost(Tile("m", 48), text) == loops


def test_tile_of_packs() -> None:
    text = "fill:4x40:f32:out=[0,1,1p16]"
    for size in (1, 2, 4, 8, 16, 32):
        assert Tile("d1", size).apply(spec(text), AVX2).holes
    odd_even = "fill:4x40:f32:out=[0,1,1oe8]"
    for size in (1, 8, 16, 24):
        assert Tile("d1", size).apply(spec(odd_even), AVX2).holes


def test_tile_of_what_is_not_in_registers() -> None:
    text = "max_accum:9x8:f32:x0=[0,1]@L1:v0=[0]@L1"
    assert after(Tile("d0", 8), text) == [
        "main 1 max_accum:8x8:f32:x0=[0,1]@L1:v0=[0]@L1",
        "remainder 1 max_accum:1x8:f32:x0=[0,1]@L1:v0=[0]@L1",
    ]


def test_tiles_along_the_outermost_dimension_are_gapless() -> None:
    assert after(Tile("b", 3), "matmul:7x4x5x6:f32:rhs=[0,2,1]") == [
        "main 2 matmul:3x4x5x6:f32:rhs=[0,2,1]",
        "remainder 1 matmul:4x5x6:f32:rhs=[0,2,1]",
    ]
    assert after(Tile("d0", 3), "move:7x4:f32:src=[1,0]") == [
        "main 2 move:3x4:f32:src=[1,0]/strided",
        "remainder 1 move:1x4:f32:src=[1,0]/strided",
    ]


def test_split() -> None:
    text = "matmul_accum:8x600x8:f32"
    tile = "lhs=[0,1,2]/strided:rhs=[0,1,2]/strided"
    assert after(Split("k", 256), text) == [
        f"main 2 matmul_accum:8x256x8:f32:{tile}",
        f"remainder 1 matmul_accum:8x88x8:f32:{tile}",
    ]
    assert cost(Split("k", 256), text) == 4 * UNIT.loop


def test_to_accum() -> None:
    assert after(ToAccum(), "matmul:2x4x5x6:s32") == [
        "init 1 fill:2x4x6:s32",
        "body 1 matmul_accum:2x4x5x6:s32",
    ]
    assert after(ToAccum(), "max:4x5:f32:x0=[1,0]:l1=3") == [
        "init 1 fill:4:f32:value=lowest:l1=3",
        "body 1 max_accum:4x5:f32:x0=[1,0]:l1=3",
    ]
    assert cost(ToAccum(), "matmul:4x5x6") == 0


def test_move_into_a_cache_models_its_lines() -> None:
    text = "matmul:8x16x16:f32"
    assert after(Move("lhs", L1, ROWS), text) == [
        "body 1 matmul:8x16x16:f32:lhs=[0,1,2]@L1/strided:l1=256"
    ]
    assert cost(Move("lhs", L1, ROWS), text) == 8 * HIDDEN
    assert cost(Move("out", L2, ROWS), text) == 8 * WRITTEN
    near = "matmul:8x16x16:f32:lhs=[0,1,2]@L2"
    assert cost(Move("lhs", L1, ROWS), near) == 8 * UNIT.line_l2


def test_lines_that_are_used_once_are_waited_for() -> None:
    near = Move("rhs", L2, ROWS)
    assert cost(near, "matmul:1x16x16") == 16 * DEMAND
    assert cost(near, "matmul:16x16x16") == 16 * OVERLAPPED
    # What computing hides of a line grows with its uses, where prefetchers follow.
    half = DEMAND - (DEMAND - OVERLAPPED) * 7 // 15
    assert cost(near, "matmul:8x16x16") == 16 * half
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


def test_a_copy_waits_for_lines_that_came_to_l2_for_products() -> None:
    """What is packed at once costs the same with a stop in L2 as without."""
    panels, text = Layout.parse("[0,2,1,2p16]"), "matmul:{}x16x16:f32:rhs=[0,1,2]@{}"
    packed = Move("rhs", L2, panels)
    waited = 16 * (DEMAND - OVERLAPPED)
    setup = cost(packed, text.format(16, "MEM"))
    assert cost(packed, text.format(16, "L2")) == setup + waited
    assert cost(packed, text.format(15, "L2")) == setup  # waited for on their way
    again = Move("rhs", L1, panels)  # for each block: the tile is there
    assert cost(again, text.format(16, "L2")) == setup
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
        move, given = Move("rhs", level, PANELS), text.format(k, n)
        assert cost(move, given, ALIASED) == cost(move, given)


def test_move_to_another_layout_copies() -> None:
    text = "matmul:8x16x32:f32"
    assert after(Move("rhs", L2, PANELS), text) == [
        "prologue 1 move:1x16x32:f32:dst=[0,2,1,2p16]@L2:l2=4096",
        "body 1 matmul:8x16x32:f32:rhs=[0,2,1,2p16]@L2:l2=4096",
    ]
    assert cost(Move("rhs", L2, PANELS), text) == UNIT.loop
    assert after(Move("rhs", MEM, PANELS), text)[1] == (
        "body 1 matmul:8x16x32:f32:rhs=[0,2,1,2p16]"
    )


def test_move_of_what_is_written_copies_back() -> None:
    flipped = Layout.parse("[0,2,1]")
    assert after(Move("out", L2, flipped), "matmul:8x16x32:f32") == [
        "body 1 matmul:8x16x32:f32:out=[0,2,1]@L2/strided:l2=4096",
        "epilogue 1 move:1x8x32:f32:src=[0,2,1]@L2/strided:l2=4096",
    ]
    holes = after(Move("out", L2, flipped), "matmul_accum:8x16x32:f32")
    assert [hole.split()[0] for hole in holes] == ["prologue", "body", "epilogue"]


def test_move_into_registers() -> None:
    text = "matmul_accum:6x4x16:f32:lhs=[0,1,2]@L1:rhs=[0,1,2]@L1:out=[0,1,2]@L1"
    near = "lhs=[0,1,2]@L1:rhs=[0,1,2]@L1"
    assert after(Move("out", VRF, ROWS), text) == [
        "prologue 1 move:1x6x16:f32:src=[0,1,2]@L1:dst=[0,1,2]@VRFv8:vrf=4",
        f"body 1 matmul_accum:6x4x16:f32:{near}:out=[0,1,2]@VRFv8:vrf=4",
        "epilogue 1 move:1x6x16:f32:src=[0,1,2]@VRFv8:dst=[0,1,2]@L1:vrf=4",
    ]


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
    assert {kind for kind, found in every.items() if found} == {
        Move,
        Select,
        Split,
        Tile,
    }
    for kind, found in every.items():
        assert len(set(found)) == len(found)
        assert sorted(found, key=str) == sorted(sorted(found), key=str)
        assert all(str(a).startswith(f"{kind.name}(") for a in found)
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

    found = moves_of("lhs=[0,1,2,1p6]@L2")
    assert "move(lhs, L1, [0,1,2,1p6])" in found
    assert {f"move(rhs, {level}, [0,2,1,2p16])" for level in ("L2", "L1")} <= found
    assert not any("lhs" in a and "1p4" in a for a in found)
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
