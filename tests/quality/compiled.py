"""Kernels as a user gets them, each compiled once a process."""

import functools

import morello
from morello.kernel import Kernel
from tests.quality.programs import Program

ODD = (
    "matmul:100x37x53:f32",
    "matmul:513x257x129:f32",
    "matmul:1x2048x64:f32",
    "matmul:7x1x9:f32",
    "matmul:2x65x33x17:f32",
    "matmul:100x37x53:s32",
    "matmul:1x2048x64:s32",
    "matmul:7x1x9:s32",
)
"""Shapes that no tile divides; the soak has all of them in s32, too."""


@functools.cache
def kernel(text: str) -> Kernel:
    """The kernel of a Spec."""
    return morello.compile(text)


def program(text: str) -> Program:
    """The same, to be run by `tests.quality.execution`."""
    made = kernel(text)
    return Program(
        made.spec, made._engine, made._stages.name, made.workspace_bytes, text
    )
