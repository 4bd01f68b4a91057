"""The terms of the affine cost model, each by the coefficient that it is made of."""

import dataclasses

import numpy as np
import pytest

from morello.actions import Move
from morello.actions.loops.base import tile_key
from morello.cost.affine import CROSSING, STREAMS
from morello.cost.cache_conflicts import is_read_across
from morello.cost.counts import Access, Lines, OpCounts, Phase, add, times
from morello.cost.of_target import cost_model
from morello.learned.ledger import with_costs
from morello.machine import AVX2, Target
from morello.machine.operand_context import OperandContext
from morello.spec import L1, L2, MEM, Layout, Memory, parse_spec
from morello.spec.frame import Frame
from tests.cost.terms import FILE, table
from tests.tables import check_table

pytestmark = pytest.mark.quick

C, OPS = AVX2.coefficients, AVX2.ops
ROWS = Layout.row_major(3)
PANELS = Layout.parse("[0,2,1,2p16]")
ALIASED = AVX2.in_context(
    OperandContext(aliased=("lhs", "rhs", "out"), row_distance=64)
)


def cost(text: str, operand: str, level: Memory, target: Target = AVX2) -> int:
    """What it costs that an operand of a Spec comes to a cache as it is."""
    spec = parse_spec(text, target.limits)
    index = [o.name for o in spec.kind.operands].index(operand)
    layout = spec.tensors[index].layout
    return Move(operand, level, layout).apply(spec, target).cost


def kernel(
    counts: OpCounts, text: str = "matmul:6x16x16:f32", target: Target = AVX2
) -> int:
    """What a kernel costs beside entering it."""
    spec = parse_spec(text, AVX2.limits)
    entry = counts.kernels * C.loop
    return int(cost_model(target).kernel(Frame.of(spec), counts)) - entry


def test_further_passes_over_lines_come_from_l2_as_far_as_its_sets_hold_them() -> None:
    """Of 256 rows with gaps, 4 KiB apart: L2 is sure to hold half of them."""
    spec = parse_spec("matmul:6x256x16:f32", AVX2.limits)
    frame = Frame(tile_key(spec.key, 3), spec.sizes, spec.limits)

    def lines(passes: int, target: Target) -> int:
        read = Phase(lines=(Lines(1, 10, Access.OVERLAPPED, passes=passes),))
        return int(cost_model(target).kernel(frame, OpCounts((read,), kernels=0)))

    once = lines(0, AVX2)
    assert ALIASED.l2_rows < 256
    assert lines(3, AVX2) == once + 30 * C.line_l2
    assert lines(0, ALIASED) == once
    assert lines(3, ALIASED) == lines(3, AVX2) + 30 * C.line_mem_demand


def test_rows_prefetched_too_far_ahead_for_l2_come_from_dram_once_more() -> None:
    spec = parse_spec("matmul:6x256x16:f32", AVX2.limits)
    frame = Frame(tile_key(spec.key, 3), spec.sizes, spec.limits)

    def lines(rows: int, target: Target) -> int:
        read = Lines(1, 10, Access.OVERLAPPED, prefetched=True, ahead=rows)
        counts = OpCounts((Phase(lines=(read,)),), kernels=0)
        return int(cost_model(target).kernel(frame, counts))

    context = dataclasses.replace(ALIASED.operand_context, far=True)
    far = ALIASED.in_context(context)
    most = lines(far.l2_rows, far)
    assert lines(far.l2_rows + 1, far) == most + 10 * C.line_dram_overlapped
    assert lines(256, ALIASED) == lines(0, ALIASED)
    assert lines(256, AVX2) == lines(0, AVX2)


def test_aliased_rows_leave_l2_where_those_of_another_come_beside_them() -> None:
    def more(m: int, rows: int) -> int:
        spec = parse_spec(f"matmul_accum:{m}x8x16:f32", AVX2.limits)
        frame = Frame(tile_key(spec.key, 3), spec.sizes, spec.limits)

        def of(beside: int | None) -> int:
            read = Lines(2, 10, Access.OVERLAPPED, beside=beside)
            counts = OpCounts((Phase(lines=(read,)),), kernels=0)
            return int(cost_model(ALIASED).kernel(frame, counts))

        return of(rows) - of(None)

    assert ALIASED.l2_rows == 128
    assert more(64, 64) == 0
    assert more(64, 65) == 10 * C.line_mem_demand
    assert more(129, 64) == 0  # `of_tile` has charged them


