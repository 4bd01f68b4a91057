"""B7, B10: kernels made and dropped, used and made by threads, used after a fork."""

import gc

import numpy as np
import pytest

import morello
from morello.compiler.kernel import Kernel
from morello.mlir import ir
from morello.spec.kind import Array
from tests.child import resident
from tests.guarded import check_in_child
from tests.quality.compiled import unsearched
from tests.threads import in_threads

SMALL = "matmul:2x3x9:f32"
CYCLES = 80
WARM_UP = 30
GROWTH = 20 << 20

SHARED = (
    "matmul:17x23x31:f32:lhs=[0,1,2,1p6]",
    "matmul_accum:9x33x20:s32",
    "max:33x65:f32",
    "move:20x33:f32:dst=[1,0]",
    "fill:9x17:s32:value=lowest",
)
"""Of random programs; some have a workspace, some registers on the stack."""


def expected(kernel: Kernel, arrays: list[Array]) -> Array:
    """The output for physical arguments, by the definition."""
    spec = kernel.spec
    inputs = [
        spec.to_logical(i, array)
        for i, (array, operand) in enumerate(
            zip(arrays, spec.kind.operands, strict=True)
        )
        if operand.is_read
    ]
    return spec.evaluate(*inputs)


def arguments(kernel: Kernel, rng: np.random.Generator) -> list[Array]:
    """Random arguments, the output included, in physical form."""
    spec, left = kernel.spec, list(kernel.spec.random(rng))
    arrays = []
    for index, operand in enumerate(spec.kind.operands):
        dtype = spec.tensors[index].dtype.numpy
        logical = left.pop(0) if operand.is_read else np.zeros(spec.shape(index), dtype)
        arrays.append(spec.to_physical(index, logical))
    return arrays


def is_right(kernel: Kernel, arrays: list[Array]) -> bool:
    """Whether a call gives the output of the definition."""
    wanted = expected(kernel, arrays)
    kernel(*arrays)
    last = len(arrays) - 1
    result = kernel.spec.to_logical(last, arrays[last])
    return np.ascontiguousarray(result).tobytes() == wanted.tobytes()


def workspaces() -> int:
    return sum(unsearched(text).workspace_bytes > 0 for text in SHARED)


@pytest.mark.sampled(5)
def test_compile_run_drop_does_not_grow() -> None:
    def cycles() -> int:
        rng = np.random.default_rng(0)
        before = 0
        for cycle in range(CYCLES):
            if cycle == WARM_UP:
                gc.collect()
                before = resident()
            compiled = morello.compile(SMALL)
            assert is_right(compiled, arguments(compiled, rng))
            del compiled
        gc.collect()
        assert ir.Context._get_live_count() == live
        return resident() - before

    morello.compile(SMALL)  # its program is kept
    gc.collect()
    live = ir.Context._get_live_count()
    assert check_in_child(cycles, seconds=100) < GROWTH


def calls(number: int) -> None:
    rng = np.random.default_rng(number)
    kernels = [unsearched(text) for text in SHARED]
    inputs = [arguments(kernel, rng) for kernel in kernels]
    for call in range(500):
        kernel, arrays = kernels[call % 5], inputs[call % 5]
        if not kernel.parameters[-1].accumulates:
            arrays[-1][...] = 1
        assert is_right(kernel, arrays), (number, call, SHARED[call % 5])


@pytest.mark.sampled(2)
def test_threads_share_kernels() -> None:
    assert workspaces() >= 1

    def shared() -> None:
        in_threads(calls, range(8))

    check_in_child(shared, seconds=100)


@pytest.mark.sampled(5)
def test_threads_compile_at_once() -> None:
    kernels = [unsearched(text) for text in SHARED]
    texts = ("fill:{n}x7:f32", "move:{n}x5:s32:dst=[1,0]", "max:{n}x9:f32")

    def compiles(number: int) -> None:
        rng = np.random.default_rng(number)
        for turn in range(2):
            text = texts[(number + turn) % 3].format(n=number + 2)
            kernel = morello.compile(text)
            assert is_right(kernel, arguments(kernel, rng)), text
            old = kernels[(number + turn) % 5]
            again = morello.compile(old.spec, schedule=old.schedule)
            assert again.object == old.object

    check_in_child(lambda: in_threads(compiles, range(8)), seconds=100)


def test_kernels_work_after_a_fork() -> None:
    kernels = [unsearched(text) for text in SHARED]
    rng = np.random.default_rng(0)
    assert all(is_right(kernel, arguments(kernel, rng)) for kernel in kernels)

    def child() -> bool:
        fresh = morello.compile("fill:5x3:f32")
        every = [*kernels, fresh]
        return all(is_right(kernel, arguments(kernel, rng)) for kernel in every)

    assert check_in_child(child)
    assert all(is_right(kernel, arguments(kernel, rng)) for kernel in kernels)
