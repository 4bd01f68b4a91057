"""Every reason for which an action does not apply."""

import pytest

from morello.actions import Action, Move, Select, Split, Tile, ToAccum
from morello.errors import ScheduleError
from morello.machine import AVX2
from morello.spec import L1, L2, VRF, Layout, parse_spec

pytestmark = pytest.mark.quick

ROWS = Layout.row_major(3)
PANELS = Layout.parse("[0,2,1,2p16]")
FLAT = Layout.row_major(2)
IN_REGISTERS = "out=[0,1,2]@VRFv8"


@pytest.mark.parametrize(
    ("text", "action", "reason"),
    [
        ("matmul:8x8x8", Tile("m", 0), "size 0 is not positive"),
        ("matmul:8x8x8", Tile("m", -3), "size -3 is not positive"),
        ("matmul:8x8x8", Tile("m", 8), "size 8 is not smaller than m = 8"),
        ("matmul_accum:8x8x8", Split("k", 9), "size 9 is not smaller than k = 8"),
        (
            "matmul:8x8x48:f32:rhs=[0,2,1,2p16]",
            Tile("n", 24),
            "size 24 is neither a multiple nor a divisor of the pack of 16 in the "
            "layout [0,2,1,2p16] of 'rhs'",
        ),
        (
            "fill:4x32:f32:out=[0,1,1oe8]",
            Tile("d1", 4),
            "size 4 is neither a multiple nor a divisor of the pack of 8 in the layout "
            "[0,1,1oe8] of 'out'",
        ),
        (
            "compose:4x8x96:f32:graph=out y[m,n]+=sum(a[m,k]*s[k//32,n]*b[k,n])",
            Split("d2", 24),
            "size 24 is neither a multiple nor a divisor of the 32 d2 for which 'x1' "
            "has one element",
        ),
        ("matmul:8x8x8", Tile("k", 4), "'k' is a reduction: use split"),
        (
            "matmul:8x8x8",
            Tile("x", 4),
            "'x' is not a dimension of the output of matmul outside registers; those "
            "are: b, m, n",
        ),
        (
            f"matmul_accum:2x2x8:f32:{IN_REGISTERS}:vrf=4",
            Tile("m", 1),
            "'m' is not a dimension of the output of matmul_accum outside registers; "
            "those are: none",
        ),
        (
            "matmul_accum:8x8x8",
            Split("m", 4),
            "'m' is not a reduction of matmul_accum; those are: k",
        ),
        ("fill:8", Split("d0", 4), "'d0' is not a reduction of fill; those are: none"),
        (
            "matmul:8x8x8",
            Split("k", 4),
            "matmul overwrites its output: use to_accum first, or peel",
        ),
        (
            "matmul_accum:8x8x8",
            ToAccum(),
            "matmul_accum is not a reduction that overwrites its output",
        ),
        ("move:8", ToAccum(), "move is not a reduction that overwrites its output"),
        (
            "matmul:8x8x8",
            Move("src", L1, ROWS),
            "it has no operand 'src'; those are: lhs, rhs, out",
        ),
        (
            "matmul:8x8x8",
            Move("lhs", L1, FLAT),
            "the layout [0,1] has 2 dimensions, not 3",
        ),
        (
            f"matmul_accum:2x2x8:f32:{IN_REGISTERS}:vrf=4",
            Move("out", L1, ROWS),
            "'out' is in registers already",
        ),
        (
            "matmul:8x8x8:f32:lhs=[0,1,2]@L1",
            Move("lhs", L2, ROWS),
            "L2 is farther than L1",
        ),
        (
            "matmul:8x8x8:f32:rhs=[0,2,1]@L2",
            Move("rhs", L2, Layout.parse("[0,2,1]")),
            "'rhs' is in L2 with the layout [0,2,1] already",
        ),
        (
            "move:8x8:f32:src=[0,1]@L1",
            Move("src", VRF, FLAT),
            "a move has no operand of its own in registers",
        ),
        (
            "matmul_accum:2x2x8",
            Move("out", VRF, ROWS),
            "registers are filled from L1, not from MEM",
        ),
        (
            "matmul_accum:2x2x8:f32:out=[0,1,2]@L1",
            Move("out", VRF, Layout.parse("[0,2,1]")),
            "registers hold row-major tiles, not [0,2,1]",
        ),
        (
            "move:8x8",
            Move("src", L1, Layout.parse("[1,0]")),
            "a move changes the layout itself: its operands only change caches",
        ),
        (
            "matmul:8x8x8",
            Move("rhs", L2, PANELS),
            "'rhs' is narrower than the pack of 16 in [0,2,1,2p16]",
        ),
        (
            "matmul:8x16x16:f32:l1=15",
            Move("rhs", L1, ROWS),
            "'rhs' takes 16 cache lines of L1, 15 are free",
        ),
        (
            "matmul:8x16x16:f32:l2=15",
            Move("rhs", L2, PANELS),
            "'rhs' takes 16 cache lines of L2, 15 are free",
        ),
        (
            "matmul_accum:2x2x9:f32:out=[0,1,2]@L1:vrf=3",
            Move("out", VRF, ROWS),
            "'out' takes 4 registers of VRF, 3 are free",
        ),
        (
            "matmul:9x8x8:f32:lhs=[0,1,2]/strided",
            Move("lhs", L1, ROWS),
            "'lhs' has 9 rows with gaps between them, more than the 8 ways of L1: "
            "their lines may push each other out",
        ),
        (
            "fill:8",
            Select("scalar"),
            "kernel 'scalar' does not implement Fill(rank=1, value='zero') "
            "f32@MEM[0]!; those that do: none",
        ),
        (
            "fill:8:f32:out=[0]@L1",
            Select("nothing"),
            "kernel 'nothing' does not implement Fill(rank=1, value='zero') "
            "f32@L1[0]!; those that do: fill_rows",
        ),
        (
            "move:2x1:f32:src=[0,1]@L1:dst=[0,1]@L1",
            Select("scalar"),
            "takes one element: tile every dimension to 1",
        ),
    ],
)
def test_the_reason(text: str, action: Action, reason: str) -> None:
    spec = parse_spec(text, AVX2.limits)
    with pytest.raises(ScheduleError) as caught:
        action.apply(spec, AVX2)
    assert str(caught.value) == f"{action.name} does not apply to {spec}: {reason}"
