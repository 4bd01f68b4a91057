"""Shapes, strides and bytes of parameters, also of those whose size each call says."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

from morello.errors import ArgumentError
from morello.runtime.calls.arguments import ArgumentChecker
from morello.runtime.calls.call_size import CallSizes, call_sizes
from morello.runtime.calls.parameter import Parameter, SizeAxis, may_interleave

pytestmark = pytest.mark.quick

F32, BYTES = np.dtype(np.float32), np.dtype(np.int8)
ROWS = SizeAxis("m", (1,), range(2, 9, 2))
COLUMNS = SizeAxis("n", (2,), range(1, 6))
BOTH = SizeAxis("n", (1, 2), range(1, 6))

A = Parameter("a", F32, (1, 8, 3), ((8, 3),), sizes=(ROWS,))
B = Parameter("b", F32, (1, 3, 4), ((3, 4),))
C = Parameter("c", BYTES, (1, 8, 4), ((8, 4),), is_output=True, sizes=(ROWS,))
WIDE = Parameter("w", F32, (2, 3, 5), sizes=(COLUMNS,))
MASK = Parameter("mask", BYTES, (1, 5, 5), ((5, 5),), sizes=(BOTH,))


def test_sizes_print_as_a_range() -> None:
    assert (str(ROWS), str(COLUMNS)) == ("2 to 8 in steps of 2", "1 to 5")


@pytest.mark.parametrize("size", ROWS.sizes)
def test_a_parameter_in_a_call_that_says_a_size(size: int) -> None:
    one = A.at(size)
    assert (one.shape, one.alternatives, one.sizes) == ((1, size, 3), ((size, 3),), ())
    assert C.at(size).nbytes == size * 4
    assert one.nbytes == A.nbytes - (8 - size) * A.size_bytes
    assert B.at(size) is B


def test_places_of_the_dimension_that_varies() -> None:
    assert [A.places_in(s) for s in ((1, 5, 3), (5, 3), (3,), (1, 1, 5, 3))] == [
        {1: 0},
        {0: 0},
    ] + [{}] * 2
    assert WIDE.places_in((2, 3, 4)) == {2: 0}
    assert WIDE.places_in((3, 4)) == {}
    places = [MASK.places_in(s) for s in ((1, 3, 3), (3, 3))]
    assert places == [{1: 0, 2: 0}, {0: 0, 1: 0}]
    assert [p.size_bytes for p in (A, B, C, WIDE, MASK)] == [12, 0, 4, 24, 1]


def test_dimensions_of_one_size_are_equal() -> None:
    assert MASK.at(3).shapes == ((1, 3, 3), (3, 3))
    checker = ArgumentChecker((MASK, dataclasses.replace(C, sizes=())))
    out = np.zeros((8, 4), np.int8)
    mask = np.zeros((4, 4), np.int8)
    assert checker.check([mask, out]) == [mask.ctypes.data, out.ctypes.data, 4]
    for shape in ((1, 4), (4, 1), (4, 5), (5, 4)):
        with pytest.raises(ArgumentError, match="input 'mask' has shape"):
            checker.check([np.zeros(shape, np.int8), out])


@pytest.mark.parametrize(
    ("shapes", "size"),
    [
        (((1, 4, 3), (1, 3, 4), None), 4),
        (((6, 3), (3, 4)), 6),
        ((None, (3, 4), (2, 4)), 2),
        (((3,), (3, 4), (1, 4, 4)), 4),  # what is refused elsewhere says nothing
        (((), (3, 4), (8, 4)), 8),
        (([4, 3], (3, 4), (2, 4)), 2),
        (((6, 3), (3, 4), (2, 4)), 6),
        ((None, None, None), 8),
    ],
)
def test_the_size_is_that_of_the_first_array_which_has_one(
    shapes: Any, size: int
) -> None:
    sizes = call_sizes((A, B, C))
    assert sizes is not None
    assert sizes.of(shapes) == (size,)
    assert [p.shape[1] for p in sizes.settled((size,))] == [size, 3, size]


@pytest.mark.parametrize("size", [0, 1, 3, 9, 10])
def test_a_size_that_is_not_taken_is_refused(size: int) -> None:
    words = f"input 'a': m is {size}, and the kernel takes 2 to 8 in steps of 2"
    with pytest.raises(ArgumentError, match=words):
        CallSizes((A, B, C)).of([(size, 3)])


def test_where_every_shape_is_settled_calls_say_none() -> None:
    assert call_sizes((B, B)) is None
    assert call_sizes((B, WIDE)) == CallSizes((B, WIDE))


def test_arrays_of_a_call_are_checked_by_its_size() -> None:
    checker = ArgumentChecker((A, B, C))
    b = np.zeros((3, 4), np.float32)
    for size in ROWS.sizes:
        a, c = np.zeros((1, size, 3), np.float32), np.zeros((size, 4), np.int8)
        arrays = [a, b, c]
        addresses = [array.ctypes.data for array in arrays]
        assert checker.check(arrays) == [*addresses, size]
        for other in {*ROWS.sizes} - {size}:
            with pytest.raises(ArgumentError, match="output 'c'"):
                checker.check([a, b, np.zeros((other, 4), np.int8)])
    memory = np.zeros(200, np.int8)
    a = memory[32 : 32 + 24].view(np.float32).reshape(2, 3)
    checker.check([a, b, memory[:8].reshape(2, 4)])
    checker.check([a, b, memory[24:32].reshape(2, 4)])
    checker.check([a, b, memory[56:64].reshape(2, 4)])
    for start in (25, 55):
        with pytest.raises(ArgumentError, match="'c' overlaps input 'a'"):
            checker.check([a, b, memory[start : start + 8].reshape(2, 4)])


SHAPES = ((4,), (2, 3), (1, 5), (2, 1, 3), (2, 3, 4), (1, 1, 6))


@pytest.mark.parametrize("shape", SHAPES)
def test_forms_of_arrays_are_those_of_numpy(shape: tuple[int, ...]) -> None:
    """Sizes of an array without gaps, and of one with gaps behind its rows."""
    plain = np.zeros(shape, np.int16)
    parameter = Parameter("x", plain.dtype, shape)
    assert parameter.forms == ((plain.shape, plain.strides),)
    assert parameter.nbytes == plain.nbytes
    assert parameter.lies_as_one(plain.shape, plain.strides)
    if len(shape) < 2:
        assert parameter.row == (plain.nbytes, plain.nbytes)
        return
    wide = np.zeros((*shape[:-1], shape[-1] + 3), np.int16)[..., : shape[-1]]
    steps = tuple(stride // 2 for stride in wide.strides)
    short = (shape[1:],) if shape[0] == 1 else ()
    apart = Parameter("x", wide.dtype, shape, short, strides=steps)
    first, last = np.lib.array_utils.byte_bounds(wide)
    assert apart.nbytes == last - first
    assert apart.row == (2 * shape[-1], 2 * shape[-1] + 6)
    assert apart.rows == parameter.rows == plain.size // shape[-1]
    arrays = (wide, wide[0]) if short else (wide,)
    assert apart.forms == tuple((a.shape, a.strides) for a in arrays)
    rows_matter = any(n > 1 for n in shape[:-1])
    assert apart.lies_as_one(plain.shape, plain.strides) == (not rows_matter)
    assert parameter.lies_as_one(wide.shape, wide.strides) == (not rows_matter)
    any_row = dataclasses.replace(apart, any_row=shape[-1] + 3)
    assert any_row.nbytes == plain.nbytes
    for gap in range(4):
        other = np.zeros((*shape[:-1], shape[-1] + gap), np.int16)[..., : shape[-1]]
        row = any_row.row_of(other.shape, other.strides)
        assert row == (shape[-1] + gap if rows_matter else shape[-1])
        one = any_row.with_row(shape[-1] + gap)
        assert one.any_row == 0
        if rows_matter:
            assert one.lies_as_one(other.shape, other.strides)
            assert one.row[1] == 2 * (shape[-1] + gap)


def test_views_follow_the_distance_of_rows() -> None:
    """An operand that lies turned is taken as its transpose, too."""
    turned = Parameter(
        "x", F32, (3, 4), strides=(6, 1), views=(((4, 3), (1, 6)),), any_row=6
    )
    whole = np.zeros((3, 7), np.float32)[:, :4]
    assert turned.row_of(whole.shape, whole.strides) == 7
    assert turned.row_of(whole.T.shape, whole.T.strides) == 7
    assert turned.row_of(whole[:, :3].shape, whole.strides) is None
    assert turned.with_row(7).views == (((4, 3), (1, 7)),)
    assert turned.shorter == ()
    flat = dataclasses.replace(B, views=(((12,), (1,)), ((4, 3), (1, 4))))
    assert flat.shorter == ((3, 4), (12,), (4, 3))


@pytest.mark.parametrize(
    ("widths", "aparts"),
    [*itertools.product([(2, 3), (4, 3), (5, 3), (3, 3)], [(8, 8), (7, 7), (8, 9)])],
)
def test_rows_may_lie_in_gaps_of_each_other_where_both_fit(
    widths: tuple[int, int], aparts: tuple[int, int]
) -> None:
    one, other = (
        Parameter("x", F32, (3, width), strides=(apart, 1))
        for width, apart in zip(widths, aparts, strict=True)
    )
    fits = aparts[0] == aparts[1] >= sum(widths)
    assert may_interleave(one, other) == (4 * aparts[0] if fits else 0)
    assert may_interleave(dataclasses.replace(one, any_row=aparts[0]), other) == 0
    assert may_interleave(one, dataclasses.replace(other, any_row=aparts[1])) == 0


def test_rows_in_gaps_meet_where_they_share_bytes() -> None:
    one, other = (
        Parameter(name, BYTES, (3, width), is_output=name == "y", strides=(8, 1))
        for name, width in (("x", 3), ("y", 2))
    )
    checker = ArgumentChecker((one, other))
    memory = np.zeros(80, np.int8)

    def at(start: int, width: int) -> Any:
        return memory[start : start + 24].reshape(3, 8)[:, :width]

    for start in range(-10, 27):
        x, y = at(16, 3), at(16 + start, 2)
        meet = np.shares_memory(x, y)
        if meet:
            with pytest.raises(ArgumentError, match="overlaps"):
                checker.check([x, y])
        else:
            checker.check([x, y])


PAIR = Parameter(
    "pair",
    F32,
    (8, 5),
    sizes=(SizeAxis("m", (0,), ROWS.sizes), SizeAxis("n", (1,), COLUMNS.sizes, 1)),
)
LENGTHS = Parameter("lengths", F32, (5,), sizes=(SizeAxis("n", (0,), range(1, 6), 1),))


def test_two_sizes_of_a_call() -> None:
    """Each is that of the first array which has one."""
    assert PAIR.at(4, 3).shape == (4, 3)
    assert LENGTHS.at(4, 3).shape == (3,)
    assert (PAIR.size_bytes, LENGTHS.size_bytes) == (4, 4)
    sizes = call_sizes((LENGTHS, PAIR))
    assert sizes is not None
    assert [axis.name for axis in sizes.axes] == ["m", "n"]
    assert sizes.of([(3,), (4, 3)]) == (4, 3)
    assert sizes.of([(3,), None]) == (8, 3)
    checker = ArgumentChecker((LENGTHS, PAIR))
    lengths, pair = np.zeros(3, np.float32), np.zeros((4, 3), np.float32)
    where = [lengths.ctypes.data, pair.ctypes.data]
    assert checker.check([lengths, pair]) == [*where, 4, 3]
    for shape in ((4, 2), (3, 3), (3, 4)):
        with pytest.raises(ArgumentError, match="input 'pair'"):
            checker.check([lengths, np.zeros(shape, np.float32)])
