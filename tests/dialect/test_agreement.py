"""What a transform op leaves in the IR is what its action predicts (design §6)."""

import math
import random
from collections.abc import Iterator

import pytest

from morello.actions import (
    Action,
    Hole,
    Move,
    Peel,
    Rewrite,
    Select,
    SpecializeRange,
    Split,
    Tile,
    ToAccum,
)
from morello.actions.move import copies
from morello.dialect import load
from morello.dialect.build import kernel_of, spec_of
from morello.dialect.range_check import read_range_check
from morello.dialect.transform import roles_of
from morello.kernels import KERNELS
from morello.kernels.range_check import range_check_cost
from morello.machine import AVX2
from morello.mlir import ir
from morello.spec import Dtype, Level, Spec, parse_spec
from morello.spec.frame import Frame
from tests.dialect.programs import random_action, random_spec
from tests.dialect.schedules import function_of, one_action

pytestmark = pytest.mark.quick

SEEDS = 40
PAIRS = 12
"""(Spec, action) pairs a seed."""


@pytest.fixture(scope="module", autouse=True)
def context() -> Iterator[ir.Context]:
    with ir.Context() as made:
        load(made)
        yield made


def holes_in(block: ir.Block, times: int = 1) -> Iterator[tuple[ir.Operation, int]]:
    """The ops of the dialect in a block, in order, and how often each runs."""
    for op in block.operations:
        if op.operation.name == "scf.if":
            for region, counts in zip(op.regions, (times, 0), strict=True):
                yield from holes_in(region.blocks[0], counts)
        elif op.operation.name == "morello.range_check":
            assert read_range_check(op)[2] is Dtype.S7
        elif op.operation.name.startswith("morello."):
            yield op.operation, times
        elif op.operation.name == "scf.for":
            low, high, step = map(constant, op.operands)
            assert (high - low) % step == 0
            yield from holes_in(op.regions[0].blocks[0], times * ((high - low) // step))


def constant(value: ir.Value) -> int:
    return int(ir.IntegerAttr(value.owner.attributes["value"]).value)


def count(block: ir.Block, name: str) -> int:
    return sum(op.operation.name == name for op in block.operations)


def recomputed(
    spec: Spec, action: Action, block: ir.Block, left: list[tuple[ir.Operation, int]]
) -> int:
    """The action's own cost, from what it left in the IR."""
    units = AVX2.prices
    match action:
        case Tile() | Split():
            # A loop of one trip is no loop in the IR, but is paid for.
            trips, has_rest = left[0][1], len(left) == 2
            rows = rows_of_loop(spec, spec.kind.dims.index(action.dim), action.size)
            return trips * units.loop_trip + (1 + has_rest) * units.loop_setup + rows
        case Peel():
            size = action.size
            trips, has_rest = divmod(spec.sizes[spec.kind.dims.index(action.dim)], size)
            rows = rows_of_loop(spec, spec.kind.dims.index(action.dim), size)
            setups = 1 + (has_rest > 0)
            return trips * units.loop_trip + setups * units.loop_setup + rows
        case Move():
            allocs = count(block, "memref.alloc") + count(block, "memref.alloca")
            if allocs:
                return allocs * units.loop_setup + lines_waited_for(spec, action)
            return lines_brought(spec, spec_of(left[0][0]))
        case SpecializeRange():
            index = [o.name for o in spec.kind.operands].index(action.operand)
            look = range_check_cost(
                spec.tensors[index], spec.shape(index), AVX2.isa, units
            )
            return lines_brought(spec, spec_of(left[1][0])) + int(look)
        case ToAccum():
            return 0
        case Select():
            name, found = kernel_of(left[0][0])
            return int(KERNELS[name].cost(Frame.of(found), units))
    raise NotImplementedError(action)


def lines_brought(before: Spec, after: Spec) -> int:
    """The cost of the lines that a change of level brings."""
    (index,) = (
        i for i, t in enumerate(before.tensors) if t.level != after.tensors[i].level
    )
    source, sizes = before.tensors[index], before.shape(index)
    assert not copies(source, after.tensors[index])
    operand, nearer = before.kind.operands[index], after.tensors[index].level
    passed = [
        level for level in (Level.MEM, Level.L2) if source.level >= level > nearer
    ]
    line = sum(read_price(before, index, level) for level in passed if operand.is_read)
    if operand.is_written:
        line += sum(written_price(before, index, level) for level in passed)
    cost = source.lines(sizes) * line
    rows, size = source.runs(sizes), source.run_bytes(sizes)
    if before.kind.copies and size < 64:
        cost = rows * size * line // 64
    dim = source.layout.row
    if dim is not None:
        limit = followed(before, operand.dims[dim])
        cost += price_of_rows(before, index, rows, limit)
    return int(cost)


def lines_waited_for(spec: Spec, action: Move) -> int:
    """What the copy of a tile in L2, its first reader, waits for lines from beyond."""
    index = [o.name for o in spec.kind.operands].index(action.operand)
    operand, tensor = spec.kind.operands[index], spec.tensors[index]
    uses = math.prod(n for d, n in enumerate(spec.sizes) if d not in operand.dims)
    first = tensor.level is action.level is Level.L2 and not tensor.layout.is_packed
    if not (first and operand.is_read and uses >= AVX2.reuse_gl):
        return 0
    more = per_level("line", Level.MEM) - per_level("hidden", Level.MEM)
    return int(tensor.lines(spec.shape(index)) * max(more, 0))


def read_price(spec: Spec, index: int, level: Level) -> int:
    operand, tensor = spec.kind.operands[index], spec.tensors[index]
    uses = math.prod(n for d, n in enumerate(spec.sizes) if d not in operand.dims)
    if tensor.layout.is_packed:
        quick, reuse = "stream", AVX2.reuse_panel
    else:
        near = level is Level.L2
        quick, reuse = "hidden", AVX2.reuse_l2 if near else AVX2.reuse_gl
    return per_level(quick if uses >= reuse else "line", level)


def written_price(spec: Spec, index: int, level: Level) -> int:
    layout, sizes = spec.tensors[index].layout, spec.shape(index)
    others = [n for dim, n in enumerate(sizes) if dim != layout.streamed]
    in_turn = (
        level is Level.MEM and layout.row is not None and max(others, default=1) > 1
    )
    return per_level("store", level) + in_turn * turn_price(spec)


def turn_price(spec: Spec) -> int:
    along = {tensor.layout.streamed for tensor in spec.tensors}
    alike = spec.kind.copies and len(along) == 1
    units = AVX2.coefficients
    return units.turn_copy if alike else units.turn_gl


def per_level(what: str, level: Level) -> int:
    names = {Level.MEM: f"{what}_gl", Level.L2: f"{what}_l2"}
    return getattr(AVX2.coefficients, names[level]) if level in names else 0


def price_of_rows(spec: Spec, index: int, rows: int, limit: int) -> int:
    """To leave each of some rows, of which ``limit`` are followed, and to come back."""
    tensor, level = spec.tensors[index], spec.tensors[index].level
    free = level is Level.L2 and len(spec.tensors) == 3
    row = 0 if free else per_level("row", level)
    whole = tensor.contiguous or tensor.layout.is_packed
    paid = row * (rows > limit)
    if row == 0 or whole or not spec.kind.copies:
        return rows * paid
    size = tensor.run_bytes(spec.shape(index))
    line = line_again(spec, index, rows)
    return rows * (min(size, 64) * paid + (64 - math.gcd(size, 64)) * line) // 64


def line_again(spec: Spec, index: int, rows: int) -> int:
    """What a line costs that comes again after one of each of ``rows`` rows.

    A cache holds it that has twice as many lines.
    """
    level = spec.tensors[index].level
    if 2 * rows <= AVX2.l1_lines:
        return 0
    if 2 * rows <= AVX2.l2_lines:
        level = min(level, Level.L2)
    if not spec.kind.operands[index].is_written:
        return per_level("line", level)
    return per_level("store", level) + (level is Level.MEM) * turn_price(spec)


def across(spec: Spec, dim: int) -> list[int]:
    """The operands that have a dimension and do not lie along it."""
    return [
        i
        for i, operand in enumerate(spec.kind.operands)
        if dim in operand.dims and operand.dims[spec.tensors[i].layout.streamed] != dim
    ]


def followed(spec: Spec, dim: int) -> int:
    return AVX2.streams // max(1, len(across(spec, dim)))


def rows_of_loop(spec: Spec, dim: int, size: int) -> int:
    limit = followed(spec, dim)

    def paid(rows: int) -> int:
        return sum(price_of_rows(spec, i, rows, limit) for i in across(spec, dim))

    whole = spec.sizes[dim]
    return paid(whole) - whole // size * paid(size) - paid(whole % size)


def check_pair(spec: Spec, action: Action, rewrite: Rewrite) -> None:
    module = one_action(spec, action)
    block = function_of(module).regions[0].blocks[0]
    left = list(holes_in(block))
    if isinstance(action, Select):
        assert [kernel_of(op) for op, _ in left] == [(action.kernel, spec)]
        assert "test.leaf" in left[0][0].attributes
    else:
        found = [(*role(op, type(action)), spec_of(op), times) for op, times in left]
        wanted = [(h.role, h.spec, h.times) for h in rewrite.holes]
        assert found == wanted
    assert recomputed(spec, action, block, left) == rewrite.cost


def role(op: ir.Operation, action: type[Action]) -> list[str]:
    """The handles that an op is in."""
    return [r for r in roles_of(action) if f"test.{r}" in op.attributes]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_ir_holds_the_predicted_holes(seed: int) -> None:
    rng = random.Random(seed)
    spec, done = random_spec(rng), 0
    while done < PAIRS:
        pair = random_action(spec, rng)
        if pair is None:
            spec = random_spec(rng)
            continue
        action, rewrite = pair
        check_pair(spec, action, rewrite)
        done += 1
        spec = next_spec(spec, rewrite.holes, rng)


def next_spec(spec: Spec, holes: tuple[Hole, ...], rng: random.Random) -> Spec:
    """A child that can stand alone, so that states deep in a program are tried too."""
    if not holes or rng.random() < 0.2:
        return random_spec(rng)
    return rng.choice(holes).spec


def test_every_action_is_tried() -> None:
    rng = random.Random(1)
    seen = set()
    rare = [parse_spec("matmul:16x32x48:u8,s8,s32", AVX2.limits)] * 40
    for spec in [*(random_spec(rng) for _ in range(200)), *rare]:
        pair = random_action(spec, rng)
        if pair is not None:
            seen.add(type(pair[0]))
    assert seen == {Tile, Split, Peel, Move, SpecializeRange, ToAccum, Select}
