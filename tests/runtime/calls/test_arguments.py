"""The arguments that a call accepts and refuses."""

import dataclasses
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from morello.errors import ArgumentError, MorelloError
from morello.runtime.calls import array_layout
from morello.runtime.calls.arguments import ArgumentChecker
from morello.runtime.calls.parameter import Parameter

pytestmark = pytest.mark.quick

F32 = np.dtype(np.float32)
DTYPES = [np.float32, np.int32, np.int16, np.int8, np.uint8, ml_dtypes.bfloat16]


def parameters(dtype: Any = F32) -> tuple[Parameter, ...]:
    """A product of 4x6 and 6x8, with a batch of 1 that may be left out."""

    def one(name: str, shape: tuple[int, ...], is_output: bool = False) -> Parameter:
        return Parameter(name, np.dtype(dtype), shape, (shape[1:],), is_output)

    return (one("a", (1, 4, 6)), one("b", (1, 6, 8)), one("c", (1, 4, 8), True))


def arrays(dtype: Any = F32) -> list[Any]:
    return [np.zeros(p.shape[1:], p.dtype) for p in parameters(dtype)]


class Foreign:
    """An array of another library."""

    def __dlpack__(self) -> None:
        raise AssertionError("not asked for")


def misaligned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    memory = np.zeros(array.nbytes + 1, np.uint8)
    view: np.ndarray[Any, Any] = memory[1:].view(array.dtype).reshape(array.shape)
    return view


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "none": (lambda a: None, "is not a NumPy array but None"),
    "list": (lambda a: a.tolist(), "is not a NumPy array but a list"),
    "number": (lambda a: 1.0, "is not a NumPy array but a float"),
    "scalar": (lambda a: np.float64(1), "is not a NumPy array but a numpy.float64"),
    "memory": (lambda a: memoryview(a.view(np.uint8)), "but a memoryview"),
    "foreign": (
        lambda a: Foreign(),
        "but a tests.runtime.calls.test_arguments.Foreign",
    ),
    "class": (lambda a: np.ndarray, "is not a NumPy array but a type"),
    "masked": (np.ma.masked_array, "is a masked array, whose mask would be ignored"),
    "f64": (lambda a: a.astype(np.float64), "has dtype float64, expected "),
    "complex": (lambda a: a.astype(np.complex64), "has dtype complex64, expected "),
    "bool": (lambda a: a.astype(np.bool_), "has dtype bool, expected "),
    "object": (lambda a: a.astype(object), "has dtype object, expected "),
    "vector": (lambda a: a.reshape(-1), "has 1 dimensions, shape "),
    "rank 4": (lambda a: a[None, None], "has 4 dimensions, shape "),
    "rank 0": (lambda a: np.asarray(a[0, 0]), "has 0 dimensions, shape ()"),
    "transposed": (lambda a: a.T.copy(), "has shape "),
    "too small": (lambda a: a[1:], "has shape "),
    "empty": (lambda a: a[:0], "has shape (0, "),
    "batch 2": (lambda a: np.stack([a, a]), "has shape (2, "),
    "column-major": (np.asfortranarray, "is not contiguous in row-major order"),
    "every second": (
        lambda a: np.repeat(a, 2, 1)[:, ::2],
        "is not contiguous in row-major order",
    ),
    "backwards": (lambda a: a[::-1], "is not contiguous in row-major order"),
    "row broadcast": (
        lambda a: np.broadcast_to(a[:1], a.shape),
        "is not contiguous in row-major order",
    ),
    "padded rows": (
        lambda a: np.pad(a, ((0, 0), (0, 1)))[:, :-1],
        "is not contiguous in row-major order",
    ),
}


@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str, position: int) -> None:
    make, reason = REFUSED[case]
    role = ("input 'a'", "input 'b'", "output 'c'")[position]
    for dtype in DTYPES:
        arguments = arrays(dtype)
        arguments[position] = make(arguments[position])
        with pytest.raises(ArgumentError) as caught:
            ArgumentChecker(parameters(dtype)).check(arguments)
        assert str(caught.value).startswith(f"{role} "), dtype
        assert reason in str(caught.value), dtype
        assert caught.value.remedy
        assert isinstance(caught.value, MorelloError)
        assert isinstance(caught.value, ValueError)


