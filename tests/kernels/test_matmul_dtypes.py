"""The matmul kernels on narrow factors: exact for any values."""

import itertools

import numpy as np
import pytest

from morello.spec import Dtype, Matmul, Spec
from tests.guarded import check_in_child
from tests.kernels.harness import (
    Case,
    check,
    check_random,
    compiled,
    isa_of,
    legal,
    skip_where_it_cannot_run,
    spec,
)

MATMUL = Matmul(accum=True)
SATURATING = Matmul(accum=True, saturating=True)
PRODUCTS = (
    ("f32", "f32", "f32"),
    ("s32", "s32", "s32"),
    ("bf16", "bf16", "f32"),
    ("f32", "bf16", "f32"),
    ("u8", "s8", "s32"),
    ("u8", "s8", "s16"),
    ("s16", "s8", "s32"),
)


def product(
    sizes: tuple[int, ...], dtypes: tuple[str, ...], lhs: str, rhs: str
) -> Spec:
    width = 32 // Dtype.parse(dtypes[2]).itemsize
    forms = f"{dtypes[0]}@L1{lhs}", f"{dtypes[1]}@L1{rhs}"
    kind = SATURATING if dtypes == ("u8", "s8", "s16") and "1p2" in rhs else MATMUL
    return spec(kind, sizes, *forms, f"{dtypes[2]}@VRF[0,1,2]v{width}")


@pytest.mark.parametrize("kind", [MATMUL, SATURATING])
def test_one_element_of_any_dtypes_in_any_layout(kind: Matmul) -> None:
    layouts = ("[0,1,2]", "[0,2,1]", "[0,1,2,1p6]", "[0,1,2,1p6,2p2]")
    layouts += ("[0,2,1,2p16,1p2]", "[0,1,2,2oe16]", "[2,1,0]")
    products = PRODUCTS if kind is MATMUL else (("u8", "s8", "s16"),)
    check_random(
        Case(
            "scalar",
            spec(
                kind,
                (1, 1, k, 1),
                *(f"{d}@L1{x}" for d, x in zip(dtypes, (a, b, a), strict=True)),
            ),
        )
        for dtypes in products
        for a, b in itertools.product(layouts, layouts)
        for k in ((1,) if kind is MATMUL else (1, 2))
    )


def test_dots_of_bf16_read_panels_in_l2_too() -> None:
    kind, out = Matmul(accum=True, flushing=True), "f32@VRF[0,1,2]v16"
    taken = [
        level
        for level in ("L1", "L2", "MEM")
        if legal(
            "dot2_bf16_512",
            spec(
                kind,
                (1, 12, 512, 32),
                "bf16@L1[0,1,2]",
                f"bf16@{level}[0,2,1,2p32,1p2]",
                out,
            ),
        )
    ]
    assert taken == ["L1", "L2"]


EVERY = np.arange(256)


def test_all_products_of_u8_and_s8() -> None:
    """256 rows of pairs (a, a) and columns (b, b): saturating, and exact in s32."""
    forms = "[0,1,2,1p4,2p2]", "[0,2,1,2p16,1p2]"
    saturating = product((1, 4, 2, 16), ("u8", "s8", "s16"), *forms)
    exact = product((1, 4, 2, 16), ("s16", "s16", "s32"), *forms)
    cases = [Case("int_dot2_saturating", saturating), Case("int_dot2", exact)]
    engine = compiled(cases)

    def everything() -> int:
        count = 0
        for i, case in enumerate(cases):
            lhs, rhs, out = (t.dtype.numpy for t in case.tensors)
            zero = np.zeros((1, 4, 16), out)
            for a, b in itertools.product(range(0, 256, 4), range(0, 256, 16)):
                left = np.repeat(EVERY[a : a + 4].astype(np.uint8), 2)
                right = np.tile(
                    EVERY[b : b + 16].astype(np.uint8).view(np.int8), (2, 1)
                )
                factors = [left.reshape(1, 4, 2).astype(lhs), right[None].astype(rhs)]
                check(case, engine.address(f"f{i}"), [*factors, zero])
                count += 64
        return count

    assert check_in_child(everything) == 2 * 65536


BYTES = "u8w@L1[0,1,2]", "s8z@L1[0,2,1,2p16,1p2]", "s32@L1[0,1,2]"


