"""The matmul kernels on narrow factors: exact at every edge size, for any values."""

import dataclasses
import itertools

import numpy as np
import pytest

from morello.kernels import KERNELS
from morello.spec import VRF, Dtype, Matmul, Spec
from morello.spec.frame import Frame
from tests.guarded import check_in_child
from tests.kernels.harness import (
    EDGE,
    TWIN,
    Case,
    check,
    check_random,
    compiled,
    isa_of,
    legal,
    legal_cases,
    skip_where_it_cannot_run,
    spec,
)

MATMUL = Matmul(accum=True)
SATURATING = Matmul(accum=True, saturating=True)
PRODUCTS = (
    ("bf16", "bf16", "f32"),
    ("f32", "bf16", "f32"),
    ("u8", "s8", "s32"),
    ("u8", "s8", "s16"),
    ("s16", "s8", "s32"),
)
PAIR_LHS = ("[0,1,2,1p6,2p2]", "[0,1,2,1p4,2p2]", "[0,1,2]")


def product(
    sizes: tuple[int, ...], dtypes: tuple[str, ...], lhs: str, rhs: str
) -> Spec:
    width = 32 // Dtype.parse(dtypes[2]).itemsize
    forms = f"{dtypes[0]}@L1{lhs}", f"{dtypes[1]}@L1{rhs}"
    kind = SATURATING if dtypes == ("u8", "s8", "s16") and "1p2" in rhs else MATMUL
    return spec(kind, sizes, *forms, f"{dtypes[2]}@VRF[0,1,2]v{width}")


def edges(edge: tuple[int, ...] = EDGE) -> list[tuple[int, ...]]:
    """Every size on one axis at a time, beside those of a full tile; some beside those
    of smaller ones."""
    sizes = [(1, m, 5, 16) for m in edge] + [(1, 6, 5, n) for n in edge]
    sizes += [(1, 6, k, 16) for k in edge]
    sizes += [(1, m, 5, n) for m in TWIN for n in (3, 8)]
    sizes += [(1, m, 5, n) for m in (1, 3) for n in TWIN]
    sizes += [(1, m, k, n) for k in TWIN for m, n in ((3, 11), (4, 32))]
    return list(dict.fromkeys(sizes))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtypes", PRODUCTS, ids=",".join)