WIDE = [dtype for dtype in DTYPES if np.dtype(dtype).itemsize > 1]


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("position", range(3))
def test_refused_misaligned(position: int, dtype: Any) -> None:
    arguments = arrays(dtype)
    arguments[position] = misaligned(arguments[position])
    size = np.dtype(dtype).itemsize
    with pytest.raises(ArgumentError, match=f"not aligned to its elements of {size} "):
        ArgumentChecker(parameters(dtype)).check(arguments)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int16])
@pytest.mark.parametrize("position", range(3))
def test_refused_byte_order(position: int, dtype: Any) -> None:
    arguments = arrays(dtype)
    arguments[position] = arguments[position].astype(np.dtype(dtype).newbyteorder())
    with pytest.raises(ArgumentError, match="in the byte order of other machines"):
        ArgumentChecker(parameters(dtype)).check(arguments)


@pytest.mark.parametrize("dtype", DTYPES)
def test_refused_read_only_output(dtype: Any) -> None:
    arguments = arrays(dtype)
    checker = ArgumentChecker(parameters(dtype))
    checker.check([read_only(arguments[0]), read_only(arguments[1]), arguments[2]])
    with pytest.raises(
        ArgumentError, match="output 'c' is read-only; give a writeable"
    ):
        checker.check([*arguments[:2], read_only(arguments[2])])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shift", [0, 1, 31, -23])
def test_refused_overlap(dtype: Any, shift: int) -> None:
    # The output's 32 elements start `shift` elements after the input's 24.
    memory = np.zeros(100, dtype)
    a = memory[40:64].reshape(4, 6)
    start = 40 + shift if shift < 24 else 40 - shift
    c = memory[start : start + 32].reshape(4, 8)
    checker = ArgumentChecker(parameters(dtype))
    with pytest.raises(ArgumentError, match="output 'c' overlaps input 'a' in memory"):
        checker.check([a, arrays(dtype)[1], c])


def test_neighbours_do_not_overlap() -> None:
    memory = np.zeros(24 + 48 + 32, np.float32)
    a, b = memory[:24].reshape(4, 6), memory[56:].reshape(6, 8)
    c = memory[24:56].reshape(4, 8)
    ArgumentChecker(parameters()).check([a, b, c])


def columns(memory: Any, start: int, stop: int) -> Any:
    """Some columns of each row of an array of 8 columns."""
    return memory.reshape(-1, 8)[:, start:stop]


@pytest.mark.parametrize(
    ("of_a", "of_c", "meets"),
    [
        ((0, 4), (4, 8), False),  # the rows of both fill each other's gaps
        ((4, 8), (0, 4), False),
        ((0, 4), (5, 8), False),
        ((0, 4), (3, 8), True),
        ((3, 8), (0, 4), True),
        ((0, 5), (4, 7), True),
    ],
)
def test_rows_may_lie_in_the_gaps_of_others(
    of_a: tuple[int, int], of_c: tuple[int, int], meets: bool
) -> None:
    memory = np.zeros(32, np.float32)
    views = [columns(memory, *place) for place in (of_a, of_c)]
    a, c = (
        Parameter(name, F32, array.shape, is_output=name == "c", strides=(8, 1))
        for name, array in zip("ac", views, strict=True)
    )
    checker = ArgumentChecker((a, c))
    if not meets:
        assert checker.check(views) == [array.ctypes.data for array in views]
        return
    with pytest.raises(ArgumentError, match="output 'c' overlaps input 'a'"):
        checker.check(views)


@pytest.mark.parametrize(
    ("shape", "strides", "row"),
    [
        ((2, 3, 4), (48, 16, 4), 4),  # no gaps: a distance like any other
        ((2, 3, 4), (60, 20, 4), 5),
        ((2, 3, 4), (36, 12, 4), None),  # rows share elements
        ((2, 3, 4), (64, 20, 4), None),  # more between batches than rows
        ((2, 3, 4), (72, 18, 4), None),  # not whole elements
        ((2, 3, 4), (96, 32, 8), None),  # every second element
        ((3, 4), (16, 4), None),
    ],
)
def test_rows_of_any_distance(
    shape: tuple[int, ...], strides: tuple[int, ...], row: int | None
) -> None:
    any_row = Parameter("a", F32, (2, 3, 4), strides=(15, 5, 1), any_row=5)
    assert any_row.row_of(shape, strides) == row
    assert any_row.lies_as_one(shape, strides) == (row is not None)


