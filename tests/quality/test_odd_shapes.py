"""Shapes that no tile divides: exact, in vectors, replayed to the same bytes.

All tests of searched matmuls are in this file, so that one process searches each once.
"""

import math
import re
import time

import numpy as np
import pytest

import morello
from morello.actions import Select
from morello.search.impl import Impl
from tests.quality.bounds import check_bound, is_bounded
from tests.quality.compiled import ODD, kernel, program
from tests.quality.execution import check_all
from tests.quality.machine_code import innermost, loops

pytestmark = pytest.mark.usefixtures("one_database")

SQUARE = "matmul:512x512x512:f32"
OTHERS = ("max:33x65:f32", "move:33x65:f32:dst=[1,0]", "fill:33x65:s32", "max:7x3:s32")


@pytest.mark.sampled(12)
@pytest.mark.parametrize("text", ODD)
def test_odd_shapes_are_exact_and_bounded(text: str) -> None:
    compiled = program(text)
    check_all([compiled], 0, check_bound if is_bounded(compiled.spec) else None)


def test_columns_of_a_batch_are_exact() -> None:
    """Each is a tile with an offset, which is read as the row that it is in memory."""
    check_all([program("matmul:3x1x65x1:f32")], 0, check_bound)


def work(impl: Impl, times: int = 1) -> list[tuple[str, int, int]]:
    """For each kernel of a matmul: its name, its products, and the lanes they take."""
    if not isinstance(impl.action, Select):
        below = [work(branch.impl, times * branch.times) for branch in impl.branches]
        return [leaf for leaves in below for leaf in leaves]
    if impl.spec.kind.name != "matmul":
        return []
    b, m, k, n = impl.spec.sizes
    vectors = math.ceil(n / 8) * 8
    return [(impl.action.kernel, times * b * m * k * n, times * b * m * k * vectors)]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("text", ODD)
def test_lanes_are_in_use(text: str) -> None:
    """At least 0.9 of the lanes that are in use if only the last vector of a row has
    idle ones."""
    compiled = kernel(text)
    assert compiled.impl is not None
    leaves = work(compiled.impl)
    products = sum(count for _, count, _ in leaves)
    assert products == compiled.spec.flops // 2
    scalar = sum(count for name, count, _ in leaves if name == "scalar")
    assert scalar == 0
    n = compiled.spec.sizes[-1]
    best = n / (8 * math.ceil(n / 8))
    assert products / sum(lanes for _, _, lanes in leaves) >= 0.9 * best


@pytest.mark.sampled(12)
@pytest.mark.parametrize("text", [*ODD, SQUARE])
def test_loops_of_products_are_vectors_without_spills(text: str) -> None:
    assembly = kernel(text).asm
    assert re.search(r"(vfmadd\w+ps|vpmulld)\s.*%ymm", assembly)
    for loop in innermost(assembly):
        # A vector of one last column LLVM makes a scalar, which takes as long.
        assert loop.scalar_products <= loop.vector_products
        if loop.vector_products:
            # Sums of integers LLVM puts in another order, which takes registers.
            allowed = 0 if text.endswith("f32") else len(loop.lines) // 8
            # A row of rhs that LLVM loads before the loop may come back from the
            # stack: a load, as from rhs. Sums must not go there.
            stored = [line for line in loop.spills if line.endswith("(%rsp)")]
            assert not stored or len(loop.spills) <= allowed, (text, loop.spills)


@pytest.mark.sampled(5)
def test_the_hot_loop_of_a_square_is_products_on_registers() -> None:
    hot = max(innermost(kernel(SQUARE).asm), key=lambda loop: loop.accumulators)
    products = [line for line in hot.lines if line.startswith("vfmadd")]
    assert hot.accumulators >= 10
    assert len(products) % hot.accumulators == 0
    assert all(re.search(r"%ymm\d+, %ymm\d+, %ymm\d+$", line) for line in products)
    assert len(products) / len(hot.lines) >= 0.5


def test_loops_are_found_in_assembly() -> None:
    text = """
        .p2align 4
    .LBB0_1:
        xorl %eax, %eax
    .LBB0_2:  # inner
        vfmadd231ps %ymm1, %ymm2, %ymm3
        vmovaps %ymm3, 32(%rsp)
        vfmadd231ss %xmm1, %xmm2, %xmm3
        jne .LBB0_2
        jne .LBB0_1
        je .LBB0_9
    .LBB0_9:
        retq
    """
    assert [len(loop.lines) for loop in loops(text)] == [7, 4]
    (inner,) = innermost(text)
    assert (inner.vector_products, inner.scalar_products) == (1, 1)
    assert inner.spills == ("vmovaps %ymm3, 32(%rsp)",)


@pytest.mark.sampled(2)
def test_an_odd_shape_is_faster_than_any_scalar_code() -> None:
    """36 GFLOP/s are two scalar multiply-adds in each of 9 billion cycles a second."""
    compiled = kernel("matmul:513x257x129:f32")
    rng = np.random.default_rng(0)
    a = rng.standard_normal((513, 257), np.float32)
    b = rng.standard_normal((257, 129), np.float32)
    out = compiled(a, b)
    best, end = math.inf, time.perf_counter() + 20
    while compiled.spec.flops / best < 36e9 and time.perf_counter() < end:
        start = time.perf_counter()
        compiled(a, b, out=out)
        best = min(best, time.perf_counter() - start)
    assert compiled.spec.flops / best >= 36e9


@pytest.mark.sampled(12)
@pytest.mark.parametrize("text", [*ODD, SQUARE, *OTHERS])
def test_no_integers_are_made_pointers_and_nothing_is_undefined(text: str) -> None:
    assert not re.search(r"\b(inttoptr|ptrtoint|undef)\b", kernel(text).llvm)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("text", [*ODD, SQUARE, *OTHERS])
def test_a_schedule_replayed_gives_the_same_bytes(text: str) -> None:
    compiled = kernel(text)
    again = morello.compile(text, schedule=compiled.schedule)
    assert again.schedule == compiled.schedule
    assert again.object == compiled.object
    assert again.workspace_bytes == compiled.workspace_bytes
