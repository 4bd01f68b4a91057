"""What each action makes of a Spec: the Specs before and after, and its own cost."""

import dataclasses

import pytest

from morello.actions import ACTIONS, Action, Move, Select, Split, Tile, ToAccum
from morello.cost.operand_context import OperandContext
from morello.kernels import KERNELS
from morello.machine import AVX2, Target
from morello.spec import Layout, Level, Limits, Spec, parse_spec, print_spec
from morello.spec.frame import Frame

pytestmark = pytest.mark.quick

UNIT = AVX2.coefficients
LINE = UNIT.line_gl + UNIT.line_l2
HIDDEN = UNIT.hidden_gl + UNIT.hidden_l2
"""From beyond L2 to L1: through L2."""
WRITTEN = UNIT.store_gl + UNIT.turn_gl
"""To beyond L2, in several rows."""
ROWS = Layout.row_major(3)
ALIASED = AVX2.in_context(OperandContext(aliased=("lhs", "rhs", "out"), apart=64))
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
    assert cost(Tile("m", 48), text) == 2 * UNIT.loop_trip + UNIT.loop_setup


def test_tile_with_a_remainder() -> None:
    text = "matmul:100x8x8:f32"
    assert after(Tile("m", 48), text) == [
        "main 2 matmul:48x8x8:f32:lhs=[0,1,2]/strided:out=[0,1,2]/strided",
        "remainder 1 matmul:4x8x8:f32:lhs=[0,1,2]/strided:out=[0,1,2]/strided",
    ]
    # The rows of the remainder are too few to be paid in it: lhs and out have 4.
    rows = 2 * 4 * UNIT.row_gl
    loops = 2 * UNIT.loop_trip + 2 * UNIT.loop_setup
    assert cost(Tile("m", 48), text) == loops + rows


def test_tile_of_packs() -> None:
    text = "fill:4x40:f32:out=[0,1,1p16]"
    for size in (1, 2, 4, 8, 16, 32):
        assert Tile("d1", size).apply(spec(text), AVX2).holes
    odd_even = "fill:4x40:f32:out=[0,1,1oe8]"
    for size in (1, 8, 16, 24):
        assert Tile("d1", size).apply(spec(odd_even), AVX2).holes


