"""Ranges of sizes as text and back."""

import pytest

from morello.errors import SpecError
from morello.machine import AVX2
from morello.spec import parse_spec, print_spec
from morello.spec.size_range import SizeRange

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("1..4", [1, 2, 3, 4]),
        ("3..3", [3]),
        ("16..64/16", [16, 32, 48, 64]),
        ("4..28/8", [4, 12, 20, 28]),
    ],
)
def test_sizes_that_are_written(text: str, sizes: list[int]) -> None:
    size_range = SizeRange.written(text)
    assert list(size_range) == sizes
    again = SizeRange((0,), sizes[0], size_range.step)
    assert list(again.sizes(sizes[-1])) == sizes
    assert again.text(sizes[-1]) == text
    spec = f"matmul:{text if len(sizes) > 1 else sizes[0]}x5x6:f32"
    assert print_spec(parse_spec(spec, AVX2.limits), AVX2.limits) == spec


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("7", "'7' is no range of sizes; write its least size and its greatest: 1..5"),
        ("m=1..7", "'m=1..7' is no range of sizes"),
        ("4..2", "the range '4..2' holds no sizes; write its least size, at least 1,"),
        ("0..2", "the range '0..2' holds no sizes"),
        ("1..2/0", "the range '1..2/0' holds no sizes"),
    ],
)
def test_what_is_no_range_of_sizes(text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        SizeRange.written(text)
    assert str(caught.value).startswith(message)
