"""Casts between f32 and the narrow floats, by their bits."""

import re
import struct
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from morello.spec.elements.arrays import ArrayElements
from morello.spec.elements.casts import cast, stored_error
from morello.spec.elements.dtypes import Dtype, narrow_float
from morello.spec.functions.elementary import rounding

pytestmark = pytest.mark.quick

Array = np.ndarray[Any, Any]
ALL = np.arange(1 << 16, dtype=np.uint16)
NARROW = (Dtype.BF16, Dtype.F16)
FRACTION = {Dtype.BF16: 7, Dtype.F16: 10}
"""Bits of the fraction."""


def bits(array: Array) -> Array:
    return array.view(np.uint16 if array.dtype.itemsize == 2 else np.uint32)


def from_bits(*words: int) -> Array:
    return np.array(words, np.uint32).view(np.float32)


def widened(dtype: Dtype) -> Array:
    return cast(ALL.view(dtype.numpy), dtype, Dtype.F32)


def test_widening_bf16_adds_zeros() -> None:
    assert np.array_equal(bits(widened(Dtype.BF16)), ALL.astype(np.uint32) << 16)


def test_widening_f16_is_exact() -> None:
    wide = widened(Dtype.F16)
    wanted = struct.unpack("<65536e", ALL.tobytes())
    assert np.array_equal(wide, np.array(wanted, np.float64), equal_nan=True)
    assert np.array_equal(np.signbit(wide), ALL >> 15 == 1)


@pytest.mark.parametrize("dtype", NARROW)
def test_what_was_widened_is_rounded_to_itself_but_for_quiet_nan(dtype: Dtype) -> None:
    again = bits(cast(widened(dtype), Dtype.F32, dtype))
    quiet = np.where(np.isnan(widened(dtype)), 1 << FRACTION[dtype] - 1, 0)
    assert np.array_equal(again, ALL | quiet)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("sign", [0, 1])
def test_between_two_neighbours_the_even_one_is_taken(dtype: Dtype, sign: int) -> None:
    numbers = np.isfinite(widened(dtype)) & (np.signbit(widened(dtype)) == bool(sign))
    low = ALL[numbers][:-1]
    one, other = widened(dtype)[low], widened(dtype)[low + 1]
    middle = ((one.astype(np.float64) + other) / 2).astype(np.float32)
    result = bits(cast(middle, Dtype.F32, dtype))
    assert np.array_equal(result, np.where(low % 2, low + 1, low))
    up, down = (np.nextafter(middle, end) for end in (other, one))
    assert np.array_equal(bits(cast(up, Dtype.F32, dtype)), low + 1)
    assert np.array_equal(bits(cast(down, Dtype.F32, dtype)), low)


@pytest.mark.parametrize("dtype", NARROW)
def test_too_large_numbers_are_infinite(dtype: Dtype) -> None:
    largest = widened(dtype)[ALL[np.isfinite(widened(dtype)) & (ALL >> 15 == 0)][-1]]
    # The next power of two is the neighbour that the dtype does not have.
    step = np.ldexp(1.0, np.frexp(largest)[1] - FRACTION[dtype] - 1)
    limit = np.float32(np.float64(largest) + step / 2)
    for number, wanted in ((limit, np.inf), (np.nextafter(limit, 0), largest)):
        both = np.array([number, -number], np.float32)
        wide = cast(cast(both, Dtype.F32, dtype), dtype, Dtype.F32)
        assert wide.tolist() == [wanted, -wanted]


NAN = {
    Dtype.BF16: [
        (0x7F800001, 0x7FC0),
        (0xFF800001, 0xFFC0),
        (0x7FC12345, 0x7FC1),
        (0xFFFFFFFF, 0xFFFF),
        (0x7FBFFFFF, 0x7FFF),
    ],
    Dtype.F16: [
        (0x7F800001, 0x7E00),
        (0xFF800001, 0xFE00),
        (0x7FC02000, 0x7E01),
        (0xFFFFFFFF, 0xFFFF),
        (0xFF802000, 0xFE01),
    ],
}
"""Bits of NaN in f32, and of what they become: the sign, the upper bits, and quiet."""


