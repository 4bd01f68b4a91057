"""What a schedule makes of a Spec computes what the Spec says.

Random programs, left partly open, are run on arrays by the definitions of the Specs in
them (`tests/quality/interpreter.py`): loops, subviews, buffers and moves are tested.
"""

import dataclasses
import random
from collections.abc import Iterator

import numpy as np
import pytest

from morello.actions import Action, Select, candidates
from morello.compiler.tuning.verify import judge
from morello.dialect.build import spec_of
from morello.dialect.memrefs import whole_shape
from morello.dialect.transform import build_action_op, roles_of
from morello.machine import Target
from morello.machine.operand_context import OperandContext
from morello.mlir import ir
from morello.search.dp.axes import goal_axes
from morello.spec import Dtype, Spec, parse_spec
from morello.spec.checking import is_exact
from morello.spec.frame import Frame
from morello.spec.kind import Array
from tests.actions.listing import GOALS
from tests.dialect.programs import legal_actions, random_action, random_spec
from tests.dialect.schedules import function_of, one_action, scheduled
from tests.dialect.spec_arrays import new_buffer, pack, unpack
from tests.kernels.harness import bits
from tests.quality.interpreter import run_function

pytestmark = pytest.mark.usefixtures("known_dialects")

PROGRAMS = 120
DEPTH = 5
ALIKE = 2
"""Actions of one kind on one operand that are tried."""


def write_program(spec: Spec, handle: ir.Value, depth: int, rng: random.Random) -> None:
    """A random schedule for a Spec; holes at the last depth stay open."""
    pair = random_action(spec, rng)
    if pair is not None and isinstance(pair[0], Select):
        others = [p for p in legal_actions(spec, rng) if not isinstance(p[0], Select)]
        pair = rng.choice(others) if others else pair
    if pair is None or depth == 0:
        return
    action, rewrite = pair
    left = build_action_op(action, handle)
    handles = dict(zip(roles_of(type(action)), left, strict=True))
    for hole in rewrite.holes:
        write_program(hole.spec, handles[hole.role], depth - 1, rng)


def random_arrays(
    spec: Spec, rng: np.random.Generator
) -> tuple[list[Array], list[Array]]:
    """The physical operands, and the logical ones that the Spec reads."""
    logical = list(spec.random(rng))
    arrays, values = [], iter(logical)
    for i, tensor in enumerate(spec.tensors):
        array = new_buffer(rng, tensor, whole_shape(tensor, spec.shape(i)))
        if spec.kind.operands[i].is_read:
            pack(array, tensor, next(values))
        arrays.append(array)
    return arrays, logical


def check(spec: Spec, module: ir.Module, seed: int) -> None:
    """Run the function of a module on random arrays beside the definition."""
    rng = np.random.default_rng(seed)
    arrays, logical = random_arrays(spec, rng)
    before = [array.copy() for array in arrays]
    outputs = spec.outputs(*logical)
    run_function(function_of(module), arrays, seed)
    outs: list[Array] = []
    for i, wanted in zip(spec.kind.written, outputs, strict=True):
        result = unpack(arrays[i], spec.tensors[i], spec.shape(i))
        assert result.dtype == wanted.dtype
        outs.append(result)
        if is_exact(spec.kind, spec.sizes):
            assert np.array_equal(bits(result), bits(wanted)), f"seed {seed}: {spec}"
    assert judge(spec, tuple(logical), tuple(outs), exact=False).holds, (seed, spec)
    for i in set(range(len(arrays))) - set(spec.kind.written):
        assert np.array_equal(bits(before[i]), bits(arrays[i]))


@pytest.mark.sampled(15)
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_a_program_computes_its_spec(seed: int) -> None:
    choice = random.Random(seed)
    spec = random_spec(choice)
    module = scheduled(spec, lambda handle: write_program(spec, handle, DEPTH, choice))
    check(spec, module, seed)


def some_actions(goal: str, target: Target, alike: int) -> list[tuple[Spec, Action]]:
    """Of each kind of action that applies to a goal, some, evenly spread."""
    spec = parse_spec(goal, target.limits)
    spec = dataclasses.replace(spec, serial=target.threads == 1)
    kinds: dict[tuple[str, str], list[Action]] = {}
    for action in candidates(spec.key, goal_axes(spec, target.threads), target):
        if not action.expand(Frame.of(spec), target.at(spec)).refusal():
            operand = getattr(action, "operand", "")
            kinds.setdefault((action.name, operand), []).append(action)
    every = kinds.values()
    return [(spec, a) for same in every for a in same[:: -(-len(same) // alike)]]


def ops_in(block: ir.Block) -> Iterator[ir.Operation]:
    for op in block.operations:
        yield op.operation
        for region in op.regions:
            for inner in region.blocks:
                yield from ops_in(inner)


def roles_left(module: ir.Module, action: Action) -> set[tuple[str, Spec]]:
    """The Specs that an action leaves, by the handles that they are in."""
    roles, block = roles_of(type(action)), function_of(module).regions[0].blocks[0]
    return {
        (role, spec_of(op))
        for op in ops_in(block)
        for role in roles
        if f"test.{role}" in op.attributes and op.name != "morello.kernel"
    }


WRITTEN = [goal for goal in GOALS if goal[1].operand_context == OperandContext()]
"""The goals of targets that a module can name."""


@pytest.mark.parametrize(("goal", "target"), WRITTEN, ids=[goal for goal, _ in WRITTEN])
def test_what_an_action_leaves_computes_the_spec(goal: str, target: Target) -> None:
    """The goals are those of the listing of `tests/actions`."""
    for seed, (spec, action) in enumerate(some_actions(goal, target, ALIKE)):
        module = one_action(spec, action, target)
        left = {(h.role, h.spec) for h in action.apply(spec, target.at(spec)).holes}
        assert roles_left(module, action) == left, action
        check(spec, module, seed)


def test_random_programs_have_the_dtypes_they_should() -> None:
    choice = random.Random(0)
    dtypes = {random_spec(choice).dtypes[0] for _ in range(60)}
    assert dtypes >= {Dtype.F32, Dtype.S32, Dtype.U8, Dtype.BF16}
