"""Kernels as a user gets them, each compiled once a process."""

import functools
import random
from collections.abc import Sequence

import numpy as np

import morello
from morello.compiler.kernel import Kernel
from morello.dialect import in_context
from morello.machine import AVX2
from morello.spec import Array, Spec, parse_spec
from tests.quality.programs import Program, scheduled_module
from tests.quality.walks import random_program

ODD = (
    "matmul:100x37x53:f32", "matmul:513x257x129:f32", "matmul:1x2048x64:f32",
    "matmul:7x1x9:f32", "matmul:2x65x33x17:f32", "matmul:100x37x53:s32",
    "matmul:1x2048x64:s32", "matmul:7x1x9:s32",
)  # fmt: skip
"""Shapes that no tile divides; the soak has all of them in s32, too."""


@functools.cache
def unsearched(of: str | Spec, seed: int = 0) -> Kernel:
    """A kernel of a random program: for tests of everything but its speed."""
    spec = parse_spec(of, AVX2.limits) if isinstance(of, str) else of
    impl = random_program(spec, random.Random(seed))
    with in_context():
        schedule = str(scheduled_module([impl]))
    return morello.compile(spec, schedule=schedule, target=AVX2)


@functools.cache
def kernel(text: str) -> Kernel:
    """The kernel of a Spec."""
    return morello.compile(text)


def arguments(kernel: Kernel, seed: int) -> tuple[list[Array], list[Array]]:
    """Physical arrays for every operand before a call and, by the definition, after."""
    spec = kernel.spec
    values = spec.random(np.random.default_rng(seed))
    outputs = iter(spec.outputs(*values))
    inputs = iter(values)
    before, after = [], []
    for index, operand in enumerate(spec.kind.operands):
        read = spec.to_physical(index, next(inputs)) if operand.is_read else None
        written = spec.to_physical(index, next(outputs)) if operand.is_written else read
        assert written is not None
        if read is None:
            read = spec.argument(index)
            read[...] = 77
        before.append(read)
        after.append(written)
    return before, after


def same_bytes(arrays: Sequence[Array], others: Sequence[Array]) -> bool:
    """Whether arrays hold the same bytes, one by one."""
    pairs = zip(arrays, others, strict=True)
    return all(one.tobytes() == other.tobytes() for one, other in pairs)


def program(text: str) -> Program:
    """The same, to be run by `tests.quality.execution`."""
    compiled = kernel(text)
    return Program(
        compiled.spec,
        compiled._engine,
        compiled._stages.name,
        compiled.workspace_bytes,
        text,
    )