@pytest.mark.sampled(2)
def test_the_greatest_bytes_add_up_exactly_by_float() -> None:
    """Sums of parts just below 2^24, rows of lhs at the most that 16 bits hold."""
    sizes = [(1, 3, k, 9) for k in (2, 255, 256, 257, 258, 511, 512, 1024, 2047, 2048)]
    sizes += [(1, 6, 256, n) for n in (16, 17, 33, 64, 128)]
    cases = [Case("int_dot2_float", spec(MATMUL, s, *BYTES)) for s in sizes]
    engine = compiled(cases)

    def everything() -> int:
        for i, case in enumerate(cases):
            _, m, k, n = case.spec.sizes
            out = np.full((1, m, n), 2**31 - 1, np.int32)
            for a, b in itertools.product((0, 1, 255), (0, 1, 127, 128, 255)):
                lhs = np.full((1, m, k), a, np.uint16)
                rhs = np.full((1, k, n), b, np.uint16)
                check(case, engine.address(f"f{i}"), [lhs, rhs, out])
        return len(cases)

    assert check_in_child(everything) == len(cases)


BY_SIGNS = {
    ("u8", "s8"): "int_dot4_exact_512",
    ("s8", "s8"): "int_dot4_signed_512",
    ("u8", "u8"): "int_dot4_unsigned_512",
    ("s8", "u8"): "int_dot4_signed_lhs_512",
}


def quads_512(sizes: tuple[int, ...], signs: tuple[str, str]) -> Spec:
    forms = f"{signs[0]}@L1[0,1,2]", f"{signs[1]}@L1[0,2,1,2p32,1p4]"
    return spec(MATMUL, sizes, *forms, "s32@VRF[0,1,2]v16")


def columns(sizes: tuple[int, ...], signs: tuple[str, str]) -> Spec:
    forms = f"{signs[0]}@L1[0,1,2]", f"{signs[1]}@L1[0,2,1]"
    return spec(MATMUL, sizes, *forms, "s32@L1[0,1,2]")


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dot", ["", "gemv_dot_bytes", "gemv_dot4_512"])
@pytest.mark.parametrize("signs", BY_SIGNS, ids=",".join)
def test_extreme_bytes_of_any_signs_wrap_as_sums_do(
    signs: tuple[str, str], dot: str
) -> None:
    sizes = [(1, 2, k, 17) for k in (4, 6, 255, 4096)]
    form = columns if dot else quads_512
    cases = [Case(dot or BY_SIGNS[signs], form(s, signs)) for s in sizes]
    skip_where_it_cannot_run(isa_of(cases))
    engine = compiled(cases)
    bits = np.array([0, 1, 127, 128, 255], np.uint8)

    def everything() -> int:
        for i, case in enumerate(cases):
            _, m, k, n = case.spec.sizes
            lhs_dtype, rhs_dtype, _ = (t.dtype.numpy for t in case.tensors)
            for a, b, start in itertools.product(bits, bits, (2**31 - 1, -(2**31))):
                lhs = np.full((1, m, k), a).view(lhs_dtype)
                rhs = np.full((1, k, n), b).view(rhs_dtype)
                out = np.full((1, m, n), start, np.int32)
                check(case, engine.address(f"f{i}"), [lhs, rhs, out])
        return len(cases)

    assert check_in_child(everything) == len(cases)


QUADS = "u8@L1[0,1,2]", "s7@L1[0,2,1,2p16,1p4]", "s32@VRF[0,1,2]v8"


def test_pairs_of_the_greatest_bytes_are_not_cut_off_in_quads() -> None:
    cases = [Case("int_dot4", spec(MATMUL, (1, 3, k, 9), *QUADS)) for k in (4, 67)]
    engine = compiled(cases)

    def everything() -> int:
        count = 0
        for i, case in enumerate(cases):
            _, m, k, n = case.spec.sizes
            for number in (-64, 63):
                lhs = np.full((1, m, k), 255, np.uint8)
                rhs = np.full((1, k, n), number, np.int8)
                out = np.full((1, m, n), 2**31 - 1, np.int32)
                check(case, engine.address(f"f{i}"), [lhs, rhs, out])
                count += 1
        return count

    assert check_in_child(everything) == 4
