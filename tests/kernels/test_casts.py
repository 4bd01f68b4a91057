"""Moves between dtypes: every value, against the definition."""

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from morello.spec import Dtype, Move, Spec
from tests.guarded import check_in_child
from tests.kernels.harness import Case, check, compiled, spec

CASTS = list(itertools.permutations(("bf16", "f16", "f32"), 2))
NARROW = [d.value for d in Dtype if d.computes_in]


def cast(sizes: tuple[int, ...], src: str, dst: str) -> Spec:
    return spec(Move(len(sizes)), sizes, src, dst)


HALF = 1 << 16
LOWER = (0x0000, 0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF)
"""Lower halves of an f32: none, least, just below a tie, a tie, just above, most."""


def all_patterns(source: str, dest: str = "bf16") -> np.ndarray[Any, Any]:
    """Every number of a narrow float; or every f32 whose bits below the last place of
    ``dest`` are those of `LOWER`."""
    bits = np.arange(HALF, dtype=np.uint32)
    if source in NARROW:
        return bits.astype(np.uint16).view(Dtype.parse(source).numpy)
    lower = bits[:, None] << 16 | np.array(LOWER, np.uint32)
    if dest == "f16":  # its last place is the 13th bit: all of bits 13 to 31 have 2^19
        low = np.arange(0, 1 << 19, 7, dtype=np.uint32)
        lower = low[:, None] << 13 | np.array(LOWER, np.uint32) >> 3
    return lower.reshape(-1).view(np.float32)


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("src", "dst"), CASTS)
@pytest.mark.parametrize("name", ["copy_rows", "scalar"])
def test_all_patterns_of_narrow_floats(name: str, src: str, dst: str) -> None:
    width = 64 if name == "copy_rows" else 1
    values = all_patterns(src, dst)
    if name == "scalar":
        values = values[:: len(values) // HALF * 31 + 1]  # one call an element
    case = Case(name, cast((1, width), f"{src}@L1[0,1]", f"{dst}@L1[0,1]"))
    engine = compiled([case])

    def everything() -> int:
        address = engine.address("f0")
        rows = values[: len(values) // width * width].reshape(-1, 1, width)
        for row in rows:
            check(case, address, [row])
        return len(rows)

    assert check_in_child(everything) == len(values) // width


@pytest.mark.parametrize("dtype", NARROW)
def test_a_narrow_float_is_rounded_to_the_nearest_and_to_even(dtype: str) -> None:
    """The definition itself, by arithmetic on f64: half a place is exact there."""
    narrow_type = Dtype.parse(dtype).numpy
    limits = ml_dtypes.finfo(narrow_type)
    infinity = np.array([np.inf], narrow_type).view(np.uint16)[0]
    values = all_patterns("f32", dtype)
    rounded = cast((len(values),), "f32@L1[0]", f"{dtype}@L1[0]").evaluate(values)
    finite = np.isfinite(values)
    assert np.all(np.isnan(rounded.astype(np.float32)) == np.isnan(values))
    bits = rounded.view(np.uint16)
    exact = values[finite].astype(np.float64)
    for step in (-1, 1):  # no neighbour is nearer, and none as near is even instead
        near = bits[finite].astype(np.int32) + step
        inside = (near >= 0) & (near < HALF) & ((near & 0x7FFF) < infinity)
        inside &= (near & 0x8000) == (bits[finite] & 0x8000)
        with np.errstate(invalid="ignore"):
            other = near.astype(np.uint16).view(narrow_type).astype(np.float64)
            mine = np.abs(rounded[finite].astype(np.float64) - exact)
            theirs = np.abs(other - exact)
        tie = mine == theirs
        infinite = np.isinf(mine)
        assert np.all((mine <= theirs) | infinite | ~inside)
        assert np.all((bits[finite] & 1 == 0) | ~tie | infinite | ~inside)
    wide = np.abs(exact) >= (2 - float(limits.eps) / 2) * 2.0 ** (limits.maxexp - 1)
    assert np.array_equal(np.isinf(rounded[finite].astype(np.float32)), wide)


@pytest.mark.parametrize("dtype", NARROW)
def test_widening_keeps_numbers_and_payloads(dtype: str) -> None:
    narrow = all_patterns(dtype)
    wide = spec(Move(1), (HALF,), f"{dtype}@L1[0]", "f32@L1[0]").evaluate(narrow)
    with np.errstate(invalid="ignore"):
        numbers = ~np.isnan(narrow)
    exact = narrow[numbers].astype(np.float64)
    assert np.array_equal(wide[numbers].astype(np.float64), exact)
    assert np.array_equal(np.signbit(wide), np.signbit(narrow.astype(np.float32)))
    back = spec(Move(1), (HALF,), "f32@L1[0]", f"{dtype}@L1[0]").evaluate(wide)
    quiet = 1 << ml_dtypes.finfo(narrow.dtype).nmant - 1
    quieted = narrow.view(np.uint16) | np.where(numbers, 0, quiet).astype(np.uint16)
    assert np.array_equal(back.view(np.uint16), quieted)
