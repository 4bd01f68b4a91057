"""`tests/guarded.py`: every fault is seen, named, and survived."""

import ctypes
import gc
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests import guarded
from tests.guarded import Side, check_canaries, check_in_child, guard_of, guarded_array

pytestmark = pytest.mark.quick

VALUES = np.arange(60, dtype=np.float32).reshape(6, 10)


def read(
    array: np.ndarray[tuple[int, ...], np.dtype[np.float32]], offset: int
) -> float:
    return ctypes.c_float.from_address(array.ctypes.data + offset).value


def write(
    array: np.ndarray[tuple[int, ...], np.dtype[np.float32]], offset: int
) -> None:
    ctypes.c_float.from_address(array.ctypes.data + offset).value = 3.0


@pytest.mark.parametrize("side", ["start", "end"])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (6, 10), (2, 3, 5), (0, 4), (3000,)])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int16])
def test_a_copy_in_the_same_order(
    side: Side, shape: tuple[int, ...], dtype: type
) -> None:
    count = int(np.prod(shape, dtype=int))
    values: np.ndarray[Any, Any] = np.arange(count).astype(dtype).reshape(shape)
    array = guarded_array(values, side)
    assert array.shape == shape
    assert array.dtype == dtype
    assert array.flags.c_contiguous
    assert (array == values).all()
    edge = array.ctypes.data + (array.nbytes if side == "end" else 0)
    assert edge % guarded.PAGE == 0
    array[...] = 1
    check_canaries(array)


@pytest.mark.parametrize(
    ("side", "writable", "act", "message"),
    [
        ("end", True, lambda a: read(a, 240), "a read 0 bytes past the end of 'v'"),
        ("end", True, lambda a: read(a, 248), "a read 8 bytes past the end of 'v'"),
        ("end", True, lambda a: write(a, 240), "a write 0 bytes past the end of 'v'"),
        (
            "start",
            True,
            lambda a: read(a, -4),
            "a read 4 bytes before the start of 'v'",
        ),
        ("start", True, lambda a: write(a, -8), "a write 8 bytes before the start"),
        ("end", False, lambda a: write(a, 12), "a write at byte 12 of read-only 'v'"),
        ("start", False, lambda a: write(a, 0), "a write at byte 0 of read-only 'v'"),
        ("end", True, lambda a: read(a, -a.ctypes.data), "at 0x0, which is no guarded"),
    ],
)
def test_faults_are_named(
    side: Side, writable: bool, act: Callable[[object], object], message: str
) -> None:
    array = guarded_array(VALUES, side, writable, name="v")
    with pytest.raises(AssertionError, match=f"memory fault: .*{message}"):
        check_in_child(lambda: act(array))


def test_allowed_accesses_are_no_fault() -> None:
    array = guarded_array(VALUES, "end", writable=False)
    assert check_in_child(lambda: read(array, 236)) == 59
    assert not array.flags.writeable


@pytest.mark.parametrize("side", ["start", "end"])
def test_canaries_on_the_open_side(side: Side) -> None:
    array = guarded_array(VALUES, side, name="v")
    write(array, 240 if side == "start" else -4)
    first = 240 if side == "start" else -4
    with pytest.raises(
        AssertionError, match=f"outside of 'v'.* first at byte {first} "
    ):
        check_canaries(array)


def test_canaries_in_the_padding_of_rows() -> None:
    array = guarded_array(VALUES.reshape(2, 3, 10), "end", row_padding=2, name="v")
    assert array.strides == (144, 48, 4)
    assert (array.reshape(6, 10) == VALUES).all()
    check_canaries(array)
    write(array, 44)
    with pytest.raises(AssertionError, match="first at byte 44 of an array of 280"):
        check_canaries(array)


def test_only_guarded_arrays_have_a_guard() -> None:
    array = guarded_array(VALUES)
    assert guard_of(array[2:, 1:].T) is guard_of(array)
    with pytest.raises(TypeError, match="not a guarded array"):
        guard_of(VALUES)


def test_a_guard_goes_with_its_array() -> None:
    gc.collect()
    before = len(guarded._guards)
    array = guarded_array(VALUES)
    assert len(guarded._guards) == before + 1
    del array
    gc.collect()
    assert len(guarded._guards) == before


def spin() -> None:
    while True:
        pass


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: 1 // 0, "ZeroDivisionError"),
        (lambda: os.abort(), "ended by SIGABRT"),
        (lambda: os._exit(3), "left with code 3"),
    ],
)
def test_other_ends_of_a_child(act: Callable[[], object], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_in_child(act)


def test_limits_of_time_and_memory() -> None:
    start = time.monotonic()
    with pytest.raises(AssertionError, match="took longer than 1 s"):
        check_in_child(spin, seconds=1)
    assert time.monotonic() - start < 10
    with pytest.raises(AssertionError, match="MemoryError"):
        check_in_child(lambda: np.ones(1 << 33, np.int8).sum(), memory=1 << 32)


def test_results_and_their_size() -> None:
    assert check_in_child(lambda: None) is None
    assert check_in_child(lambda: b"x" * 1_000_000) == b"x" * 1_000_000
