"""The move kernels keep every bit, at every edge size, between all layouts."""

import itertools

import pytest

from morello.spec import Dtype, Move, Spec
from tests.kernels.harness import EDGE, Case, check_random, legal_cases, spec

DTYPES = ("f32", "s32", "u32", "bf16", "u16", "s16", "u8", "s8")


def move(sizes: tuple[int, ...], src: str, dst: str) -> Spec:
    return spec(Move(len(sizes)), sizes, src, dst)


def in_l1(dtype: str, *layouts: str) -> tuple[str, ...]:
    return tuple(f"{dtype}@L1{layout}" for layout in layouts)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows(dtype: str) -> None:
    given = [
        move(sizes, *in_l1(dtype, "[0,1]", "[0,1]"))
        for n in EDGE
        for sizes in ((1, n), (3, n))
    ]
    given += [move((m, 5), *in_l1(dtype, "[0,1]", "[0,1]")) for m in EDGE]
    check_random(legal_cases("copy_rows", tuple(given)))


def test_rows_of_panels() -> None:
    forms = ("[0,1,2]", "[0,2,1,2p16]", "[1,0,2]", "[0,1,2,2p24]")
    panels = [
        move((1, rows, n), *in_l1(dtype, src, dst))
        for src, dst in itertools.product(forms, forms)
        for rows, n, dtype in ((3, 16, "f32"), (1, 11, "s32"), (5, 4, "u8"))
    ]
    columns = [
        move((1, 6, 5), *in_l1("f32", *pair))
        for pair in itertools.product(("[0,1,2,1p6]", "[0,2,1]"), repeat=2)
    ]
    check_random(legal_cases("copy_rows", tuple(panels + columns)))


@pytest.mark.parametrize("dtype", ["f32", "s32"])
def test_every_small_transpose(dtype: str) -> None:
    sizes = itertools.product(range(1, 9), range(1, 9))
    given = [move(s, *in_l1(dtype, "[0,1]", "[1,0]")) for s in sizes]
    cases = legal_cases("transpose", tuple(given))
    assert len(cases) == len(given)
    check_random(cases)


def test_long_transposes() -> None:
    """Loops that ask ahead, loops that do not, and rows that remain."""
    given = [
        move((rows, columns), f"{dtype}@{level}{src}", f"{dtype}@MEM{dst}")
        for rows in (*range(1, 20), 31, 32, 33, 47, 48, 49, 64, 65, 80, 127)
        for columns, dtype, level in ((8, "f32", "L2"), (16, "s32", "MEM"))
        for src, dst in (("[0,1]", "[1,0]"),)
    ]
    given += [
        move((16, 70), "f32@L1[1,0]", "f32@MEM[0,1]"),
        move((1, 40, 8), "f32@L1[0,1,2]", "f32@MEM[0,2,1]"),
        move((40, 1, 8), "f32@L1[0,1,2]", "f32@MEM[2,1,0]"),
    ]
    cases = legal_cases("transpose_prefetch", tuple(given))
    assert len(cases) == len(given)
    check_random(cases)


def test_packing_and_unpacking_panels() -> None:
    pairs = [
        ("[0,1,2]", "[0,1,2,1p6]"),
        ("[0,1,2,1p6]", "[0,1,2]"),
        ("[0,2,1]", "[0,2,1,2p16]"),
        ("[0,1,2,1p4]", "[0,2,1,2p16]"),
    ]
    given = [
        move((1, rows, columns), *in_l1("f32", *pair))
        for pair in pairs
        for rows in range(1, 7)
        for columns in (1, 3, 4, 5, 8)
    ]
    check_random(legal_cases("transpose", tuple(given)))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", DTYPES)
def test_registers_are_loaded_and_stored(dtype: str) -> None:
    width = 32 // Dtype.parse(dtype).itemsize
    held = f"{dtype}@VRF[0,1]v{width}"
    for name in ("load", "store"):
        (memory,) = in_l1(dtype, "[0,1]")
        pair = (memory, held) if name == "load" else (held, memory)
        given = [move((m, n), *pair) for n in EDGE for m in (1, 3)]
        given += [move((m, 5), *pair) for m in EDGE]
        check_random(legal_cases(name, tuple(given)))


def test_registers_and_panels() -> None:
    held = "f32@VRF[0,1,2]v8"
    for panel in in_l1("f32", "[0,2,1,2p16]", "[1,0,2]"):
        sizes = [(1, 3, n) for n in range(1, 17)]
        loads = tuple(move(s, panel, held) for s in sizes)
        stores = tuple(move(s, held, panel) for s in sizes)
        check_random((*legal_cases("load", loads), *legal_cases("store", stores)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_element_between_any_layouts(dtype: str) -> None:
    forms = ("[0,1]", "[1,0]", "[0,1,1p16]", "[0,1,1oe16]", "[0,1,0p4]")
    check_random(
        Case("scalar", move((1, 1), *in_l1(dtype, *pair)))
        for pair in itertools.product(forms, forms)
    )