def test_multiply_adds_take_ports_of_vector_operations() -> None:
    """Vector operations overlap with them where none of these ports multiplies."""
    phase = OpCounts((Phase({"fma": 100, "vector_op": 120}),), kernels=0)
    some = dataclasses.replace(AVX2, some_ports_multiply=True)
    apart = dataclasses.replace(some, some_ports_multiply=False)
    same = dataclasses.replace(apart, shared_ports=True)
    assert kernel(phase, target=some) == 220 * OPS.vector_op
    assert kernel(phase, target=apart) == max(100 * OPS.fma, 120 * OPS.vector_op)
    assert kernel(phase, target=same) == 100 * OPS.fma + 120 * OPS.vector_op


def test_units_of_a_phase_overlap_and_phases_do_not() -> None:
    busy = Phase({"fma": 100, "load": 10, "store": 1})
    assert kernel(OpCounts((busy,))) == 100 * OPS.fma
    assert kernel(OpCounts((busy, busy))) == 200 * OPS.fma
    chained = Phase({"fma": 1}, {"fma": 50})
    assert kernel(OpCounts((chained,))) == 50 * OPS.fma_latency
    twice = dataclasses.replace(chained, times=2)
    assert kernel(OpCounts((twice,))) == 100 * OPS.fma_latency


