"""Arguments that are refused, with the whole sentence, and those that are taken."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

from morello.errors import ArgumentError
from morello.runtime.calls.diagnose import diagnose, diagnose_form
from morello.runtime.calls.parameter import Parameter, may_interleave
from tests.tables import rows

pytestmark = pytest.mark.quick

F32 = np.dtype(np.float32)
PLAIN = Parameter("lhs", F32, (1, 6, 8), ((6, 8),))
OUT = Parameter("out", F32, (6, 8), is_output=True)
APART = Parameter("rhs", F32, (6, 8), strides=(10, 1))
ANY = Parameter("x", F32, (6, 8), strides=(9, 1), any_row=9)
PACKED = Parameter("rhs", F32, (1, 2, 8, 4), views=(((8, 8), (4, 1)),))
DEEP = Parameter("v", F32, (3, 4, 5))
DEEPER = Parameter("v", F32, (3, 4, 5, 2))


def zeros(*shape: int, dtype: Any = F32) -> Any:
    return np.zeros(shape, dtype)


ODD = np.frombuffer(bytearray(193), np.uint8)[1:].view(F32).reshape(6, 8)
CONSTANT = np.frombuffer(bytes(192), F32).reshape(6, 8)


class Foreign:
    """An array of another library."""

    def __dlpack__(self) -> None:
        raise AssertionError("not asked for")


REFUSED = rows(__file__, "refused_arguments")
"""Parameters, what they are given, and the sentence."""


@pytest.mark.parametrize(("parameter", "array", "sentence"), REFUSED)
def test_what_is_refused_is_said(parameter: str, array: str, sentence: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        diagnose(eval(array), eval(parameter))
    assert str(caught.value) == sentence


def test_what_fits_is_not_refused() -> None:
    for parameter, array in [
        (PLAIN, zeros(6, 8)),
        (PLAIN, zeros(1, 6, 8)),
        (PLAIN, CONSTANT),
        (APART, zeros(6, 10)[:, :8]),
        (ANY, zeros(6, 8)),
        (ANY, zeros(6, 31)[:, 5:13]),
        (PACKED, zeros(1, 2, 8, 4)),
    ]:
        diagnose(array, parameter)


def places(shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """The place of each element, from its strides."""
    grids = np.indices(shape)
    return sum(
        (grid * step for grid, step in zip(grids, strides, strict=True)),
        np.zeros(shape, np.int64),
    )


SHAPES = ((2, 3), (1, 3), (2, 1), (2, 2, 3), (1, 2, 2), (2, 1, 3))


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_of_any_distance_are_those_that_lie_like_some_distance(
    shape: tuple[int, ...],
) -> None:
    """All strides of up to 9 elements, beside each distance of rows as it is defined:
    rows without gaps within them, and batches of rows one after another."""
    whole, size = shape[-1], 4
    steps = (*(np.multiply.accumulate((9, *shape[-2:0:-1]))[::-1]), 1)
    parameter = Parameter("x", F32, shape, strides=tuple(map(int, steps)), any_row=9)
    for strides in itertools.product(range(10), repeat=len(shape)):
        row_stride = parameter.row_of(shape, tuple(step * size for step in strides))
        wanted = places(shape, strides)
        fits = [
            row
            for row in range(whole, 10)
            if np.array_equal(places(shape, parameter.with_row(row).strides), wanted)
        ]
        assert (row_stride is not None) == bool(fits), strides
        assert row_stride is None or row_stride in fits
        in_bytes = tuple(step * size for step in strides)
        assert parameter.lies_as_one(shape, in_bytes) == bool(fits)


def test_rows_interleave_where_both_fit_between() -> None:
    def rows(width: int, apart: int, **more: Any) -> Parameter:
        return Parameter("x", F32, (3, width), strides=(apart, 1), **more)

    assert may_interleave(rows(4, 10), rows(6, 10)) == 40
    assert may_interleave(rows(5, 10), rows(6, 10)) == 0
    assert may_interleave(rows(2, 10), rows(2, 11)) == 0
    assert may_interleave(rows(4, 10), rows(6, 10, any_row=10)) == 0
    assert may_interleave(rows(4, 10), Parameter("x", F32, (3, 6))) == 0


def test_bytes_and_rows_of_a_parameter() -> None:
    assert (PLAIN.nbytes, PLAIN.rows, PLAIN.row) == (192, 6, (192, 192))
    assert (APART.nbytes, APART.rows, APART.row) == ((5 * 10 + 8) * 4, 6, (32, 40))
    assert ANY.nbytes == 192
    assert PACKED.shorter == ((8, 8),)
    assert PLAIN.shorter == ((6, 8),)
    assert DEEP.forms == (((3, 4, 5), (80, 20, 4)),)


def test_parameters_that_contradict_themselves_are_none() -> None:
    for wrong, words in (
        ({"alternatives": ((7, 8),)}, "an alternative to"),
        ({"strides": (1,)}, "has strides"),
        ({"accumulates": True}, "only an output accumulates"),
        ({"dtype": np.dtype(">f4")}, "of the other byte order"),
    ):
        with pytest.raises(ValueError, match=words):
            dataclasses.replace(PLAIN, **wrong)


@pytest.mark.parametrize(
    "array", [zeros(6, 8), zeros(1, 6, 8), zeros(12, 16)[::2, ::2], zeros(8, 6).T]
)
def test_a_form_is_taken_however_it_lies(array: Any) -> None:
    diagnose_form(array, PLAIN)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (zeros(6, 8).tolist(), "'lhs' is not a NumPy array but a list"),
        (np.ma.zeros((6, 8), F32), "'lhs' is a masked array"),
        (zeros(6, 8, dtype=np.float64), "'lhs' has dtype float64, expected float32"),
        (zeros(8, 6), "'lhs' has shape .8, 6., expected"),
    ],
)
def test_another_form_is_refused_however_it_lies(array: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        diagnose_form(array, PLAIN)
