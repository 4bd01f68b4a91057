"""Relations between the outputs of kernels, which need no reference.

Where two programs add up in different orders data are whole numbers, so that nothing is
rounded; else they are from N(0, 1). All bits agree.
"""

import numpy as np
import pytest

from morello.compiler.kernel import Kernel
from morello.spec.kind import Array
from tests.quality.compiled import unsearched

SEEDS = range(3)


def normal(seed: int, *shapes: tuple[int, ...]) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape, np.float32) for shape in shapes]


def whole_numbers(seed: int, *shapes: tuple[int, ...]) -> list[Array]:
    return [np.rint(4 * array) for array in normal(seed, *shapes)]


def same(one: Array, other: Array) -> bool:
    return np.array_equal(
        one.view(np.uint8), np.ascontiguousarray(other).view(np.uint8)
    )


def matmul(m: int, k: int, n: int, seed: int) -> Kernel:
    return unsearched(f"matmul:{m}x{k}x{n}:f32", seed)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", SEEDS)
def test_k_in_two_parts(seed: int) -> None:
    a, b = whole_numbers(seed, (13, 31), (31, 19))
    whole = matmul(13, 31, 19, seed)(a, b)
    parts = matmul(13, 12, 19, seed)(a[:, :12].copy(), b[:12].copy())
    rest = unsearched("matmul_accum:13x19x19:f32", seed)
    rest(a[:, 12:].copy(), b[12:].copy(), out=parts)
    assert same(whole, parts)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", SEEDS)
def test_rows_and_columns_in_another_order(seed: int) -> None:
    a, b = whole_numbers(seed, (13, 31), (31, 19))
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(13), rng.permutation(19)
    kernel = matmul(13, 31, 19, seed)
    whole = kernel(a, b)
    assert same(kernel(a[rows], b), whole[rows])
    assert same(kernel(a, b[:, columns].copy()), whole[:, columns])


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", SEEDS)
def test_matrices_side_by_side(seed: int) -> None:
    a, b = whole_numbers(seed, (13, 31), (31, 19))
    whole = matmul(13, 31, 19, seed)(a, b)
    top, bottom = (matmul(m, 31, 19, seed) for m in (5, 8))
    assert same(np.concatenate([top(a[:5], b), bottom(a[5:], b)]), whole)
    left, right = (matmul(13, 31, n, seed) for n in (17, 2))
    halves = left(a, b[:, :17].copy()), right(a, b[:, 17:].copy())
    assert same(np.concatenate(halves, axis=1), whole)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("power", [-20, -1, 1, 30])
def test_powers_of_two(seed: int, power: int) -> None:
    a, b = normal(seed, (13, 31), (31, 19))
    kernel, scale = matmul(13, 31, 19, seed), np.float32(2.0**power)
    whole = kernel(a, b) * scale
    assert same(kernel(a * scale, b), whole)
    assert same(kernel(a, b * scale), whole)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_batch_is_its_matrices(seed: int) -> None:
    a, b = whole_numbers(seed, (3, 9, 31), (3, 31, 19))
    batch = unsearched("matmul:3x9x31x19:f32", seed)(a, b)
    one = matmul(9, 31, 19, seed)
    each = np.stack([one(x, y) for x, y in zip(a, b, strict=True)])
    assert same(batch, each)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", SEEDS)
def test_filled_and_added_is_overwritten(seed: int) -> None:
    a, b = whole_numbers(seed, (13, 31), (31, 19))
    out = unsearched("fill:13x19:f32", seed)()
    unsearched("matmul_accum:13x31x19:f32", seed)(a, b, out=out)
    assert same(out, matmul(13, 31, 19, seed)(a, b))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("layout", ["[0,2,1]", "[0,2,1,2p16]", "[0,2,1,2p24]"])
@pytest.mark.parametrize("seed", SEEDS)
def test_moved_and_multiplied_in_another_layout(seed: int, layout: str) -> None:
    a, b = whole_numbers(seed, (1, 13, 31), (1, 31, 19))
    moved = unsearched(f"move:1x31x19:f32:dst={layout}", seed)(b)
    product = unsearched(f"matmul:13x31x19:f32:rhs={layout}", seed)(a, moved)
    assert same(product, matmul(13, 31, 19, seed)(a, b))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("layout", ["[1,0]", "[1,0,1p4]", "[0,1,0p6]", "[0,1,1oe8]"])
@pytest.mark.parametrize("seed", SEEDS)
def test_there_and_back(seed: int, layout: str) -> None:
    (a,) = normal(seed, (23, 19))
    there = unsearched(f"move:23x19:f32:dst={layout}", seed)(a)
    assert same(unsearched(f"move:23x19:f32:src={layout}", seed)(there), a)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_maximum_of_parts(seed: int) -> None:
    (a,) = normal(seed, (23, 57))
    whole = unsearched("max:23x57:f32", seed)(a)
    parts = unsearched("max:23x33:f32", seed)(a[:, :33].copy())
    unsearched("max_accum:23x24:f32", seed)(a[:, 33:].copy(), out=parts)
    assert same(whole, parts)
    order = np.random.default_rng(seed).permutation(57)
    assert same(unsearched("max:23x57:f32", seed)(a[:, order].copy()), whole)