def test_rows_overlap_as_far_as_schedulers_hold_them() -> None:
    """Short rows are bound by their instructions; long ones wait for their latency."""
    target = dataclasses.replace(AVX2, scheduler_entries=50)

    def row(multiplies: int, waits: int) -> int:
        phase = Phase({"fma": multiplies}, times=10, latency={"fma": waits})
        return kernel(OpCounts((phase,), kernels=0), target=target)

    assert row(4, 10) == 40 * OPS.fma
    alone = 100 * OPS.fma + 100 * OPS.fma_latency
    assert row(100, 100) == 10 * (alone // 2)
    assert row(10000, 1) == 10 * (10000 * OPS.fma)


def test_loads_of_both_kinds_share_a_unit() -> None:
    both = Phase({"load": 10, "masked_load": 10})
    assert kernel(OpCounts((both,))) == 10 * (OPS.load + OPS.masked_load)


def test_loops_and_trips_of_a_kernel() -> None:
    assert kernel(OpCounts((), loops=2, trips=3)) == 5 * C.loop


@pytest.mark.parametrize("access", [Access.DEMAND, Access.OVERLAPPED])
def test_lines_that_a_kernel_reads_come_through_each_level(access: Access) -> None:
    near = C.line_l2
    far = near + getattr(C, f"line_mem_{access.value}")
    read = OpCounts((Phase(lines=(Lines(1, 8, access),)),))
    form = "matmul:6x16x16:f32:rhs=[0,1,2]@{}"
    assert kernel(read, form.format("L1")) == 0
    assert kernel(read, form.format("L2")) == 8 * near
    assert kernel(read, form.format("MEM")) == 8 * far


def test_lines_that_a_kernel_prefetches_to_l1_have_their_price_beyond_l2() -> None:
    form = "matmul:6x16x16:f32:rhs=[0,1,2]@{}"
    fetched = C.line_mem_demand + 100
    target = with_costs(AVX2, {"line_mem_fetched": fetched})
    for access, far in (
        (Access.DEMAND, fetched),
        (Access.STREAMED, C.line_mem_demand),
        (Access.OVERLAPPED, C.line_mem_overlapped),
        (Access.STORED, C.store_mem),
    ):
        counts = OpCounts((Phase(lines=(Lines(1, 8, access, prefetched=True),)),))
        assert kernel(counts, form.format("L2"), target) == 0
        assert kernel(counts, form.format("MEM"), target) == 8 * far


def test_lines_that_are_not_hidden_add() -> None:
    lines = Lines(1, 8, Access.DEMAND, starts=2, hidden=False)
    counts = OpCounts((Phase({"fma": 1000}, lines=(lines,)),))
    arriving = 8 * (C.line_mem_demand + C.line_l2) + 2 * C.stream_start_mem
    assert kernel(counts) == 1000 * OPS.fma + arriving


def test_stores_that_cross_lines_add() -> None:
    """Where rows of the output do not begin on a line, wherever it lies."""
    target = AVX2.in_context(OperandContext(crossing=("out",)))
    spec = parse_spec("matmul:6x16x16:f32:out=[0,1,2]@L1", AVX2.limits)

    def more(operand: int, access: Access) -> int:
        lines = Phase({"fma": 1000}, lines=(Lines(operand, 8, access),))
        counts, frame = OpCounts((lines,)), Frame.of(spec)
        plain, crossing = (cost_model(t).kernel(frame, counts) for t in (AVX2, target))
        return int(crossing - plain)

    assert more(2, Access.STORED) == 8 * CROSSING * OPS.store
    assert more(2, Access.OVERLAPPED) == more(1, Access.STORED) == 0


def test_parts_of_rows_that_cross_lines_read_half_a_line_more() -> None:
    """Of an operand that a kernel reads where it lies, unless it is packed."""
    target = AVX2.in_context(OperandContext(crossing=("rhs",)))
    lines = Lines(1, 8, Access.OVERLAPPED, parts=4)
    counts = OpCounts((Phase(lines=(lines,)),), kernels=0)

    def of(rhs: str, target: Target) -> int:
        spec = parse_spec(f"matmul:6x16x16:f32:rhs={rhs}@MEM", AVX2.limits)
        return int(cost_model(target).kernel(Frame.of(spec), counts))

    each = C.line_mem_overlapped + C.line_l2
    assert of("[0,1,2]", target) == of("[0,1,2]", AVX2) + 2 * each == 10 * each
    assert of("[0,2,1,2p16]", target) == of("[0,2,1,2p16]", AVX2)


def test_parts_of_rows_in_a_tile_that_cross_lines_read_half_a_line_more() -> None:
    """Lines of an operand that comes nearer as it is, however few rows a tile has."""
    crossing = AVX2.in_context(OperandContext(crossing=("rhs",)))
    for rows in (1, 2):
        text = f"matmul_accum:4x{rows}x16:f32:rhs=[0,1,2]/strided"
        more = cost(text, "rhs", L1, crossing) - cost(text, "rhs", L1)
        assert more == rows * (C.line_mem_demand + C.line_l2) // 2
        assert cost(text, "lhs", L1, crossing) == cost(text, "lhs", L1)


def test_a_strip_that_a_reduction_reads_begins_a_stream_a_line() -> None:
    """Of a few rows each part begins one; rows that are read along begin none."""
    text = "matmul:64x{}x64:f32:rhs=[0,1,2]/strided"
    line = C.line_mem_demand
    few = STREAMS * (4 * line + C.stream_start_mem)
    assert cost(text.format(STREAMS), "rhs", L2) == few
    strip = 4 * 9 * (line + C.stream_start_mem)
    assert cost(text.format(9), "rhs", L2) == strip
    assert cost("matmul:9x64x64:f32:lhs=[0,1,2]/strided", "lhs", L2) == 4 * 9 * line


@pytest.mark.parametrize(
    ("image", "across"),
    [
        ("x0[pad(d0+d3,1,1),pad(d1+d4,1,1),d5]", False),
        ("x0[d5,pad(d0+d3,1,1),pad(d1+d4,1,1)]", False),
        ("x0[pad(d0+d3,1,1),d5,d1]", True),
    ],
)
def test_a_reduction_goes_along_the_last_axis_of_an_image_or_across(
    image: str, across: bool
) -> None:
    """Axes of an image are fewer than its dimensions: a window has two."""
    text = (
        f"compose:8x8x16x3x3x4:f32:graph=out v0[d0,d1,d2]=sum({image}*x1[d3,d4,d5,d2])"
    )
    spec = parse_spec(text, AVX2.limits)
    assert is_read_across(spec.key, 0) == across


def test_what_is_left_in_l2_is_waited_for() -> None:
    """Nothing asks for its lines; what is used in L1 hides the next one, but for parts
    of rows, which nothing follows."""
    text = "matmul_accum:{}x1x{}:f32:rhs=[0,1,2]/strided"
    demand, overlapped = C.line_mem_demand, C.line_mem_overlapped
    assert cost(text.format(64, 16), "rhs", L2) == demand
    assert cost(text.format(64, 16), "rhs", L1) == overlapped + C.line_l2
    assert cost(text.format(8, 64), "rhs", L1) == 4 * (demand + C.line_l2)
    hidden = (demand - overlapped) * 7 // 15
    assert cost(text.format(8, 80), "rhs", L1) == 5 * (demand - hidden + C.line_l2)


def test_a_copy_goes_on_in_rows() -> None:
    text, panels = "matmul:64x{}x16:f32:rhs=[0,1,2]/strided", PANELS

    def copied(k: int) -> int:
        spec = parse_spec(text.format(k), AVX2.limits)
        return Move("rhs", L1, panels).apply(spec, AVX2).cost

    assert copied(8) == C.loop
    assert copied(9) == C.loop + 9 * C.stream_start_mem


def test_strips_of_aliased_rows_miss_in_l1_however_they_are_split() -> None:
    text = "matmul_accum:6x{}x{}:f32:rhs=[0,1,2]@L2/strided"
    for k, n, lines in ((8, 16, 8), (2, 16, 2), (1, 16, 1), (4, 32, 8)):
        product = text.format(k, n)
        more = cost(product, "rhs", L1, ALIASED) - cost(product, "rhs", L1)
        assert more == lines * C.conflict_l1
    row = text.format(1, 512)
    assert cost(row, "rhs", L1, ALIASED) == cost(row, "rhs", L1)
    half = AVX2.in_context(
        dataclasses.replace(ALIASED.operand_context, row_distance=32)
    )
    product = text.format(8, 16)
    more = cost(product, "rhs", L1, half) - cost(product, "rhs", L1)
    assert more == 8 * (C.conflict_l1 // 2)


@pytest.mark.parametrize(("rows", "lines"), [(4, 0), (5, 25), (8, 40)])
def test_aliased_rows_fill_half_of_the_ways_of_l1(rows: int, lines: int) -> None:
    """Rows of five lines are no strip: of more than four the others push them out."""
    assert AVX2.l1_ways == 8
    product = f"matmul_accum:6x{rows}x80:f32:rhs=[0,1,2]@L2/strided"
    more = cost(product, "rhs", L1, ALIASED) - cost(product, "rhs", L1)
    assert more == lines * C.conflict_l1


def test_more_aliased_rows_than_l2_holds_come_again_in_each_pass() -> None:
    text = "matmul:{}x16x{}:f32:lhs=[0,1,2]/strided"

    def more(m: int, n: int) -> int:
        product = text.format(m, n)
        aliased = cost(product, "lhs", L2, ALIASED)
        return aliased - cost(product, "lhs", L2)

    assert ALIASED.l2_rows == 128
    assert more(128, 64) == 0
    assert more(129, 16) == 129 * C.line_mem_demand
    assert more(129, 64) == 4 * 129 * C.line_mem_demand


def test_buffers_are_not_aliased() -> None:
    text = "matmul:8x64x1600:f32:rhs=[0,2,1,2p16]"
    assert cost(text, "rhs", L2, ALIASED) == cost(text, "rhs", L2)


def test_lines_of_panels_arrive_meanwhile() -> None:
    text = "matmul:{}x16x32:f32:rhs=[0,2,1,2p16]"
    both = C.line_mem_overlapped + C.line_l2
    assert cost(text.format(2), "rhs", L1) == 32 * both
    packed = AVX2.in_context(OperandContext(far=True, packed=("rhs",)))
    line = C.line_dram_overlapped + C.line_l2
    assert cost(text.format(16), "rhs", L1, packed) == 32 * line


def test_arrays_cost_what_single_specs_cost() -> None:
    spec = parse_spec("matmul:64x64x64:f32:rhs=[0,1,2]/strided", AVX2.limits)
    sizes = np.arange(1, 40)
    move = Move("rhs", L2, ROWS)
    frame = Frame(spec.key, (1, 64, sizes, 64), spec.limits)
    costs = np.broadcast_to(move.expand(frame, ALIASED).cost, sizes.shape)
    for k, price in zip(sizes.tolist(), costs.tolist(), strict=True):
        one = Frame(spec.key, (1, 64, k, 64), spec.limits)
        assert int(move.expand(one, ALIASED).cost) == price


def test_each_row_of_a_tile_that_a_graph_writes_begins_a_stream() -> None:
    """Narrow tiles of many rows begin the same rows again and again."""
    text = "compose:8x64:f32:graph=y[r,n]=exp(x[r,n])"
    wide = text.replace("8x64", "2x256")
    narrow, broad = (cost(t, "v0", L1) for t in (text, wide))
    assert narrow - broad == 6 * C.stream_start_mem
    inside = AVX2.in_context(OperandContext(near=True))
    near = [cost(t, "v0", L1, inside) for t in (text, wide)]
    assert near[0] == near[1]


@pytest.mark.parametrize(
    ("columns", "order", "lines"), [(8, "[0,1]", 3), (24, "[0,1]", 7), (8, "[1,0]", 4)]
)
def test_a_copy_goes_on_in_a_line_unless_it_turns(
    columns: int, order: str, lines: int
) -> None:
    """Four rows that end in half a line: the tile with the other half is the next one,
    or comes later. A copy that turns has none that is next."""
    text = f"move:4x{columns}:f32:src=[0,1]@L2/strided:dst={order}@L1"
    assert cost(text, "src", L1) == lines * C.line_l2


def test_each_price_of_memory_is_another_in_dram() -> None:
    far = C.in_dram()
    names = {field.name for field in dataclasses.fields(C)}
    pairs = {name: name.replace("dram", "mem") for name in names if "dram" in name}
    assert len(pairs) == 5
    assert set(pairs.values()) < names
    for there, here in pairs.items():
        assert getattr(C, here) != getattr(C, there) == getattr(far, here)


def test_a_buffer_beyond_a_third_of_the_last_level_cache_comes_from_dram() -> None:
    """A packed rhs of 256 lines, which blocks of rows of lhs pass over."""
    spec = parse_spec("matmul:64x64x64:f32:rhs=[0,1,2]/strided", AVX2.limits)

    def packed(l3_lines: int) -> int:
        target = dataclasses.replace(AVX2, l3_lines=l3_lines)
        return Move("rhs", MEM, PANELS).apply(spec, target).cost

    near, far = packed(3 * 256), packed(3 * 256 - 1)
    assert packed(1 << 20) == near
    assert packed(1) == far
    passes, rest = divmod(far - near, 256 * C.line_dram_overlapped)
    assert (rest, passes > 0) == (0, True)


def test_a_temporary_costs_a_store_of_each_of_its_lines() -> None:
    model = cost_model(AVX2)
    assert [int(model.temporary(lines)) for lines in (0, 1, 9)] == [
        0,
        OPS.store,
        9 * OPS.store,
    ]


def test_parts_of_loops_cost_alike_and_threads_are_called_once() -> None:
    """A trip, the remainder, and the way out; a fork, however many trips are shared."""
    model = cost_model(AVX2)
    assert int(model.loop(0, 0)) == C.loop
    assert int(model.loop(5, 0)) == int(model.loop(4, 1)) == 6 * C.loop
    for trips, rest in ((0, 0), (4, 1)):
        fork = model.parallel(trips, rest) - model.loop(trips, rest)
        assert int(fork) == C.fork > 0


def test_terms_are_as_listed() -> None:
    """In each context that a goal can give: a reader judges what has changed."""
    check_table(FILE, table(), "tests.cost.terms")


def test_instructions_of_several_parts_add() -> None:
    assert add() == {}
    assert add({"load": 2}) == {"load": 2}
    parts = {"load": 2, "fma": 5}, {"fma": 1, "store": 3}, {}
    assert add(*parts) == {"load": 2, "fma": 6, "store": 3}
    assert times(parts[0], 3) == {"load": 6, "fma": 15}
