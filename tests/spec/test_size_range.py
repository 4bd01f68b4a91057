"""Sizes that each call says: text, checks, and the Specs of each size."""

import dataclasses

import pytest

from morello.errors import SpecError
from morello.machine import AVX2
from morello.spec import SizeRange, Spec, parse_spec, print_spec

pytestmark = pytest.mark.quick


def parsed(text: str) -> Spec:
    return parse_spec(text, AVX2.limits)


@pytest.mark.parametrize(
    ("text", "sizes", "ranges"),
    [
        ("matmul:1..512x64x32:f32", (1, 512, 64, 32), [((1,), 1, 1)]),
        ("matmul:16..512/16x8x9:f32", (1, 512, 8, 9), [((1,), 16, 16)]),
        ("matmul:3..43/8x8x9:f32", (1, 43, 8, 9), [((1,), 3, 8)]),
        ("matmul:1..4x7x8x9:f32", (4, 7, 8, 9), [((0,), 1, 1)]),
        ("matmul:7x8x1..9:f32", (1, 7, 8, 9), [((3,), 1, 1)]),
        ("softmax:64x1..4096:f32", (64, 4096), [((1,), 1, 1)]),
        ("attention:s=1..512xsx64x64:f32", (512, 512, 64, 64), [((0, 1), 1, 1)]),
        (
            "attention:1..64x1..4096x64x32:f32",
            (64, 4096, 64, 32),
            [((0,), 1, 1), ((1,), 1, 1)],
        ),
        ("attention:1..8x64x9x7x32:f32", (8, 64, 9, 7, 32), [((0,), 1, 1)]),
    ],
)
def test_round_trip(
    text: str, sizes: tuple[int, ...], ranges: list[tuple[tuple[int, ...], int, int]]
) -> None:
    spec = parsed(text)
    assert spec.sizes == sizes
    assert spec.ranges == tuple(SizeRange(*parts) for parts in ranges)
    assert print_spec(spec, AVX2.limits) == text


def test_shorter_texts() -> None:
    assert parsed("matmul:..512x6x7") == parsed("matmul:1..512x6x7")
    assert parsed("matmul:..512/16x6x7") == parsed("matmul:16..512/16x6x7")
    assert parsed("matmul:5..5x6x7") == parsed("matmul:5x6x7")


def test_a_range_leaves_the_key_and_the_greatest_sizes() -> None:
    spec, static = parsed("matmul:4..12/4x6x7"), parsed("matmul:12x6x7")
    assert spec.key == static.key
    assert spec.sizes == static.sizes
    assert spec.shape(0) == static.shape(0)
    assert spec.least == (1, 4, 6, 7)
    assert spec.step == (0, 4, 0, 0)
    assert (static.least, static.step) == (static.sizes, (0,) * 4)
    assert spec != static


def test_the_spec_of_a_size() -> None:
    spec = parsed("attention:s=2..8/2xsx4x4")
    assert spec.at(6) == parsed("attention:6x6x4x4")
    assert parsed("matmul:1..4x5x1..6").at(3, 2) == parsed("matmul:3x5x2")
    for wrong in ((3,), (10,), (0,), (), (2, 2)):
        with pytest.raises(SpecError):
            spec.at(*wrong)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("matmul:0..5x6x7", "holds no sizes"),
        ("matmul:6..5x6x7", "holds no sizes"),
        ("matmul:1..9/0x6x7", "holds no sizes"),
        ("matmul:1..10/4x6x7", "end it with 9"),
        ("matmul:nx6x7", "'n' in 'nx6x7' has no range"),
        ("matmul:n=1..4x6xn=1..4", "'n' has two ranges"),
        ("matmul:1..4x1..4x1..4", "3 ranges of sizes"),
        ("matmul:..x3x3", "holds no sizes"),
        ("matmul:1..4X3x3", "did you mean '1..4x3x3'"),
        ("matmul:1..99999999999x3x3", "size 99999999999 of dimension m"),
        (
            "conv:1x3x4..8x8x4x3x3",
            "of no dimension that its kind has for each size alike",
        ),
    ],
)
def test_wrong_ranges_are_refused(text: str, part: str) -> None:
    with pytest.raises(SpecError) as refused:
        parsed(text)
    assert part in str(refused.value)


def test_ranges_of_no_dimension_are_refused() -> None:
    static = parsed("matmul:4x5x6")
    for wrong in (
        SizeRange((1,), 4),
        SizeRange((1,), 0),
        SizeRange((1,), 1, 2),
        SizeRange((1, 2), 1),
    ):
        with pytest.raises(SpecError):
            dataclasses.replace(static, ranges=(wrong,))
