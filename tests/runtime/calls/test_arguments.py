"""The arguments that a call accepts, and where several may lie."""

import dataclasses
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from morello.errors import ArgumentError
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


def test_parameters_that_do_not_go_together() -> None:
    a, b, c = parameters()
    with pytest.raises(ValueError, match="inputs stand before outputs"):
        ArgumentChecker((a, c, b))
    with pytest.raises(ValueError, match="two parameters have one name"):
        ArgumentChecker((a, a, c))


def test_both_ways_to_a_pointer_agree() -> None:
    for array in (*arrays(), np.zeros(9)[3:], np.zeros((), np.int8)):
        assert array_layout.data_of(array) == array_layout.asked(array)