@pytest.mark.parametrize(("shape", "row"), [((1, 3, 1), 7), ((1, 1, 4), 4)])
def test_strides_of_one_element_say_no_distance(
    shape: tuple[int, ...], row: int
) -> None:
    any_row = Parameter("a", F32, shape, strides=(27, 9, 1), any_row=9)
    assert any_row.row_of(shape, (12345, 4 * 7, 4)) == row


def test_after_the_addresses_are_the_distances_of_rows() -> None:
    whole = Parameter("a", F32, (3, 4))
    any_row = Parameter("b", F32, (3, 4), strides=(5, 1), any_row=5)
    output = dataclasses.replace(any_row, name="c", is_output=True)
    views = [np.zeros((3, row), np.float32)[:, :4] for row in (4, 7, 9)]
    checker = ArgumentChecker((whole, any_row, output))
    addresses = [array.ctypes.data for array in views]
    assert checker.check(views) == [*addresses, 7, 9]


def test_inputs_may_be_one_array() -> None:
    square = Parameter("a", F32, (4, 4)), Parameter("b", F32, (4, 4))
    output = Parameter("c", F32, (4, 4), is_output=True)
    a = np.zeros((4, 4), np.float32)
    ArgumentChecker((*square, output)).check([a, a, np.zeros_like(a)])


def test_outputs_must_not_overlap() -> None:
    outputs = tuple(Parameter(n, F32, (4,), is_output=True) for n in "xy")
    array = np.zeros(4, np.float32)
    with pytest.raises(ArgumentError, match="output 'y' overlaps output 'x'"):
        ArgumentChecker(outputs).check([array, array])


class Subclass(np.ndarray[Any, Any]):
    """Arrays of a user's own class are arrays."""


ACCEPTED: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda a: a,
    "with its batch": lambda a: a[None],
    "a subclass": lambda a: a.view(Subclass),
    "a view": lambda a: np.concatenate([a, a])[: len(a)],
    "an equal dtype": lambda a: a.astype(np.dtype("<f4", metadata={"own": 1})),
    "unusual strides of a 1": lambda a: np.lib.stride_tricks.as_strided(
        a, (1, *a.shape), (12345, *a.strides)
    ),
}


@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize("case", ACCEPTED)
def test_accepted(case: str, position: int) -> None:
    arguments = arrays()
    arguments[position] = ACCEPTED[case](arguments[position])
    addresses = ArgumentChecker(parameters()).check(arguments)
    assert addresses == [array.ctypes.data for array in arguments]


def test_a_mapped_file_is_an_array(tmp_path: Any) -> None:
    arguments = arrays()
    np.save(tmp_path / "a.npy", arguments[0])
    arguments[0] = np.load(tmp_path / "a.npy", mmap_mode="r")
    ArgumentChecker(parameters()).check(arguments)


def test_remedies_fit_the_argument() -> None:
    checker = ArgumentChecker(parameters())
    a, b, c = arrays()

    def remedy(*args: Any) -> str:
        with pytest.raises(ArgumentError) as caught:
            checker.check(args)
        return caught.value.remedy

    assert "numpy.asarray(value, dtype='float32')" in remedy([1], b, c)
    assert "numpy.from_dlpack" in remedy(Foreign(), b, c)
    assert "numpy.empty((1, 4, 8), 'float32')" in remedy(a, b, [1])
    assert "numpy.ascontiguousarray" in remedy(np.asfortranarray(a), b, c)
    assert "copy the result" in remedy(a, b, np.asfortranarray(c))
    assert "astype('float32')" in remedy(a.astype(np.float64), b, c)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"alternatives": ((3,),)}, "an alternative to"),
        ({"accumulates": True}, "only an output accumulates"),
        ({"dtype": np.dtype(">f4")}, "of the other byte order"),
    ],
)
def test_parameters_that_cannot_be(fields: dict[str, Any], reason: str) -> None:
    arguments: dict[str, Any] = {"name": "a", "dtype": F32, "shape": (2, 2)}
    with pytest.raises(ValueError, match=reason):
        Parameter(**(arguments | fields))


def test_parameters_that_do_not_go_together() -> None:
    a, b, c = parameters()
    with pytest.raises(ValueError, match="inputs stand before outputs"):
        ArgumentChecker((a, c, b))
    with pytest.raises(ValueError, match="two parameters have one name"):
        ArgumentChecker((a, a, c))


def test_both_ways_to_a_pointer_agree() -> None:
    for array in (*arrays(), np.zeros(9)[3:], np.zeros((), np.int8)):
        assert array_layout.data_of(array) == array_layout.asked(array)
