"""What a target sees of a goal."""

import pytest

from morello.machine import AVX2, Target
from morello.machine.operand_context import OperandContext
from morello.machine.targets.avx2_golden_cove import AVX2_GOLDEN_COVE as GOLDEN_COVE
from morello.spec import parse_spec

pytestmark = pytest.mark.quick


def around(text: str) -> OperandContext:
    return AVX2.at(parse_spec(text, AVX2.limits)).operand_context


@pytest.mark.parametrize(
    "text",
    [
        "matmul:496x496x496:f32",
        "matmul:1008x1008x1008:f32",
        "move:1008x1008:f32:dst=[1,0]",
        "move:100001:f32",  # one row
        "matmul:1x1000000x1:f32:rhs=[0,2,1]",  # each operand is one row
        "matmul:1x100000x8:f32:rhs=[0,2,1,2p8]",  # or packed
    ],
)
def test_most_goals_are_seen_as_they_are(text: str) -> None:
    assert around(text) == OperandContext()
    assert AVX2.at(parse_spec(text, AVX2.limits)) is AVX2


@pytest.mark.parametrize(
    ("text", "aliased"),
    [
        ("move:1024x1024:f32", "src dst"),
        ("move:1024x512:f32", "src dst"),  # two sets of L1
        ("move:1024x256:f32", ""),
        ("move:2x1024:f32", "src dst"),
        ("move:1x1024:f32", ""),
        ("move:512x512x3x3:f32:dst=[1,2,3,0]", "src dst"),  # 18 KiB; 3 are no row
        ("move:512x512x7x7:f32", ""),
        ("move:512x2048:bf16:dst=[1,0]", "src"),
        ("move:1024x96:f32:dst=[1,0]", "dst"),  # its rows are 1024 long
        ("move:96x1024:f32:dst=[0,1,0p6]", "src"),
        ("matmul:1x2048x1024:f32", "rhs"),
        ("matmul:1x1024x2048:f32:rhs=[0,2,1]", "rhs"),
        ("matmul:1000x100x2048:s32", "rhs out"),
    ],
)
def test_rows_at_multiples_of_a_page_are_aliased(text: str, aliased: str) -> None:
    context = around(text)
    assert context.aliased == tuple(aliased.split())
    spec = parse_spec(text, AVX2.limits)
    for operand in spec.kind.operands:
        size = spec.dtypes[spec.kind.operands.index(operand)].itemsize
        assert context.has_aliased(operand.name, size) == (
            operand.name in context.aliased
        )
    assert context.has_aliased("of a copy", 1) == bool(aliased)


def test_rows_of_a_wider_copy_lie_further_apart() -> None:
    context = around("matmul:1000x512x1000:bf16,bf16,f32")
    assert context.widened == (("lhs", 4),)
    assert context.other == ("lhs", "rhs", "out")
    assert not context.has_aliased("lhs", 2)
    assert context.has_aliased("lhs", 4)
    assert context.has_aliased("of a move", 4)
    assert not context.has_aliased("rhs", 4)
    assert AVX2.in_context(context).prices == AVX2.coefficients
    bytes_ = around("matmul:1000x1024x512:u8,s8,s32")
    assert bytes_.widened == (("lhs", 2), ("rhs", 4))
    assert bytes_.aliased == ("out",)
    assert bytes_.has_aliased("lhs", 4)
    assert not bytes_.has_aliased("rhs", 2)


def test_how_far_aliased_rows_are_apart() -> None:
    """The greatest power of two of any operand, in lines."""
    lines = {1024: 64, 1280: 0, 1536: 32, 2048: 128, 3072: 64, 12288: 256}
    assert {n: around(f"fill:4x{n}:f32").row_distance for n in lines} == lines
    assert around("matmul:1024x4096x1000:f32").row_distance == 256
    assert AVX2.at(parse_spec("fill:4x4096:f32", AVX2.limits)).l2_rows == 32


def test_packed_operands_of_far_goals_are_known() -> None:
    """A copy of a part is in L3; what the goal is given is not."""
    assert around("matmul:1x4096x4096:f32:rhs=[0,2,1,2p16]").packed == ("rhs",)
    assert around("matmul:1x256x256:f32:rhs=[0,2,1,2p16]").packed == ()


def test_large_operands_are_far() -> None:
    lines = AVX2.l3_lines
    assert not around(f"fill:{lines * 16}:f32").far
    assert around(f"fill:{lines * 16 + 1}:f32").far
    assert around(f"move:{lines * 8 + 1}:f32").far  # both together
    assert not around(f"move:{lines * 8 + 1}:f32:src=[0]@L2").far


