"""Arguments that are refused, with the whole sentence, and those that are taken."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

from morello.errors import ArgumentError
from morello.runtime.calls.diagnose import diagnose, diagnose_form
from morello.runtime.calls.parameter import Parameter, may_interleave

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


def strided(name: str, strides: str, remedy: str = "", row: int = 0) -> str:
    """The sentence for an array that is not contiguous."""
    operand = name.split("'")[1]
    text = f"{name} is not contiguous in row-major order: it has strides {strides} "
    text += f"bytes; {remedy or 'give numpy.ascontiguousarray(array)'}"
    if row:
        text += f", or compile a Spec with {operand}=ld{row}, or {operand}=ld? for rows"
        text += " any distance apart"
    return text


COPY = "give a contiguous array and copy the result out of it"
ROWS = (
    ", but must have whole rows of 8 elements, equal distances of at least as much "
    "from row to row, and nothing between its batches but rows; give a view of some "
    "columns of a row-major array, or a copy"
)
MAKE = "make one with numpy.asarray(value, dtype='float32')"
LIKE = "give an array of that shape, or compile a Spec of its shape"
ODD = np.frombuffer(bytearray(193), np.uint8)[1:].view(F32).reshape(6, 8)
CONSTANT = np.frombuffer(bytes(192), F32).reshape(6, 8)

NO_ARRAY = "input 'lhs' is not a NumPy array but"
SHARE = "share its memory with numpy.from_dlpack(array)"


class Foreign:
    """An array of another library."""

    def __dlpack__(self) -> None:
        raise AssertionError("not asked for")


REFUSED: list[tuple[Parameter, Any, str]] = [
    (PLAIN, [1], f"{NO_ARRAY} a list; {MAKE}"),
    (PLAIN, None, f"{NO_ARRAY} None; {MAKE}"),
    (PLAIN, np.float64(1), f"{NO_ARRAY} a numpy.float64; {MAKE}"),
    (PLAIN, memoryview(bytes(192)), f"{NO_ARRAY} a memoryview; {MAKE}"),
    (PLAIN, Foreign, f"{NO_ARRAY} a type; {SHARE}"),
    (PLAIN, Foreign(), f"{NO_ARRAY} a {__name__}.Foreign; {SHARE}"),
    (
        OUT,
        3.0,
        "output 'out' is not a NumPy array but a float; give numpy.empty((6, 8), "
        "'float32')",
    ),
    (
        PLAIN,
        np.ma.masked_array(zeros(6, 8)),
        "input 'lhs' is a masked array, whose mask would be ignored; give "
        "numpy.ma.filled(array, value)",
    ),
    (
        PLAIN,
        zeros(6, 8, dtype=">f4"),
        "input 'lhs' is float32 in the byte order of other machines; give "
        "array.astype('float32')",
    ),
    (
        OUT,
        zeros(6, 8, dtype=">f4"),
        "output 'out' is float32 in the byte order of other machines; give "
        "numpy.empty((6, 8), 'float32')",
    ),
    (
        PLAIN,
        zeros(6, 8, dtype=np.float64),
        "input 'lhs' has dtype float64, expected float32; give "
        "array.astype('float32'), or a Spec of its dtype",
    ),
    (
        PLAIN,
        zeros(6, 9),
        f"input 'lhs' has shape (6, 9), expected (1, 6, 8) or (6, 8); {LIKE}",
    ),
    (
        PLAIN,
        zeros(2, 6, 8),
        f"input 'lhs' has shape (2, 6, 8), expected (1, 6, 8) or (6, 8); {LIKE}",
    ),
    (
        PLAIN,
        zeros(0, 8),
        f"input 'lhs' has shape (0, 8), expected (1, 6, 8) or (6, 8); {LIKE}",
    ),
    (
        PLAIN,
        zeros(48),
        "input 'lhs' has 1 dimensions, shape (48,), expected 3 or 2: (1, 6, 8) or "
        "(6, 8); reshape it, or compile a Spec of its shape",
    ),
    (PLAIN, zeros(6, 10)[:, :8], strided("input 'lhs'", "(40, 4)", row=10)),
    (PLAIN, zeros(12, 8)[::2], strided("input 'lhs'", "(64, 4)", row=16)),
    (PLAIN, zeros(8, 6).T, strided("input 'lhs'", "(4, 24)")),
    (PLAIN, zeros(6, 8)[::-1], strided("input 'lhs'", "(-32, 4)")),
    (PLAIN, np.broadcast_to(zeros(8), (6, 8)), strided("input 'lhs'", "(0, 4)")),
    (PLAIN, zeros(1, 6, 12)[..., :8], strided("input 'lhs'", "(288, 48, 4)", row=12)),
    (OUT, zeros(6, 10)[:, :8], strided("output 'out'", "(40, 4)", COPY, 10)),
    (OUT, zeros(6, 16)[:, ::2], strided("output 'out'", "(64, 8)", COPY)),
    (
        APART,
        zeros(6, 8),
        "input 'rhs' has strides (32, 4) bytes, expected (40, 4); give a view with "
        "rows as far apart as the Spec says, or compile a Spec with its leading "
        "dimension",
    ),
    (ANY, zeros(6, 16)[:, ::2], f"input 'x' has strides (64, 8) bytes{ROWS}"),
    (ANY, zeros(8, 6).T, f"input 'x' has strides (4, 24) bytes{ROWS}"),
    (
        PACKED,
        zeros(8, 8),
        "input 'rhs' of shape (8, 8) does not lie as its Spec says: it has strides "
        "(32, 4) bytes; give kernel.pack(array, 'rhs'), or a Spec of its layout",
    ),
    (
        PACKED,
        zeros(1, 2, 4, 8).swapaxes(2, 3),
        strided("input 'rhs'", "(256, 128, 4, 32)"),
    ),
    (
        PLAIN,
        ODD,
        "input 'lhs' is not aligned to its elements of 4 bytes; give array.copy()",
    ),
    (
        OUT,
        CONSTANT,
        "output 'out' is read-only; give a writeable array, e.g. array.copy()",
    ),
    (DEEP, zeros(3, 4, 7)[..., :5], strided("input 'v'", "(112, 28, 4)", row=7)),
    (DEEP, zeros(3, 6, 7)[:, :4, :5], strided("input 'v'", "(168, 28, 4)")),
    (DEEP, zeros(4, 3, 5).swapaxes(0, 1), strided("input 'v'", "(20, 60, 4)")),
    (
        DEEPER,
        zeros(3, 4, 5, 7)[..., :2],
        strided("input 'v'", "(560, 140, 28, 4)", row=7),
    ),
    (
        DEEPER,
        zeros(3, 5, 4, 7)[..., :2].swapaxes(1, 2),
        strided("input 'v'", "(560, 28, 112, 4)"),
    ),
]


@pytest.mark.parametrize(("parameter", "array", "sentence"), REFUSED)
def test_what_is_refused_is_said(
    parameter: Parameter, array: Any, sentence: str
) -> None:
    with pytest.raises(ArgumentError) as caught:
        diagnose(array, parameter)
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