@pytest.mark.parametrize("dtype", NARROW)
def test_nan_keeps_its_sign_and_the_upper_bits(dtype: Dtype) -> None:
    wide, narrow = zip(*NAN[dtype], strict=True)
    assert bits(cast(from_bits(*wide), Dtype.F32, dtype)).tolist() == [*narrow]


def test_nan_of_f16_becomes_quiet_and_keeps_its_payload() -> None:
    narrow = np.array([0x7C01, 0xFC01, 0x7E01, 0xFFFF], np.uint16).view(np.float16)
    wanted = [0x7FC02000, 0xFFC02000, 0x7FC02000, 0xFFFFE000]
    assert bits(cast(narrow, Dtype.F16, Dtype.F32)).tolist() == wanted


def test_casts_between_narrow_floats_go_by_f32() -> None:
    third = np.array([1 / 3, -65520.0, 1e-7], np.float32)
    half = cast(third, Dtype.F32, Dtype.F16)
    assert bits(half).tolist() == [0x3555, 0xFC00, 0x0002]
    assert bits(cast(half, Dtype.F16, Dtype.BF16)).tolist() == [0x3EAB, 0xFF80, 0x3400]


def test_a_cast_to_the_same_dtype_is_a_copy_of_all_bits() -> None:
    signalling = np.array([0x7C01], np.uint16).view(np.float16)
    result = cast(signalling, Dtype.F16, Dtype.F16)
    assert bits(result).tolist() == [0x7C01]
    assert not np.shares_memory(result, signalling)


@pytest.mark.parametrize("dtype", NARROW)
def test_a_stored_number_is_within_its_error(dtype: Dtype) -> None:
    """The ends of each interval are rounded away from its middle by up to half of the
    spacing there, which is larger than that at the middle beyond a power of two."""
    rng = np.random.default_rng(0)
    exponents = rng.uniform(-30, 13, 20_000)
    number = np.exp2(exponents) * rng.choice([-1, 1], exponents.size)
    error = np.abs(number) * rng.choice([0, 0.01, 0.5, 2.0], number.size)
    bound = stored_error(number, error, dtype)
    for end in (number - error, number + error):
        stored = cast(end.astype(np.float32), Dtype.F32, dtype)
        wide = cast(stored, dtype, Dtype.F32).astype(np.float64)
        slack = np.abs(end) * 2.0**-24  # of the cast to f32
        assert (np.abs(wide - number) <= bound + slack).all()
    assert np.array_equal(stored_error(number, error, Dtype.F32), error)


ROWS = [*NARROW, narrow_float("f8", ml_dtypes.float8_e5m2)]
"""The last one is a row that no table has."""


@pytest.mark.parametrize("dtype", ROWS, ids=str)
def test_a_narrow_float_is_a_row(dtype: Dtype) -> None:
    """Its casts, and the function that rounds to it, follow from the NumPy dtype."""
    rng = np.random.default_rng(3)
    anything = rng.integers(0, 1 << 32, 100_000, np.uint32).view(np.float32)
    scale = 2.0 ** rng.integers(-18, 17, 100_000)
    near = (rng.standard_normal(100_000) * scale).astype(np.float32)
    x = np.concatenate([anything, near, np.float32([0, -0.0, np.inf, -np.inf])])
    with np.errstate(all="ignore"):
        wanted = x.astype(dtype.numpy)
    result, is_nan = cast(x, Dtype.F32, dtype), np.isnan(x)
    width = f"u{dtype.itemsize}"
    assert np.array_equal(np.isnan(result), is_nan)
    assert np.array_equal(result.view(width)[~is_nan], wanted.view(width)[~is_nan])
    wide = wanted.astype(np.float32)
    rounded = rounding(dtype)(ArrayElements(()), x)
    for one in (cast(result, dtype, Dtype.F32), rounded):
        assert np.array_equal(bits(one)[~is_nan], bits(wide)[~is_nan])
        assert np.isnan(one[is_nan]).all()


def test_narrow_floats_are_named_in_few_files() -> None:
    """Kernels ask for a property of an element type; rows of kernels name it."""
    root = Path(__file__).resolve().parent.parent.parent
    files = [p for name in ("morello", "passes") for p in (root / name).rglob("*.py")]
    naming = {p.name for p in files if re.search(r"Dtype\.B?F16", p.read_text())}
    assert naming == {"dtypes.py", "halves.py", "table.py"}
