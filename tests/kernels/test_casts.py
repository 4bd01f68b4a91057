"""Moves between dtypes: every value, every edge size, against the definition."""

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from morello.kernels.code.casts import cast_lanes
from morello.machine.isa import AVX2 as ISA
from morello.spec import Dtype, Move, Spec
from tests.guarded import check_in_child
from tests.kernels.harness import (
    EDGE,
    Case,
    check,
    check_random,
    compiled,
    legal_cases,
    spec,
)

CASTS = (
    ("bf16", "f32"),
    ("f32", "bf16"),
    ("f16", "f32"),
    ("f32", "f16"),
    ("bf16", "f16"),
    ("f16", "bf16"),
    ("u8", "s16"),
    ("s8", "s16"),
    ("u8", "s32"),
    ("s8", "s32"),
    ("s16", "s32"),
    ("u16", "s32"),
    ("s32", "s16"),
    ("s16", "s8"),
    ("s32", "u8"),
    ("u8", "s8"),
    ("u8", "u8w"),
    ("s8", "s8z"),
)
IDS = [f"{a}-{b}" for a, b in CASTS]
NARROW = [d.value for d in Dtype if d.computes_in]


def cast(sizes: tuple[int, ...], src: str, dst: str) -> Spec:
    return spec(Move(len(sizes)), sizes, src, dst)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("src", "dst"), CASTS, ids=IDS)
def test_rows_at_every_edge_size(src: str, dst: str) -> None:
    sizes = [(rows, n) for n in EDGE for rows in (1, 3)] + [(m, 5) for m in EDGE]
    given = [cast(s, f"{src}@L1[0,1]", f"{dst}@L1[0,1]") for s in sizes]
    check_random(legal_cases("copy_rows", tuple(given)))


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("src", "dst"), CASTS, ids=IDS)
def test_registers_at_every_edge_size(src: str, dst: str) -> None:
    sizes = [(rows, n) for n in EDGE for rows in (1, 3)]
    for name, held, pair in (
        ("load", dst, (f"{src}@L1[0,1]", "{}")),
        ("store", src, ("{}", f"{dst}@L1[0,1]")),
    ):
        width = 32 // Dtype.parse(held).itemsize
        forms = [f.format(f"{held}@VRF[0,1]v{width}") for f in pair]
        cases = legal_cases(name, tuple(cast(s, *forms) for s in sizes))
        assert bool(cases) is (width == cast_lanes(ISA, *map(Dtype.parse, (src, dst))))
        if cases:
            check_random(cases)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("src", ["bf16", "f16", "u8", "s8", "s16", "u16"])
def test_every_small_transpose_that_widens(src: str) -> None:
    dst = "f32" if src in NARROW else "s32"
    layouts = ("[0,1]", "[1,0]"), ("[0,1]", "[0,1,0p6]")
    given = [
        cast(sizes, f"{src}@L1{a}", f"{dst}@L1{b}")
        for sizes in itertools.product(range(1, 9), range(1, 9))
        for a, b in layouts
    ]
    check_random(legal_cases("transpose", tuple(given)))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("src", "dst"), CASTS, ids=IDS)
def test_one_element(src: str, dst: str) -> None:
    forms = ("[0,1]", "[1,0]", "[0,1,1oe16]", "[0,1,0p4,1p2]")
    check_random(
        Case("scalar", cast((1, 1), f"{src}@L1{a}", f"{dst}@L1{b}"))
        for a, b in itertools.product(forms, forms)
    )


PAIRS = (("u8", "s16"), ("s8", "s16"), ("s16", "s16"), ("s8", "s8"), ("u8", "u8"))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("src", "dst"), PAIRS)
def test_rows_become_panels_of_pairs(src: str, dst: str) -> None:
    forms = f"{src}@L1[0,1,2]", f"{dst}@L1[0,2,1,2p32,1p2]"
    sizes = [(1, k, n) for k in range(2, 9) for n in range(1, 33)]
    check_random(legal_cases("interleave2", tuple(cast(s, *forms) for s in sizes)))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("src", "dst"), PAIRS)
def test_rows_become_panels_of_rows_of_pairs(src: str, dst: str) -> None:
    for layout in ("[0,1,2,1p6,2p2]", "[0,1,2,1p8,2p2]"):
        forms = f"{src}@L1[0,1,2]", f"{dst}@L1{layout}"
        sizes = [(1, m, k) for m in range(1, 9) for k in range(2, 17)]
        given = tuple(cast(s, *forms) for s in sizes)
        check_random(legal_cases("transpose_pairs", given))


@pytest.mark.parametrize("src", ["bf16", "f16", "f32"])
def test_even_elements_come_before_odd_ones(src: str) -> None:
    sizes = [(1, n) for n in EDGE] + [(3, n) for n in (2, 16, 17, 32)]
    given = tuple(cast(s, f"{src}@L1[0,1]", "f32@L1[0,1,1oe16]") for s in sizes)
    cases = legal_cases("deinterleave", given)
    assert {c.spec.sizes for c in cases} == {
        *((1, n) for n in EDGE if n % 16 == 0),
        *((3, n) for n in (16, 32)),
    }
    check_random(cases)


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
        kept = np.arange(0, 1 << 19, 7, dtype=np.uint32)
        lower = kept[:, None] << 13 | np.array(LOWER, np.uint32) >> 3
    return lower.reshape(-1).view(np.float32)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("src", "dst"), CASTS[:6], ids=IDS[:6])
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
    goal = cast((len(values),), "f32@L1[0]", f"{dtype}@L1[0]")
    found = goal.evaluate(values)
    finite = np.isfinite(values)
    assert np.all(np.isnan(found.astype(np.float32)) == np.isnan(values))
    bits = found.view(np.uint16)
    exact = values[finite].astype(np.float64)
    for step in (-1, 1):  # no neighbour is nearer, and none as near is even instead
        near = bits[finite].astype(np.int32) + step
        inside = (near >= 0) & (near < HALF) & ((near & 0x7FFF) < infinity)
        inside &= (near & 0x8000) == (bits[finite] & 0x8000)
        with np.errstate(invalid="ignore"):
            other = near.astype(np.uint16).view(narrow_type).astype(np.float64)
            mine = np.abs(found[finite].astype(np.float64) - exact)
            theirs = np.abs(other - exact)
        tie = mine == theirs
        infinite = np.isinf(mine)
        assert np.all((mine <= theirs) | infinite | ~inside)
        assert np.all((bits[finite] & 1 == 0) | ~tie | infinite | ~inside)
    wide = np.abs(exact) >= (2 - float(limits.eps) / 2) * 2.0 ** (limits.maxexp - 1)
    assert np.array_equal(np.isinf(found[finite].astype(np.float32)), wide)


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
    kept = narrow.view(np.uint16) | np.where(numbers, 0, quiet).astype(np.uint16)
    assert np.array_equal(back.view(np.uint16), kept)
