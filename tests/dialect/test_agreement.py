"""What a transform op leaves in the IR is what its action predicts (design §6)."""

import random
from collections.abc import Iterator

import pytest

from morello.actions import (
    Action,
    Collapse,
    Cut,
    CutInPlace,
    Hole,
    Move,
    Online,
    Peel,
    Rewrite,
    Select,
    SpecializeRange,
    Split,
    Squeeze,
    Tile,
    ToAccum,
)
from morello.actions.copies.move import copies
from morello.actions.graphs.cut import Cutting, operand_of
from morello.cost.of_target import cost_model
from morello.dialect.build import kernel_of, spec_of
from morello.dialect.range_check import read_range_check
from morello.dialect.transform import roles_of
from morello.kernels import KERNELS
from morello.kernels.code.range_check import range_check_counts
from morello.machine import AVX2
from morello.mlir import ir
from morello.spec import VRF, Encoding, Spec, parse_spec
from morello.spec.frame import Frame
from morello.spec.structure import followers, leader
from tests.dialect.programs import random_action, random_spec
from tests.dialect.schedules import function_of, one_action

pytestmark = pytest.mark.usefixtures("known_dialects")

SEEDS = 40
PAIRS = 12
"""(Spec, action) pairs a seed."""


def holes_in(block: ir.Block, times: int = 1) -> Iterator[tuple[ir.Operation, int]]:
    """The ops of the dialect in a block, in order, and how often each runs."""
    for op in block.operations:
        if op.operation.name == "scf.if":
            for region, counts in zip(op.regions, (times, 0), strict=True):
                yield from holes_in(region.blocks[0], counts)
        elif op.operation.name == "morello.range_check":
            assert read_range_check(op)[2] is Encoding.S7
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
    target = AVX2.at(spec)
    units, model = target.prices, cost_model(target)
    match action:
        case Tile() | Split():
            # A loop of one trip is no loop in the IR, but is paid for.
            trips, has_rest = left[0][1], len(left) == 2
            return (trips + 1 + has_rest) * units.loop
        case Peel():
            size = action.size
            trips, has_rest = divmod(spec.sizes[spec.kind.dims.index(action.dim)], size)
            return (trips + 1 + (has_rest > 0)) * units.loop
        case Move():
            allocs = count(block, "memref.alloc") + count(block, "memref.alloca")
            if allocs:
                assert allocs == 1
                index = [o.name for o in spec.kind.operands].index(action.operand)
                dest = action.destination(spec.tensors[index], target)
                body = next(
                    same_kind
                    for op, _ in left
                    if (same_kind := spec_of(op)).kind == spec.kind
                )
                along = sum(
                    int(model.transfer(Frame.of(spec), i, body.tensors[i]))
                    for i in followers(spec.kind, index)
                    if spec.tensors[i].level > body.tensors[i].level
                )
                return int(model.buffer(Frame.of(spec), index, dest)) + along
            return lines_brought(spec, spec_of(left[0][0]))
        case SpecializeRange():
            index = [o.name for o in spec.kind.operands].index(action.operand)
            look = range_check_counts(spec.tensors[index], spec.shape(index), AVX2.isa)
            looked = int(model.kernel(Frame.of(spec), look))
            return lines_brought(spec, spec_of(left[1][0])) + looked
        case ToAccum() | Online() | Collapse() | Squeeze():
            return 0
        case Cut():
            return left_between(spec, action.cutting(spec.key, target))
        case CutInPlace():
            return left_between(spec, action.cutting(spec.key))
        case Select():
            name, same_kind = kernel_of(left[0][0])
            frame = Frame.of(same_kind)
            return int(model.kernel(frame, KERNELS[name].op_counts(frame)))
    raise NotImplementedError(action)


def left_between(spec: Spec, cutting: Cutting | str) -> int:
    """The cost of the stores of temporaries in memory, but for rows."""
    graph = spec.kind.as_graph
    assert isinstance(cutting, Cutting)
    assert graph is not None
    lines = 0
    for value, form in zip(cutting.temporaries, cutting.forms, strict=True):
        if value not in cutting.rows and form.level is not VRF:
            lines += int(form.lines(operand_of(graph, value).sizes(spec.sizes)))
    return lines * AVX2.at(spec).ops.store


def lines_brought(before: Spec, after: Spec) -> int:
    """The cost of the lines that a change of level brings."""
    moved = [
        i for i, t in enumerate(before.tensors) if t.level != after.tensors[i].level
    ]
    leaders = {leader(before.kind, index) for index in moved}
    assert len(leaders) == 1
    model = cost_model(AVX2.at(before))
    assert not any(copies(before.tensors[i], after.tensors[i]) for i in moved)
    return sum(
        int(model.transfer(Frame.of(before), i, after.tensors[i])) for i in moved
    )


def check_pair(spec: Spec, action: Action, rewrite: Rewrite) -> None:
    module = one_action(spec, action)
    block = function_of(module).regions[0].blocks[0]
    left = list(holes_in(block))
    if isinstance(action, Select):
        assert [kernel_of(op) for op, _ in left] == [(action.kernel, spec)]
        assert "test.leaf" in left[0][0].attributes
    else:
        holes = [(*role(op, type(action)), spec_of(op), times) for op, times in left]
        wanted = [(h.role, h.spec, h.times) for h in rewrite.holes]
        assert holes == wanted
    assert recomputed(spec, action, block, left) == rewrite.cost


def role(op: ir.Operation, action: type[Action]) -> list[str]:
    """The handles that an op is in."""
    return [r for r in roles_of(action) if f"test.{r}" in op.attributes]


@pytest.mark.sampled(12)
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
    for spec in [*(random_spec(rng) for _ in range(400)), *rare]:
        pair = random_action(spec, rng)
        if pair is not None:
            seen.add(type(pair[0]))
    assert seen >= {
        Tile,
        Split,
        Peel,
        Move,
        SpecializeRange,
        ToAccum,
        Cut,
        CutInPlace,
        Select,
    }