def test_tile_of_what_is_not_in_registers() -> None:
    text = "max_accum:9x8:f32:src=[0,1]@L1:out=[0]@L1"
    assert after(Tile("m", 8), text) == [
        "main 1 max_accum:8x8:f32:src=[0,1]@L1:out=[0]@L1",
        "remainder 1 max_accum:1x8:f32:src=[0,1]@L1:out=[0]@L1",
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
    assert cost(Split("k", 256), text) == 2 * UNIT.loop_trip + 2 * UNIT.loop_setup


def test_to_accum() -> None:
    assert after(ToAccum(), "matmul:2x4x5x6:s32") == [
        "init 1 fill:2x4x6:s32",
        "body 1 matmul_accum:2x4x5x6:s32",
    ]
    assert after(ToAccum(), "max:4x5:f32:src=[1,0]:l1=3") == [
        "init 1 fill:4:f32:value=lowest:l1=3",
        "body 1 max_accum:4x5:f32:src=[1,0]:l1=3",
    ]
    assert cost(ToAccum(), "matmul:4x5x6") == 0


def test_move_into_a_cache_models_its_lines() -> None:
    text = "matmul:8x16x16:f32"
    assert after(Move("lhs", Level.L1, ROWS), text) == [
        "body 1 matmul:8x16x16:f32:lhs=[0,1,2]@L1:l1=256"
    ]
    assert cost(Move("lhs", Level.L1, ROWS), text) == 8 * HIDDEN
    assert cost(Move("out", Level.L2, ROWS), text) == 8 * WRITTEN
    near = "matmul:8x16x16:f32:lhs=[0,1,2]@L2"
    assert cost(Move("lhs", Level.L1, ROWS), near) == 8 * UNIT.hidden_l2


def test_lines_that_are_used_once_are_waited_for() -> None:
    assert cost(Move("rhs", Level.L2, ROWS), "matmul:15x16x16") == 16 * UNIT.line_gl
    assert cost(Move("rhs", Level.L2, ROWS), "matmul:16x16x16") == 16 * UNIT.hidden_gl
    flat = Layout.row_major(2)
    assert cost(Move("src", Level.L2, flat), "move:4x16") == 4 * UNIT.line_gl
    assert cost(Move("dst", Level.L2, flat), "move:4x16") == 4 * WRITTEN
    assert cost(Move("dst", Level.L2, flat), "move:1x64") == 4 * UNIT.store_gl
    near = "move:4x16:dst=[0,1]@L2"
    assert cost(Move("dst", Level.L1, flat), near) == 4 * UNIT.store_l2
    both = UNIT.line_gl + WRITTEN
    assert cost(Move("out", Level.L2, ROWS), "matmul_accum:16x15x16") == 16 * both


def test_a_copy_waits_for_lines_that_came_to_l2_for_products() -> None:
    """What is packed at once costs the same with a stop in L2 as without."""
    panels, text = Layout.parse("[0,2,1,2p16]"), "matmul:{}x16x16:f32:rhs=[0,1,2]@{}"
    packed = Move("rhs", Level.L2, panels)
    waited = 16 * (UNIT.line_gl - UNIT.hidden_gl)
    setup = cost(packed, text.format(16, "MEM"))
    assert cost(packed, text.format(16, "L2")) == setup + waited
    assert cost(packed, text.format(15, "L2")) == setup  # waited for on their way
    again = Move("rhs", Level.L1, panels)  # for each block: the tile is there
    assert cost(again, text.format(16, "L2")) == setup
    written = Move("out", Level.L2, panels)
    assert cost(written, "matmul:16x16x16:f32:out=[0,1,2]@L2") == setup


def test_rows_with_gaps_cost_more_where_they_are_many() -> None:
    flat = Layout.row_major(2)
    few, many = (f"move:{n}x16:src=[0,1]/strided" for n in (4, 5))
    assert cost(Move("src", Level.L1, flat), few) == 4 * LINE
    five = 5 * (LINE + UNIT.row_gl)
    assert cost(Move("src", Level.L1, flat), many) == five
    turned = "move:8x16:src=[0,1]/strided:dst=[1,0]"  # dst has no rows along them
    assert cost(Move("src", Level.L1, flat), turned) == 8 * LINE
    text = "matmul:4x16x16:f32:lhs=[0,1,2]/strided"
    assert cost(Move("lhs", Level.L1, ROWS), text) == 4 * HIDDEN
    assert after(Move("lhs", Level.L1, ROWS), text) == [
        "body 1 matmul:4x16x16:f32:lhs=[0,1,2]@L1/strided:l1=256"
    ]


def test_rows_are_paid_once_however_loops_are_made() -> None:
    """A loop of tiles of many rows leaves them to what is in it."""
    setup = UNIT.loop_setup
    tile = "src=[0,1]/strided:dst=[0,1]/strided"
    whole = cost(Tile("d0", 4), f"move:48x16:{tile}")
    assert whole == 12 * UNIT.loop_trip + setup + 2 * 48 * UNIT.row_gl
    outer = cost(Tile("d0", 12), f"move:48x16:{tile}")
    assert outer == 4 * UNIT.loop_trip + setup
    inner = cost(Tile("d0", 4), f"move:12x16:{tile}")
    assert inner == 3 * UNIT.loop_trip + setup + 2 * 12 * UNIT.row_gl
    few = cost(Tile("d0", 1), f"move:4x16:{tile}")
    assert few == 4 * UNIT.loop_trip + setup
    along = cost(Tile("d1", 4), f"move:48x16:{tile}")
    assert along == 4 * UNIT.loop_trip + setup


@pytest.mark.parametrize(
    ("columns", "around", "free"),
    [(16, "aliased", 16), (15, "aliased", 4), (16, "apart", 16)],
)
def test_rows_of_pieces_that_share_sets_have_to_fit_l1(
    columns: int, around: str, free: int
) -> None:
    """A line of 16 elements comes again for its next piece, if it was pushed out."""
    base = ALIASED if around == "aliased" else AVX2
    target = dataclasses.replace(base, streams=32)
    tile = "src=[0,1]/strided:dst=[0,1]/strided"
    row = UNIT.row_aliased if around == "aliased" else UNIT.row_gl
    for rows in (free, free + 1):
        paid = cost(Tile("d0", 1), f"move:{rows}x{columns}:{tile}", target)
        loop = rows * UNIT.loop_trip + UNIT.loop_setup
        assert paid == loop + (2 * rows * row if rows > free else 0)


def test_more_aliased_rows_than_l2_is_sure_to_hold_cost_more() -> None:
    text = "matmul:{}x16x16:f32:lhs=[0,1,2]/strided"
    move = Move("lhs", Level.L2, ROWS)
    each = UNIT.hidden_gl + UNIT.row_aliased
    assert cost(move, text.format(128), ALIASED) == 128 * each
    assert cost(move, text.format(129), ALIASED) == 129 * (each + UNIT.crowd_l2)
    assert cost(move, text.format(129)) == 129 * (UNIT.hidden_gl + UNIT.row_gl)


def test_aliased_rows_that_come_again_are_paid_for_each_pass() -> None:
    text, move = "matmul:{}x16x{}:f32:lhs=[0,1,2]/strided", Move("lhs", Level.L2, ROWS)
    more = cost(move, text.format(129, 64), ALIASED)
    once = cost(move, text.format(129, 16), ALIASED)
    assert more - once == 3 * 129 * UNIT.crowd_l2
    wide = AVX2.in_context(dataclasses.replace(ALIASED.operand_context, apart=128))
    rows = 65 * (UNIT.hidden_gl + UNIT.row_aliased + UNIT.crowd_l2)
    assert cost(move, text.format(65, 16), wide) == rows


def test_lines_of_panels_come_while_the_core_computes() -> None:
    text, move = "matmul:{}x16x32:f32:rhs=[0,2,1,2p16]", Move("rhs", Level.L1, PANELS)
    assert cost(move, text.format(1)) == 32 * LINE
    stream = UNIT.stream_gl + UNIT.stream_l2
    assert cost(move, text.format(2)) == 32 * stream
    prices = dataclasses.replace(UNIT, stream_far=UNIT.stream_gl + 300)
    shared = dataclasses.replace(AVX2, coefficients=prices)
    far = shared.in_context(OperandContext(far=True))  # a copy: most of it is in L3
    assert cost(move, text.format(2), far) == 32 * (stream + 300)
    own = AVX2.in_context(OperandContext(far=True, packed=("rhs",)))
    hidden = UNIT.hidden_dram + UNIT.hidden_l2
    assert cost(move, text.format(16), own) == 32 * hidden


def test_a_copy_that_l3_does_not_hold_is_paid_for_each_pass() -> None:
    move, setup = Move("rhs", Level.MEM, PANELS), UNIT.loop_setup
    third = AVX2.l3_lines // 3
    assert cost(move, f"matmul:64x{third}x16:f32") == setup
    lines = third + 1
    paid = 4 * lines * UNIT.stream_dram
    assert cost(move, f"matmul:64x{lines}x16:f32") == setup + paid


def test_a_piece_of_a_line_costs_its_part_in_a_copy() -> None:
    flat, text = Layout.row_major(2), "move:{}x{}:src=[0,1]/strided"
    move = Move("src", Level.L2, flat)
    for turned in ("", ":dst=[1,0]"):
        given = text + turned
        assert cost(move, given.format(1, 4)) == UNIT.line_gl // 4
        assert cost(move, given.format(1, 17)) == 2 * UNIT.line_gl
        assert cost(move, given.format(2, 4)) == UNIT.line_gl // 2
        assert cost(move, given.format(1, 1)) == UNIT.line_gl // 16
    panel = Move("src", Level.L2, Layout.parse("[1,0,1p16]"))
    lines = cost(panel, "move:2x16:src=[1,0,1p16]/strided")
    assert lines == cost(panel, "move:1x32:src=[1,0,1p16]/strided") == 2 * UNIT.line_gl


def test_a_piece_of_an_aliased_line_costs_its_part_if_it_is_alone() -> None:
    """The next piece need not find its line in a tile of several rows."""
    flat, text = Layout.row_major(2), "move:{}x{}:src=[0,1]/strided"
    move = Move("src", Level.L2, flat)
    assert cost(move, text.format(1, 4), ALIASED) == UNIT.line_gl // 4
    assert cost(move, text.format(2, 4), ALIASED) == 2 * UNIT.line_gl
    assert cost(move, text.format(1, 1), ALIASED) == UNIT.line_gl // 16
    turned = text.format(1, 4) + ":dst=[1,0]"
    assert cost(move, turned, ALIASED) == UNIT.line_gl


@pytest.mark.parametrize(
    ("columns", "start", "shared"),
    [
        (16, 64, 0),
        (32, 64, 0),
        (8, 64, 32),
        (12, 64, 48),
        (20, 64, 48),
        (5, 64, 60),
        (16, 32, 32),  # rows of 1000 floats begin at lines and in the middle of them
        (8, 32, 32),
        (16, 4, 60),
        (5, 16, 60),
    ],
)
def test_a_line_that_pieces_of_rows_share_comes_again_after_other_rows(
    columns: int, start: int, shared: int
) -> None:
    """Pieces of n bytes begin at multiples of n from where rows begin."""
    rows = AVX2.l1_lines
    text = f"move:{rows}x{columns}:src=[0,1]/strided:dst=[0,1]@L1"
    loop = rows // 4 * UNIT.loop_trip + UNIT.loop_setup
    begin = min(4 * columns, 64)  # of so many pieces of 64 begins a line
    again = rows * (begin * UNIT.row_gl + shared * UNIT.line_l2) // 64
    target = AVX2.in_context(OperandContext(begins=(("src", start),)))
    assert cost(Tile("d0", 4), text, target) == loop + again
    move = Move("src", Level.L2, Layout.row_major(2))
    lines = rows * columns // 16 if columns < 16 else rows * -(-columns // 16)
    assert cost(move, text, target) == lines * UNIT.line_gl + again


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (AVX2.l1_lines // 2, 0),
        (AVX2.l1_lines // 2 + 2, UNIT.line_l2),
        (AVX2.l2_lines // 2, UNIT.line_l2),
        (AVX2.l2_lines // 2 + 2, UNIT.line_gl),
    ],
)
def test_a_line_comes_again_from_where_it_is(rows: int, line: int) -> None:
    """A cache holds a line each of half as many rows as it has lines."""
    loop = rows * UNIT.loop_trip + UNIT.loop_setup
    text = f"move:{rows}x8:src=[0,1]/strided:dst=[0,1]@L1"
    assert cost(Tile("d0", 1), text) == loop + rows * (UNIT.row_gl + line) // 2
    line = min(line, UNIT.line_l2)
    near = f"move:{rows}x8:src=[0,1]@L2/strided:dst=[0,1]@L1"
    assert cost(Tile("d0", 1), near) == loop + rows * (UNIT.row_l2 + line) // 2


def test_a_line_that_comes_again_is_paid_once_however_loops_are_made() -> None:
    """What tiles pay that have few enough rows is taken off."""
    tile = "src=[0,1]/strided:dst=[0,1]@L1"
    rows = AVX2.l2_lines

    def paid(rows: int, size: int) -> int:
        loop = rows // size * UNIT.loop_trip + UNIT.loop_setup
        return cost(Tile("d0", size), f"move:{rows}x8:{tile}") - loop

    whole = rows * (UNIT.row_gl + UNIT.line_gl) // 2
    assert paid(rows, 4) == whole
    for size in (64, 2 * AVX2.l1_lines):
        assert paid(rows, size) + rows // size * paid(size, 4) == whole


def test_a_written_line_that_pieces_share_is_brought_from_where_it_is() -> None:
    text, rows = "move:{}x8:src=[0,1]@L1:dst=[0,1]/strided", AVX2.l1_lines
    loop = rows // 4 * UNIT.loop_trip + UNIT.loop_setup
    paid = rows * (UNIT.row_gl + UNIT.store_l2) // 2
    assert cost(Tile("d0", 4), text.format(rows)) == loop + paid
    near = AVX2.in_context(OperandContext(near=True))
    paid = rows * (UNIT.row_l2 + UNIT.store_l2) // 2
    assert cost(Tile("d0", 4), text.format(rows), near) == loop + paid
    rows = AVX2.l2_lines
    loop = rows // 4 * UNIT.loop_trip + UNIT.loop_setup
    paid = rows * (UNIT.row_gl + UNIT.store_gl + UNIT.turn_copy) // 2
    assert cost(Tile("d0", 4), text.format(rows)) == loop + paid


def test_rows_of_a_copy_are_not_aliased() -> None:
    text = "matmul:8x{}x{}:f32:rhs=[0,2,1,2p16]"
    for level, k, n in ((Level.L1, 40, 160), (Level.L2, 64, 1600)):
        move, given = Move("rhs", level, PANELS), text.format(k, n)
        assert cost(move, given, ALIASED) == cost(move, given)


def test_more_long_rows_than_l1_has_ways_cost_more_if_aliased() -> None:
    text = "matmul_accum:{}x{}x32:f32:rhs=[0,1,2]@L1/strided:out=[0,1,2]/strided"
    move = Move("out", Level.L1, ROWS)

    def crowd(m: int, k: int, given: str = text) -> int:
        given = given.format(m, k)
        rows = m * (UNIT.row_aliased - UNIT.row_gl) * (m > 4)
        return cost(move, given, ALIASED) - cost(move, given) - rows

    assert crowd(4, 3) == 0  # a way is left for what is passed beside them
    assert crowd(4, 4) == 4 * 2 * UNIT.crowd_l1
    assert crowd(6, 8) == 6 * 2 * UNIT.crowd_l1
    assert crowd(6, 8, text.replace("x32:", "x16:")) == 0  # a line each
    panel = text.replace("[0,1,2]@L1/strided", "[0,2,1,2p16]@L1")
    assert crowd(4, 8, panel) == 0
    assert crowd(4, 192, panel) == 4 * 2 * UNIT.crowd_panel  # 6 ways


def test_operands_are_aliased_one_by_one() -> None:
    text, flat = "move:8x16:dst=[0,1]/strided:src=[0,1]/strided", Layout.row_major(2)
    seen = AVX2.in_context(OperandContext(aliased=("src",), other=("dst",)))
    move = Move("src", Level.L1, flat)
    assert cost(move, text, seen) == 8 * (LINE + UNIT.row_aliased)
    move = Move("dst", Level.L1, flat)
    written = WRITTEN + UNIT.store_l2
    assert cost(move, text, seen) == 8 * (written + UNIT.row_gl)
    # Of a product only names of its own are known: a packed operand may be any.
    below = AVX2.in_context(OperandContext(aliased=("lhs",), other=("rhs", "out")))
    assert cost(move, text, below) == 8 * (written + UNIT.row_aliased)


def test_threads_share_what_is_beyond_l2() -> None:
    two = dataclasses.replace(AVX2, threads=2)
    spec = parse_spec("move:4x16", AVX2.limits)
    action = Move("src", Level.L2, Layout.row_major(2))
    lines = 4 * UNIT.line_gl
    assert action.apply(spec, two).cost == lines + 4 * UNIT.shared_gl
    alone = dataclasses.replace(spec, serial=False)
    assert action.apply(alone, two).cost == lines


def test_move_to_another_layout_copies() -> None:
    text = "matmul:8x16x32:f32"
    assert after(Move("rhs", Level.L2, PANELS), text) == [
        "prologue 1 move:1x16x32:f32:dst=[0,2,1,2p16]@L2:l2=8192",
        "body 1 matmul:8x16x32:f32:rhs=[0,2,1,2p16]@L2:l2=8192",
    ]
    assert cost(Move("rhs", Level.L2, PANELS), text) == UNIT.loop_setup
    assert after(Move("rhs", Level.MEM, PANELS), text)[1] == (
        "body 1 matmul:8x16x32:f32:rhs=[0,2,1,2p16]"
    )


def test_move_of_what_is_written_copies_back() -> None:
    flipped = Layout.parse("[0,2,1]")
    assert after(Move("out", Level.L2, flipped), "matmul:8x16x32:f32") == [
        "body 1 matmul:8x16x32:f32:out=[0,2,1]@L2/strided:l2=8192",
        "epilogue 1 move:1x8x32:f32:src=[0,2,1]@L2/strided:l2=8192",
    ]
    holes = after(Move("out", Level.L2, flipped), "matmul_accum:8x16x32:f32")
    assert [hole.split()[0] for hole in holes] == ["prologue", "body", "epilogue"]


def test_move_into_registers() -> None:
    text = "matmul_accum:6x4x16:f32:lhs=[0,1,2]@L1:rhs=[0,1,2]@L1:out=[0,1,2]@L1"
    near = "lhs=[0,1,2]@L1:rhs=[0,1,2]@L1"
    assert after(Move("out", Level.VRF, ROWS), text) == [
        "prologue 1 move:1x6x16:f32:src=[0,1,2]@L1:dst=[0,1,2]@VRFv8:vrf=4",
        f"body 1 matmul_accum:6x4x16:f32:{near}:out=[0,1,2]@VRFv8:vrf=4",
        "epilogue 1 move:1x6x16:f32:src=[0,1,2]@VRFv8:dst=[0,1,2]@L1:vrf=4",
    ]


def test_what_is_left_of_a_cache_is_snapped_down() -> None:
    lines = {16: 256, 256: 256, 257: 128, 480: 32, 481: 0, 512: 0}
    for taken, left in lines.items():
        text = f"fill:{taken * 16}:f32"
        (hole,) = (
            Move("out", Level.L1, Layout.row_major(1)).apply(spec(text), AVX2).holes
        )
        assert hole.spec.limits == Limits(16, left, 16384)


def test_select() -> None:
    text = "fill:8:f32:out=[0]@L1"
    rewrite = Select("fill_rows").apply(spec(text), AVX2)
    assert rewrite.holes == ()
    assert rewrite.cost == KERNELS["fill_rows"].cost(Frame.of(spec(text)), UNIT)
    assert rewrite.total(()) == rewrite.cost


def test_candidates_are_values() -> None:
    """Frozen, hashable, ordered within a class, each once, and they print."""
    axes = ((1,), (1, 2, 4, 5), (1, 2, 3), (1, 8, 16))
    key = spec("matmul_accum:5x3x16:f32:out=[0,1,2]@L1").key
    for kind in ACTIONS:
        found = list(kind.candidates(key, axes, AVX2))
        assert len(set(found)) == len(found)
        assert sorted(found, key=str) == sorted(sorted(found), key=str)
        assert all(str(a).startswith(f"{kind.name}(") for a in found)
    assert str(Tile("m", 4)) == "tile(m, 4)"
    assert str(Move("rhs", Level.L1, PANELS)) == "move(rhs, L1, [0,2,1,2p16])"
    assert [str(a) for a in Split.candidates(key, axes, AVX2)] == [
        "split(k, 1)",
        "split(k, 2)",
    ]
    assert len(list(Tile.candidates(key, axes, AVX2))) == 5


def test_candidates_of_a_move() -> None:
    """Nearer caches, panels for matmul, registers for its output in L1."""
    key = spec("matmul_accum:5x3x16:f32:out=[0,1,2]@L1:lhs=[0,1,2,1p6]@L2").key
    found = {str(a) for a in Move.candidates(key, ((1,),) * 4, AVX2)}
    assert "move(lhs, L1, [0,1,2,1p6])" in found
    assert "move(out, VRF, [0,1,2])" in found
    assert {
        f"move(rhs, {level}, [0,2,1,2p16])" for level in ("MEM", "L2", "L1")
    } <= found
    assert not any("lhs" in a and "1p4" in a for a in found)
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