def test_small_operands_are_near() -> None:
    lines = 3 * GOLDEN_COVE.l2_lines // 4

    def near(text: str, target: Target = GOLDEN_COVE) -> bool:
        return target.at(parse_spec(text, target.limits)).operand_context.near

    assert near(f"fill:{lines * 16}:f32")
    assert not near(f"fill:{lines * 16 + 1}:f32")
    assert not near(f"move:{lines * 8 + 1}:f32")  # both together
    assert near(f"move:{lines * 8 + 1}:f32:src=[0]@L2")
    assert not near("move:64:f32:src=[0]@L2:dst=[0]@L1")  # none is said to be beyond


def test_a_target_that_has_been_seen_forgets_an_earlier_goal() -> None:
    far = AVX2.at(parse_spec("move:4096x4096:f32", AVX2.limits))
    assert far.operand_context == OperandContext(
        far=True, aliased=("src", "dst"), row_distance=256
    )
    assert far != AVX2
    assert far.at(parse_spec("move:1008x1008:f32", AVX2.limits)) == AVX2


def test_prices_follow_the_context() -> None:
    costs = AVX2.coefficients
    assert AVX2.prices == costs
    far = AVX2.in_context(OperandContext(far=True)).prices
    assert far.line_mem_demand == costs.line_dram_demand
    assert far.line_mem_overlapped == costs.line_dram_overlapped
    assert far.line_mem_fetched == costs.line_dram_fetched
    assert far.store_mem == costs.store_dram
    assert far.stream_start_mem == costs.stream_start_dram
    near = AVX2.in_context(OperandContext(near=True)).prices
    assert near.line_mem_demand == near.line_mem_overlapped == 0
    assert near.line_mem_fetched == 0
    assert near.store_mem == near.stream_start_mem == 0


@pytest.mark.parametrize(
    ("text", "crossing"),
    [
        ("matmul:8x16x17:f32", ("rhs", "out")),
        ("matmul:8x17x16:f32", ("lhs",)),
        ("matmul:1x16x17:f32", ("rhs",)),
        ("matmul:8x16x17:f32:out=ld32", ("rhs",)),
        ("matmul:8x16x17:f32:out=ld?", ("rhs",)),  # a call says where they begin
        ("matmul:8x17x16:f32:lhs=ld?", ()),
        ("matmul:8x17x16:f32:lhs=ld20", ("lhs",)),
        ("move:40x40:bf16:dst=[1,0]", ("src", "dst")),
        ("move:8x40:bf16:dst=[0,1,1p16]", ("src",)),
    ],
)
def test_operands_whose_rows_begin_within_lines(
    text: str, crossing: tuple[str, ...]
) -> None:
    spec = parse_spec(text, AVX2.limits)
    assert AVX2.at(spec).operand_context.crossing == crossing


def test_an_image_whose_copy_l2_has_no_room_for_is_not_near() -> None:
    """What is copied takes of what is free of L2, even where the image takes none."""
    golden = GOLDEN_COVE.limits
    for size, near in ((56, True), (70, False)):
        text = f"conv:1x64x{size}x{size}x16x3x3:f32:pad=1:stride=2"
        assert GOLDEN_COVE.at(parse_spec(text, golden)).operand_context.near == near


def test_parts_of_a_context_that_tiles_depend_on() -> None:
    whole = OperandContext(
        far=True,
        aliased=("lhs", "rhs"),
        widened=(("out", 8),),
        other=("out",),
        row_distance=64,
        packed=("rhs",),
        crossing=("out",),
    )
    text = "matmul:6x8x16:f32:lhs=[0,1,2]@{}:rhs={}@{}:out=[0,1,2]@{}"

    def below(
        lhs: str, rhs: str, out: str, layout: str = "[0,2,1,2p16]"
    ) -> OperandContext:
        goal = parse_spec(text.format(lhs, layout, rhs, out), AVX2.limits)
        return whole.below(goal.key)

    far = below("MEM", "MEM", "MEM")
    assert (far.far, far.packed, far.row_distance) == (True, ("rhs",), 64)
    assert far.aliased == ("lhs",)
    assert below("L1", "L1", "L1") == OperandContext(crossing=("out",))
    packed = below("L1", "L2", "L1")  # its rows are nowhere any more
    assert packed == OperandContext(crossing=("out",))
    rows = below("L2", "L2", "L1", "[0,1,2]")  # they push each other out of L2
    assert (rows.far, rows.row_distance, rows.packed) == (True, 64, ())
    panels = below("L2", "L2", "L1")  # kernels that read them read no rows again
    assert (panels.far, panels.row_distance, panels.packed) == (False, 64, ())
    near = parse_spec("matmul:6x8x16:f32", AVX2.limits).key
    assert OperandContext().below(near) == OperandContext()
