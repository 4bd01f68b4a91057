"""Products of bytes whose program checks the range of rhs: exact for any values."""

import numpy as np
import pytest

import morello
from morello.actions import SpecializeRange
from morello.spec.kind import Array

pytestmark = pytest.mark.usefixtures("one_database")

SIZES = {"64x256x64": (64, 256, 64), "30x50x70": (30, 50, 70), "9x13x33": (9, 13, 33)}


def drawn(rng: np.random.Generator, sizes: tuple[int, int, int]) -> tuple[Array, Array]:
    """A lhs of any bytes, and a rhs of 7 bits that has both its bounds."""
    m, k, n = sizes
    rhs = rng.integers(-64, 64, (k, n), np.int8)
    rhs.flat[0], rhs.flat[-1] = -64, 63
    return rng.integers(0, 256, (m, k), np.uint8), rhs


def check(kernel: morello.Kernel, lhs: Array, rhs: Array) -> None:
    wanted = lhs.astype(np.int32) @ rhs.astype(np.int32)
    np.testing.assert_array_equal(kernel(lhs, rhs), wanted)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("text", "threads"),
    [("64x256x64", 1), ("64x256x64", 2), ("30x50x70", 1), ("9x13x33", 2)],
)
def test_both_branches_are_exact(text: str, threads: int) -> None:
    kernel = morello.compile(f"matmul:{text}:u8,s8,s32:l2=0", threads=threads)
    assert any(isinstance(i.action, SpecializeRange) for i in kernel.impl.walk())
    rng = np.random.default_rng(0)
    lhs, rhs = drawn(rng, SIZES[text])
    check(kernel, lhs, rhs)
    check(kernel, np.full_like(lhs, 255), np.full_like(rhs, -64))
    check(kernel, np.full_like(lhs, 255), np.full_like(rhs, 63))
    check(kernel, np.full_like(lhs, 255), np.full_like(rhs, -128))
    check(kernel, np.full_like(lhs, 255), np.full_like(rhs, 127))
    for place in rng.integers(0, rhs.size, 8):
        for number in (-128, -65, 64, 127):
            one = rhs.copy()
            one.flat[place] = number
            check(kernel, lhs, one)


@pytest.mark.sampled(2)
def test_the_search_has_a_program_for_7_bits_and_one_for_any() -> None:
    kernel = morello.compile("matmul:64x256x64:u8,s8,s32:l2=0", threads=1)
    (choice,) = (i for i in kernel.impl.walk() if isinstance(i.action, SpecializeRange))
    assert [branch.role for branch in choice.branches] == ["in_range", "general"]
    assert [branch.times for branch in choice.branches] == [1, 0]
    in_range, general = (
        {str(i.action) for i in branch.impl.walk()} for branch in choice.branches
    )
    assert "select(int_dot4)" in in_range
    assert "select(int_dot4)" not in general
    again = morello.compile(
        "matmul:64x256x64:u8,s8,s32:l2=0", schedule=kernel.schedule, threads=1
    )
    assert again.cost() == kernel.cost() == kernel.impl.cost