def test_factors_that_are_cast_as_they_are_loaded(dtypes: tuple[str, ...]) -> None:
    edge = EDGE if dtypes in (PRODUCTS[0], PRODUCTS[2]) else TWIN
    given = [product(s, dtypes, "[0,1,2]", "[0,1,2]") for s in edges(edge)]
    check_random(legal_cases("gemm_registers", tuple(given)))
    few = [(1, 6, 7, 16), (1, 3, 5, 9), (1, 1, 4, 1)]
    panels = ("[0,2,1]", "[0,1,2,1p6]"), ("[0,2,1,2p16]", "[0,1,2]")
    check_random(
        legal_cases(
            "gemm_registers",
            tuple(
                product(s, dtypes, *p) for s in few for p in itertools.product(*panels)
            ),
        )
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("lhs", PAIR_LHS)
def test_pairs_at_every_edge_size(lhs: str) -> None:
    rhs = "[0,2,1,2p16,1p2]"
    edge = EDGE if lhs == PAIR_LHS[0] else TWIN
    given = [product(s, ("s16", "s16", "s32"), lhs, rhs) for s in edges(edge)]
    cases = legal_cases("int_dot2", tuple(given))
    assert {c.spec.sizes[2] for c in cases} == {5, *edge} - {1}
    check_random(cases)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("lhs", PAIR_LHS)
def test_saturating_pairs_at_every_edge_size(lhs: str) -> None:
    edge, rhs = EDGE if lhs == PAIR_LHS[0] else TWIN, "[0,2,1,2p32,1p2]"
    given = [product(s, ("u8", "s8", "s16"), lhs, rhs) for s in edges(edge)]
    cases = legal_cases("int_dot2_saturating", tuple(given))
    assert {c.spec.sizes[2] for c in cases} == {5, *edge} - {1}
    check_random(cases)


@pytest.mark.parametrize("kind", [MATMUL, SATURATING])
def test_one_element_of_any_dtypes_in_any_layout(kind: Matmul) -> None:
    layouts = ("[0,1,2]", "[0,2,1]", "[0,1,2,1p6,2p2]", "[0,2,1,2p16,1p2]")
    products = PRODUCTS if kind is MATMUL else (("u8", "s8", "s16"),)
    check_random(
        Case(
            "scalar",
            spec(
                kind,
                (1, 1, k, 1),
                *(f"{d}@L1{x}" for d, x in zip(dtypes, (a, b, "[0,1,2]"), strict=True)),
            ),
        )
        for dtypes in products
        for a, b in itertools.product(layouts, layouts)
        for k in ((1,) if kind is MATMUL else (1, 2))
    )


def test_halves_at_every_edge_size() -> None:
    forms = "f32@L1[0,1,2,2oe16]", "bf16@L1[0,2,1]", "f32@L1[0,1,2]"
    sizes = [(1, 1, k, 8) for k in EDGE] + [(1, 1, k, n) for k in TWIN for n in (1, 3)]
    sizes += [(1, m, k, n) for m in range(1, 6) for n in range(1, 9) for k in (16, 33)]
    cases = legal_cases("gemm_dot_bf16", tuple(spec(MATMUL, s, *forms) for s in sizes))
    assert {c.spec.sizes[2] for c in cases} == set(EDGE) - {1}
    assert {c.spec.sizes[1] for c in cases} == {1, 2, 3, 4}
    check_random(cases)


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
    cases = [
        Case("int_dot2_saturating", saturating),
        Case("int_dot2", exact),
    ]
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
                given = [left.reshape(1, 4, 2).astype(lhs), right[None].astype(rhs)]
                check(case, engine.address(f"f{i}"), [*given, zero])
                count += 64
        return count

    assert check_in_child(everything) == 2 * 65536


BYTES = "u8w@L1[0,1,2]", "s8z@L1[0,2,1,2p16,1p2]", "s32@L1[0,1,2]"
FAR_BYTES = BYTES[0], BYTES[1].replace("L1", "L2"), BYTES[2]


@pytest.mark.sampled(3)
def test_bytes_by_float_at_every_edge_size() -> None:
    given = [spec(MATMUL, s, *BYTES) for s in edges()]
    cases = legal_cases("int_dot2_float", tuple(given))
    assert {c.spec.sizes[2] for c in cases} == set(EDGE) - {1}
    check_random(cases)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("accum", [True, False])
def test_bytes_by_float_of_panels_in_l2_are_exact(accum: bool) -> None:
    edge = EDGE if accum else TWIN
    sizes = [(1, 6, 5, n) for n in (*edge, 112, 113, 130)]
    sizes += [(1, m, 5, n) for m in (1, 5) for n in (*TWIN, 112, 113, 130)]
    sizes += [(1, 6, k, n) for k in (2, 9, 256, 257, 511, 512) for n in (17, 48, 60)]
    cases = [Case("int_dot2_float", spec(Matmul(accum), s, *FAR_BYTES)) for s in sizes]
    check_random(cases)


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


def test_what_bytes_by_float_need_is_said() -> None:
    for sizes, said in (
        ((1, 2, 1, 8), ["takes pairs along k: k = 1 has none"]),
        ((1, 2, 2049, 8), ["takes at most 2048 k"]),
        ((1, 7, 16, 16), ["needs free registers for the sums of a panel"]),
        ((1, 6, 513, 64), ["takes at most 512 k"]),
    ):
        given = spec(MATMUL, sizes, *(FAR_BYTES if sizes[3] > 16 else BYTES))
        conditions = KERNELS["int_dot2_float"].conditions(Frame.of(given))
        found = [c.text for c in conditions if not c.holds]
        assert len(found) == len(said)
        assert found[0].startswith(said[0])


BY_SIGNS = {
    ("u8", "s8"): "int_dot4_exact_512",
    ("s8", "s8"): "int_dot4_signed_512",
    ("u8", "u8"): "int_dot4_unsigned_512",
    ("s8", "u8"): "int_dot4_signed_lhs_512",
}


def quads_512(sizes: tuple[int, ...], signs: tuple[str, str]) -> Spec:
    forms = f"{signs[0]}@L1[0,1,2]", f"{signs[1]}@L1[0,2,1,2p32,1p4]"
    return spec(MATMUL, sizes, *forms, "s32@VRF[0,1,2]v16")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("signs", BY_SIGNS, ids=",".join)
def test_quads_of_any_signs_at_every_edge_size(signs: tuple[str, str]) -> None:
    sizes = [(1, 3, k, n) for k in (*EDGE, 11, 12) for n in (9, 16, 32) if k >= 4]
    sizes += [(1, m, 7, n) for m in EDGE for n in (1, 15, 17, 32)]
    cases = legal_cases(BY_SIGNS[signs], tuple(quads_512(s, signs) for s in sizes))
    assert {c.spec.sizes[2] for c in cases} == {k for k in (*EDGE, 11, 12) if k >= 4}
    check_random(cases)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("signs", BY_SIGNS, ids=",".join)
def test_extreme_bytes_of_any_signs_wrap_as_sums_do(signs: tuple[str, str]) -> None:
    sizes = [(1, 2, k, 17) for k in (4, 6, 255, 4096)]
    cases = [Case(BY_SIGNS[signs], quads_512(s, signs)) for s in sizes]
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


NEEDS = [
    ((1, 2, 1, 8), 0, "takes pairs along k: k < 2 has none"),
    ((1, 1, 4, 17), 16, "takes n of rhs within one pack: at most 16"),
    ((1, 5, 4, 8), 16, "takes m of lhs within one pack: at most 4"),
    ((1, 4, 4, 17), 16, "takes n of rhs within one pack: at most 16"),
    ((1, 4, 4, 32), 16, "needs registers for its sums, a row of rhs and"),
    ((1, 2, 4, 8), 1, "needs free registers for a row of rhs and"),
]
"""Sizes, free registers, and what they lack."""


@pytest.mark.parametrize(("sizes", "vrf", "said"), NEEDS)
@pytest.mark.parametrize("kernel", ["int_dot2", "int_dot2_saturating", "int_dot4"])
def test_what_products_of_groups_need_is_said(
    kernel: str, sizes: tuple[int, ...], vrf: int, said: str
) -> None:
    group = 4 if kernel == "int_dot4" else 2
    dtypes = {
        "int_dot2": ("s16", "s16", "s32"),
        "int_dot2_saturating": ("u8", "s8", "s16"),
        "int_dot4": ("u8", "s7", "s32"),
    }[kernel]
    lhs, rhs = f"[0,1,2,1p4,2p{group}]", f"[0,2,1,2p16,1p{group}]"
    given = product(sizes, dtypes, lhs, rhs)
    assert KERNELS[kernel].accepts(given.key)
    found = dataclasses.replace(given, limits=given.limits.replace(VRF, vrf))
    texts = [c.text for c in KERNELS[kernel].conditions(Frame.of(found)) if not c.holds]
    if group == 4:
        said = said.replace("pairs", "quads").replace("k < 2", "k < 4")
    if dtypes[2] == "s16" and sizes[3] == 32:  # twice as many in a register
        said = "takes n of rhs within one pack: at most 16"
    assert any(text.startswith(said) for text in texts)


QUADS = "u8@L1[0,1,2]", "s7@L1[0,2,1,2p16,1p4]", "s32@VRF[0,1,2]v8"


def test_quads_at_every_edge_size() -> None:
    sizes = [(1, m, 5, 8) for m in EDGE] + [(1, 3, k, 11) for k in EDGE]
    sizes += [(1, 1, 5, n) for n in EDGE] + edges(TWIN)
    sizes += [(1, m, k, 8) for m in (7, 12) for k in (4, 6, 9)]
    given = [spec(MATMUL, s, *QUADS) for s in dict.fromkeys(sizes)]
    cases = legal_cases("int_dot4", tuple(given))
    assert {c.spec.sizes[2] for c in cases} >= set(EDGE) - {1, 2, 3}
    assert {c.spec.sizes[1] for c in cases} >= {1, 5, 12}
    check_random(cases)


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
