"""What a schedule makes of a Spec computes what the Spec says.

Random programs, left partly open, are run on arrays by the definitions of the Specs in
them (`interpret.py`): the loops, subviews, buffers and moves are what is tested.
"""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from morello.actions import Select
from morello.compiler.tuning.verify import judge
from morello.dialect import load
from morello.dialect.memrefs import whole_shape
from morello.dialect.transform import build_action_op, roles_of
from morello.mlir import ir
from morello.spec import Dtype, Spec
from morello.spec.kind import Array
from tests.dialect.interpret import new_buffer, pack, run_function, unpack
from tests.dialect.programs import legal_actions, random_action, random_spec
from tests.dialect.schedules import function_of, scheduled

PROGRAMS = 120
DEPTH = 5


@pytest.fixture(scope="module", autouse=True)
def context() -> Iterator[ir.Context]:
    with ir.Context() as made:
        load(made)
        yield made


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


def bits(array: Array) -> Array:
    return np.ascontiguousarray(array).view(np.uint8)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_a_program_computes_its_spec(seed: int) -> None:
    choice, rng = random.Random(seed), np.random.default_rng(seed)
    spec = random_spec(choice)
    module = scheduled(spec, lambda handle: write_program(spec, handle, DEPTH, choice))
    arrays, logical = random_arrays(spec, rng)
    before = [array.copy() for array in arrays]
    outputs = spec.outputs(*logical)
    run_function(function_of(module), arrays, rng)
    outs: list[Array] = []
    for i, wanted in zip(spec.kind.written, outputs, strict=True):
        found = unpack(arrays[i], spec.tensors[i], spec.shape(i))
        assert found.dtype == wanted.dtype
        outs.append(found)
        if spec.kind.is_exact(spec.sizes):
            assert np.array_equal(bits(found), bits(wanted)), f"seed {seed}: {spec}"
    assert judge(spec, tuple(logical), tuple(outs), exact=False).holds, (seed, spec)
    for i in set(range(len(arrays))) - set(spec.kind.written):
        assert np.array_equal(bits(before[i]), bits(arrays[i]))


def test_random_programs_have_the_dtypes_they_should() -> None:
    choice = random.Random(0)
    found = {random_spec(choice).dtypes[0] for _ in range(60)}
    assert found >= {Dtype.F32, Dtype.S32, Dtype.U8, Dtype.BF16}
