"""A10, B8: the same bits on every run; nothing undefined in the LLVM IR."""

import functools
import re

import numpy as np
import pytest

from morello.spec import Spec
from morello.spec.kind import Array
from tests.guarded import check_in_child
from tests.quality.compiled import unsearched
from tests.quality.execution import RUNS, bits, run
from tests.quality.programs import Program, build_programs
from tests.quality.random_programs import random_impl

KERNELS = 50
REPEATS = 3


def real_inputs(spec: Spec, rng: np.random.Generator) -> list[Array]:
    """N(0, 1) where that is a number of the dtype: rounding shows any other order."""
    inputs = list(spec.random(rng))
    for index, array in enumerate(inputs):
        if array.dtype == np.float32:
            shape: tuple[int, ...] = array.shape
            inputs[index] = rng.standard_normal(shape, np.float32)
    return inputs


@functools.cache
def fifty() -> tuple[Program, ...]:
    """Programs of seeds that no other test uses."""
    impls = [random_impl(seed) for seed in range(2000, 2000 + KERNELS)]
    return tuple(build_programs(impls, [str(impl.spec) for impl in impls]))


@pytest.mark.sampled(5)
def test_every_run_gives_the_same_bits() -> None:
    programs = fifty()
    assert len(programs) == KERNELS

    def runs() -> None:
        rng = np.random.default_rng(0)
        for program in programs:
            inputs = real_inputs(program.spec, rng)
            first = run(program, inputs, *RUNS[0])
            for _ in range(REPEATS):
                for side, byte in RUNS:
                    again = run(program, inputs, side, byte)
                    for one, other in zip(first, again, strict=True):
                        assert np.array_equal(bits(one), bits(other)), program.label

    check_in_child(runs)


@pytest.mark.sampled(5)
def test_no_integers_are_made_pointers_and_nothing_is_undefined() -> None:
    """Lanes of constant vectors aside: LLVM's optimizer names those undef that no
    instruction reads."""
    (engine,) = {program.engine for program in fifty()}
    assert "define void @f0(" in engine.llvm
    scalars = re.sub(r"<i\d+ [^<>]*>", "", engine.llvm)
    assert not re.search(r"\b(inttoptr|ptrtoint|undef)\b", scalars)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "text", ["matmul:7x20x9:f32", "max:20x20:f32", "move:9x9:f32:dst=[1,0]"]
)
def test_the_same_compilation_gives_the_same_bytes(text: str) -> None:
    first = unsearched(text)
    unsearched.cache_clear()
    again = unsearched(text)
    assert again is not first
    assert (again.schedule, again.mlir, again.llvm) == (
        first.schedule,
        first.mlir,
        first.llvm,
    )
    assert again.object == first.object
