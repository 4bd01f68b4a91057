"""The matmul kernels that read an operand once, from wherever it is."""

import dataclasses
import itertools
from collections import Counter

import pytest

from morello.kernels import KERNELS
from morello.machine.targets.avx2 import AVX2
from morello.spec import Limits, Matmul, Spec
from morello.spec.frame import Frame
from tests.kernels.harness import (
    EDGE,
    TWIN,
    Case,
    check_random,
    legal_cases,
    price,
    spec,
)
from tests.kernels.test_assembly import assembly, loops, opcodes, touches_stack

ROWS, COLUMNS = "[0,1,2]", "[0,2,1]"


def axpy(
    sizes: tuple[int, ...], dtype: str = "f32", rhs: str = "L1", accum: bool = True
) -> Spec:
    forms = f"{dtype}@L1{ROWS}", f"{dtype}@{rhs}{ROWS}", f"{dtype}@L1{ROWS}"
    return spec(Matmul(accum), sizes, *forms)


def dot(
    sizes: tuple[int, ...],
    dtype: str = "f32",
    accum: bool = True,
    level: str = "L1",
    rhs: str = COLUMNS,
) -> Spec:
    forms = f"{dtype}@{level}{ROWS}", f"{dtype}@{level}{rhs}", f"{dtype}@L1{ROWS}"
    return spec(Matmul(accum), sizes, *forms)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["f32", "s32"])
def test_axpy_is_exact_at_every_edge_size(dtype: str) -> None:
    sizes = [(1, m, k, n) for m in range(1, 7) for k, n in ((3, 11), (8, 16), (17, 40))]
    edge = EDGE if dtype == "f32" else TWIN
    sizes += [(1, 1, 9, n) for n in edge] + [(1, 4, 9, n) for n in TWIN]
    sizes += [(1, 1, k, 19) for k in edge] + [(1, 3, k, 19) for k in TWIN]
    given = [axpy(s, dtype) for s in dict.fromkeys(sizes)]
    cases = legal_cases("gemv_axpy", tuple(given))
    assert len(cases) == len(given)
    check_random(cases)


def test_axpy_is_exact_where_it_prefetches() -> None:
    sizes = itertools.product((1,), (1, 2, 6), (1, 8, 15, 16, 17, 40), (5, 16, 50))
    check_random(Case("gemv_axpy", axpy(s, rhs="MEM")) for s in sizes)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["f32", "s32"])
def test_axpy_by_four_rows_is_exact(dtype: str) -> None:
    rows = (2, 5, 6) if dtype == "f32" else (2, 5)
    sizes = list(itertools.product((1,), rows, (8, 11, 12, 17, 40), (5, 16, 50)))
    given = [axpy(s, dtype, "MEM") for s in sizes]
    given += [axpy(s, dtype, "MEM", False) for s in sizes if s[1] != 5]
    check_random(Case("gemv_axpy_4", s) for s in given)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("accum", [True, False])
@pytest.mark.parametrize("dtype", ["f32", "s32"])
def test_axpy_that_asks_ahead_is_exact(dtype: str, accum: bool) -> None:
    sizes = [(1, m, k, 1024) for m in (1, 2, 6) for k in (8, 11, 12)]
    sizes += [(1, m, 9, n) for m in (1, 3) for n in (1025, 1032, 1040, 1100, 2053)]
    sizes += [(1, 1, k, n) for k in (8, 13) for n in (256, 263, 300, 511)]
    given = [axpy(s, dtype, "MEM", accum) for s in sizes]
    cases = legal_cases("gemv_axpy_prefetch", tuple(given))
    assert len(cases) == len(given)
    check_random(cases)


@pytest.mark.parametrize("accum", [True, False])
@pytest.mark.parametrize("dtype", ["f32", "s32"])
def test_axpy_of_rows_apart_is_exact(dtype: str, accum: bool) -> None:
    edge = EDGE if accum and dtype == "f32" else TWIN
    sizes = [(1, 1, k, 50) for k in (10, 11, 14, 15, 31)]
    sizes += [(1, 1, 16, n) for n in (*edge, 96)]
    given = [whole_rhs(axpy(s, dtype, "MEM", accum)) for s in sizes]
    check_random(Case("gemv_axpy_streams", s) for s in given)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("lhs", "accum"), [("bf16", True), ("f32", False)])
def test_axpy_of_bf16_rows_apart_is_exact(lhs: str, accum: bool) -> None:
    sizes = [(1, 1, 13, n) for n in (*(EDGE if accum else TWIN), 64, 75, 96)]
    sizes += [(1, 1, k, 70) for k in (10, 11, 14, 15, 31)]
    given = [whole_rhs(mixed(s, lhs, accum=accum)) for s in sizes]
    check_random(Case("gemv_axpy_bf16_streams", s) for s in given)


@pytest.mark.parametrize("dtype", ["f32", "s32"])
def test_axpy_overwrites_what_out_holds(dtype: str) -> None:
    sizes = itertools.product((1,), (1, 6), (1, 3, 8, 9, 16, 17, 40), (5, 16, 32, 50))
    given = [axpy(s, dtype, "MEM", accum=False) for s in sizes]
    check_random(Case("gemv_axpy", s) for s in given)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("accum", [False, True])
@pytest.mark.parametrize("dtype", ["f32", "s32"])
def test_dot_is_exact_at_every_edge_size(dtype: str, accum: bool) -> None:
    first = accum and dtype == "f32"
    edge, columns = (EDGE, (*range(1, 10), 17)) if first else (TWIN, (1, 4, 7, 8, 17))
    sides = [(m, n) for m in range(1, 5) for n in columns]
    sizes = [(1, m, 19, n) for m, n in sides] + [(1, n, 19, m) for m, n in sides]
    sizes += [(1, 1, k, 9) for k in edge]
    sizes += [(1, m, k, n) for k in TWIN for m, n in ((7, 2), (1, 1))]
    sizes += [(1, m, 9, n) for e in edge for m, n in ((1, e), (e, 1))]
    given = [dot(s, dtype, accum) for s in dict.fromkeys(sizes)]
    cases = legal_cases("gemv_dot", tuple(given))
    assert len(cases) == len(given)
    check_random(cases)


def test_dot_is_exact_where_it_prefetches() -> None:
    sides = ((1, 8), (1, 17), (40, 1), (2, 13), (9, 3), (4, 12))
    sizes = [(1, m, k, n) for m, n in sides for k in (1, 16, 33, 100)]
    check_random(Case("gemv_dot", dot(s, level="MEM")) for s in sizes)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("accum", [True, False])
@pytest.mark.parametrize("dtype", ["f32", "s32"])
def test_dot_that_asks_ahead_is_exact(dtype: str, accum: bool) -> None:
    sides = ((1, 8), (1, 15), (9, 1), (2, 13), (12, 3), (4, 7))
    sizes = [(1, m, k, n) for m, n in sides for k in (2048, 2055)]
    sizes += [(1, 8, k, 1) for k in (1024, 1025, 1033, 1040, 1070)]
    sizes += [(1, m, k, 1) for m in (8, 13) for k in (256, 263, 300, 511)]
    given = [dot(s, dtype, accum, level="MEM") for s in sizes]
    cases = legal_cases("gemv_dot_prefetch", tuple(given))
    assert len(cases) == len(given)
    check_random(cases)


@pytest.mark.parametrize("lhs", ["bf16", "f32"])
def test_dot_of_bf16_that_asks_ahead_is_exact(lhs: str) -> None:
    sizes = [(1, m, k, n) for m, n in ((1, 8), (1, 11), (2, 9)) for k in (4096, 4121)]
    given = [mixed(s, lhs, f"MEM{COLUMNS}") for s in sizes]
    check_random(Case("gemv_dot_prefetch", s) for s in given)


@pytest.mark.parametrize("accum", [True, False])
@pytest.mark.parametrize("dtype", ["f32", "s32"])
def test_dot_of_rows_apart_is_exact(dtype: str, accum: bool) -> None:
    sizes = [(1, 1, k, n) for n in (10, 14, 31) for k in (1, 19, 40)]
    edge = EDGE if accum and dtype == "f32" else TWIN
    sizes += [(1, 12, k, 1) for k in edge] + [(1, m, 19, 1) for m in (10, 14, 50)]
    given = [dot(s, dtype, accum, level="MEM") for s in sizes]
    check_random(Case("gemv_dot_streams", s) for s in given)


def mixed(
    sizes: tuple[int, ...], lhs: str, rhs: str = f"MEM{ROWS}", accum: bool = True
) -> Spec:
    return spec(Matmul(accum), sizes, f"{lhs}@L1{ROWS}", f"bf16@{rhs}", f"f32@L1{ROWS}")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("lhs", ["bf16", "f32"])
def test_axpy_of_bf16_is_exact_at_every_edge_size(lhs: str) -> None:
    edge = EDGE if lhs == "bf16" else TWIN
    sizes = [(1, 1, 9, n) for n in edge] + [(1, 2, 9, n) for n in TWIN]
    sizes += [(1, 1, k, 75) for k in edge] + [(1, 2, k, 32) for k in TWIN]
    check_random(Case("gemv_axpy_bf16", mixed(s, lhs)) for s in dict.fromkeys(sizes))
    over = itertools.product((1,), (1, 2), (1, 8, 9, 16, 24), (5, 32, 64, 75))
    check_random(Case("gemv_axpy_bf16", mixed(s, lhs, accum=False)) for s in over)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("lhs", ["bf16", "f32"])
def test_axpy_of_bf16_panels_is_exact(lhs: str) -> None:
    panel = "L2[0,2,1,2p64]"
    every = range(1, 65) if lhs == "bf16" else (*range(1, 65, 5), 32, 64)
    sizes = [(1, m, 7, n) for m in (1, 2) for n in every]
    some = (1, 31, 32, 33, 64)
    sizes += [(1, m, k, n) for m in (1, 2) for k in (1, 40) for n in some]
    given = tuple(mixed(s, lhs, panel) for s in sizes)
    cases = legal_cases("gemv_axpy_bf16", given)
    two_rows = sum(n <= 32 for n in every)
    assert len(cases) == len(every) + two_rows + 2 * (5 + 3)
    check_random(cases)


PANELS = "MEM[0,2,1,2p64]"


@pytest.mark.parametrize(("lhs", "accum"), [("bf16", True), ("f32", False)])
def test_axpy_of_bf16_panels_that_asks_ahead_is_exact(lhs: str, accum: bool) -> None:
    sizes = [(1, 1, 50, n) for n in (*(EDGE if accum else TWIN), 192, 200)]
    sizes += [(1, 1, k, 160) for k in (48, 49, 51, 52, 96, 131)]
    given = [mixed(s, lhs, PANELS, accum) for s in sizes]
    check_random(Case("gemv_axpy_bf16_prefetch", s) for s in given)


@pytest.mark.parametrize(("k", "n", "lines"), [(48, 64, 0), (52, 64, 8), (48, 40, 0)])
def test_the_last_panel_asks_for_nothing_behind_it(k: int, n: int, lines: int) -> None:
    given = mixed((1, 1, k, n), "f32", PANELS)
    found = opcodes(assembly("gemv_axpy_bf16_prefetch", given))
    assert found["prefetcht0"] == lines


def test_few_rows_do_not_ask_ahead() -> None:
    given = mixed((1, 1, 47, 64), "f32", PANELS)
    assert not legal_cases("gemv_axpy_bf16_prefetch", (given,))


SPECIALIZE_RANGE = "MEM[0,2,1,2p16]"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("lhs", "accum"), [("bf16", True), ("f32", False)])
def test_axpy_of_bf16_panels_apart_is_exact(lhs: str, accum: bool) -> None:
    edge = EDGE if accum else TWIN
    sizes = [(1, 1, 10, n) for n in (*edge, 96, 97, 111, 112, 200, 300)]
    sizes += [(1, 1, k, 230) for k in edge if k >= 10]
    given = [mixed(s, lhs, SPECIALIZE_RANGE, accum) for s in dict.fromkeys(sizes)]
    check_random(Case("gemv_axpy_bf16_streams", s) for s in given)


@pytest.mark.parametrize("lhs", ["bf16", "f32"])
def test_dot_of_bf16_rows_apart_is_exact(lhs: str) -> None:
    edge = EDGE if lhs == "bf16" else TWIN
    sizes = [(1, 1, k, 13) for k in edge] + [(1, 1, 40, n) for n in (10, 14, 31)]
    given = [mixed(s, lhs, f"MEM{COLUMNS}") for s in sizes]
    check_random(Case("gemv_dot_streams", s) for s in given)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("lhs", "accum"), [("bf16", True), ("f32", False)])
def test_dot_of_bf16_is_exact_at_every_edge_size(lhs: str, accum: bool) -> None:
    columns = f"MEM{COLUMNS}"
    edge = EDGE if accum else TWIN
    sizes = [(1, 1, k, 9) for k in edge]
    sizes += [(1, m, k, n) for k in TWIN for m, n in ((7, 2), (2, 17))]
    sizes += [(1, m, 33, n) for e in edge for m, n in ((1, e), (e, 1))]
    sizes += [(1, 2, 33, e) for e in TWIN]
    given = [mixed(s, lhs, columns, accum) for s in dict.fromkeys(sizes)]
    check_random(Case("gemv_dot", s) for s in given)


def whole_rhs(given: Spec) -> Spec:
    """The same Spec with a gapless rhs."""
    lhs, rhs, out = given.tensors
    gapless = dataclasses.replace(rhs, contiguous=True)
    return dataclasses.replace(given, tensors=(lhs, gapless, out))


def test_one_gapless_column_is_a_column_whatever_its_layout() -> None:
    given = dot((1, 5, 40, 1), rhs=ROWS)
    assert not KERNELS["gemv_dot"].accepts(given.key)
    assert KERNELS["gemv_dot"].accepts(whole_rhs(given).key)
    two = Frame.of(whole_rhs(dot((1, 5, 40, 2), rhs=ROWS)))
    reasons = [c.text for c in KERNELS["gemv_dot"].conditions(two) if not c.holds]
    assert reasons == ["needs n = 1 where rhs is row-major: tile n to 1"]


@pytest.mark.parametrize(
    ("name", "sizes", "vrf", "reason"),
    [
        ("gemv_axpy", (2, 1, 8, 16), 16, "needs b = 1"),
        ("gemv_axpy", (1, 7, 8, 16), 16, "takes at most 6 rows"),
        ("gemv_axpy", (1, 6, 8, 16), 14, "needs free registers for sums and factors"),
        ("gemv_axpy", (1, 1, 8, 1 << 20), 16, "needs room in L2 for twice 8 rows"),
        ("gemv_axpy_4", (1, 1, 8, 16), 16, "takes more than one row"),
        ("gemv_axpy_streams", (1, 2, 64, 16), 16, "takes one row"),
        ("gemv_axpy_streams", (1, 1, 9, 16), 16, "takes at least 10 rows of rhs"),
        ("gemv_axpy_4", (1, 2, 7, 16), 16, "takes at least 8 rows of rhs"),
        ("gemv_axpy_prefetch", (1, 1, 7, 4096), 16, "takes at least 8 rows of rhs"),
        ("gemv_axpy_prefetch", (1, 1, 8, 255), 16, "do not split n"),
        ("gemv_dot_prefetch", (1, 1, 255, 8), 16, "do not split k"),
        ("gemv_dot_prefetch", (1, 1, 4096, 7), 16, "takes twice the rows"),
        ("gemv_dot", (2, 1, 8, 16), 16, "needs b = 1"),
        ("gemv_dot_streams", (1, 2, 8, 16), 16, "takes one row or column"),
        ("gemv_dot_streams", (1, 1, 8, 9), 16, "takes at least 10 of the others"),
        ("gemv_dot", (1, 5, 8, 5), 16, "takes at most 4 rows or columns"),
        ("gemv_dot", (1, 1, 8, 16), 10, "needs free registers for its sums"),
    ],
)
def test_what_does_not_fit_says_why(
    name: str, sizes: tuple[int, ...], vrf: int, reason: str
) -> None:
    given = axpy(sizes, rhs="MEM") if "axpy" in name else dot(sizes, level="MEM")
    given = dataclasses.replace(given, limits=Limits.of(vrf=vrf, l1=512, l2=16384))
    conditions = KERNELS[name].conditions(Frame.of(given))
    assert any(reason in c.text for c in conditions if not c.holds)


@pytest.mark.parametrize(
    ("rhs", "out", "lines", "fits"),
    [
        ("L1", "MEM", 9, True),
        ("L1", "MEM", 10, False),
        ("L1", "L2", 10, False),
        ("L1", "L1", 10, True),
        ("L2", "MEM", 65, True),
        ("MEM", "MEM", 65, True),
    ],
)
def test_rows_of_out_from_beyond_l1_have_room_beside_a_tile_of_rhs_there(
    rhs: str, out: str, lines: int, fits: bool
) -> None:
    forms = f"f32@L1{ROWS}", f"f32@{rhs}{ROWS}", f"f32@{out}{ROWS}"
    given = spec(Matmul(True), (1, 1, 8, 16 * lines), *forms)
    given = dataclasses.replace(given, limits=Limits.of(vrf=16, l1=9, l2=64))
    conditions = KERNELS["gemv_axpy"].conditions(Frame.of(given))
    beside = [c.holds for c in conditions if "out beside rhs" in c.text]
    assert all(beside) == fits


def test_several_rows_pay_for_lines_beside_the_arithmetic() -> None:
    """Else streaming looks as good as packing for a large matmul, and is not."""
    lines = 512 * 512 * 4 // 64

    def cost(level: str) -> int:
        frame = Frame.of(axpy((1, 6, 512, 512), rhs=level))
        total: int = price("gemv_axpy", frame)
        return total

    for level, line in (
        ("L2", AVX2.coefficients.line_l2),
        ("MEM", AVX2.coefficients.line_mem_overlapped),
    ):
        assert cost(level) >= cost("L1") + lines * line


def test_factors_that_registers_do_not_hold_cost_loads() -> None:
    def cost(m: int) -> float:
        frame = Frame.of(axpy((1, m, 3, 1008), accum=False))
        return int(price("gemv_axpy", frame)) / m

    def on_stack(m: int) -> int:
        lines = assembly("gemv_axpy", axpy((1, m, 3, 1008), accum=False))
        return sum("(%rsp)" in line for line in max(loops(lines), key=len))

    assert on_stack(2) == 0 < on_stack(4) < on_stack(6)
    assert cost(2) < cost(4) < cost(6)


def hot_loop(name: str, given: Spec) -> tuple[list[str], Counter[str]]:
    """The innermost loop with the most products, and its instructions counted."""
    body = max(loops(assembly(name, given)), key=lambda s: opcodes(s)["vfmadd231ps"])
    return body, opcodes(body)


def products_of(found: Counter[str]) -> int:
    return sum(count for name, count in found.items() if name.startswith("vfmadd"))


def test_axpy_loads_and_stores_out_once_for_eight_rows() -> None:
    body, found = hot_loop("gemv_axpy", axpy((1, 1, 64, 512), rhs="MEM"))
    assert products_of(found) == 16
    assert found["prefetcht1"] == 8
    assert found["vmovups"] == 4
    assert not touches_stack(body)


def test_rows_that_ask_ahead_ask_for_as_many_lines_as_they_read() -> None:
    """Of themselves, and at their end of the next rows; the last ones for nothing."""
    for name, given, products in (
        ("gemv_axpy_prefetch", axpy((1, 1, 64, 2048), rhs="MEM"), 8),
        ("gemv_axpy_prefetch", axpy((1, 4, 64, 2048), rhs="MEM"), 32),
        ("gemv_dot_prefetch", dot((1, 64, 2048, 1), level="MEM"), 8),
    ):
        body, found = hot_loop(name, given)
        assert found["prefetcht0"] == 4, name
        assert products_of(found) == products
        # Of several rows some factors are on the stack, as those of `gemv_axpy`.
        assert not touches_stack(body) or given.sizes[1] == 4
        asking = [
            Counter(opcodes(loop))["prefetcht0"]
            for loop in loops(assembly(name, given))
        ]
        assert set(asking) == {0, 4}, name


def test_bf16_is_widened_by_a_shift_and_a_mask() -> None:
    for name, given, rows in (
        ("gemv_axpy_bf16", mixed((1, 1, 64, 512), "f32"), 8),
        ("gemv_dot", mixed((1, 1, 512, 64), "bf16", f"MEM{COLUMNS}"), 4),
    ):
        body, found = hot_loop(name, given)
        assert found["vpslld"] >= 2 * rows
        assert found["vpmovzxwd"] == 0
        assert found["prefetcht1"] == rows
        assert not touches_stack(body)


def test_panels_ask_for_as_many_lines_as_they_read() -> None:
    given = mixed((1, 1, 512, 192), "f32", PANELS)
    body, found = hot_loop("gemv_axpy_bf16_prefetch", given)
    assert found["prefetcht0"] == 8
    assert found["vbroadcastss"] == 4
    assert found["vmovdqu"] == 16
    assert not touches_stack(body)


def test_runs_apart_are_read_side_by_side() -> None:
    given = mixed((1, 1, 512, 960), "f32", SPECIALIZE_RANGE)
    body, found = hot_loop("gemv_axpy_bf16_streams", given)
    assert found["vbroadcastss"] == 2
    assert found["vmovdqu"] == found["vpslld"] == 2 * 5
    assert found["prefetcht1"] == 5
    assert products_of(found) == 2 * 10
    assert not touches_stack(body)
    given = mixed((1, 1, 512, 60), "bf16", f"MEM{COLUMNS}")
    body, found = hot_loop("gemv_dot_streams", given)
    assert found["vmovdqu"] == found["vpslld"] == 2 * 6
    assert found["prefetcht1"] == 5
    assert products_of(found) == 2 * 10
    assert not touches_stack(body)
    given = whole_rhs(axpy((1, 1, 512, 960), rhs="MEM"))
    body, found = hot_loop("gemv_axpy_streams", given)
    assert products_of(found) == 10
    assert found["vmovups"] == 4
    assert not touches_stack(body)
    body, found = hot_loop("gemv_dot_streams", dot((1, 60, 512, 1), level="MEM"))
    assert found["vfmadd231ps"] == 10
    assert found["vmovups"] == 2
    assert found["prefetcht1"] == 0
    assert not touches_stack(body)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("gemv_axpy_bf16_streams", whole_rhs(mixed((1, 1, 15, 2048), "f32"))),
        ("gemv_axpy_bf16_streams", mixed((1, 1, 512, 240), "f32", SPECIALIZE_RANGE)),
        ("gemv_dot_streams", mixed((1, 1, 2048, 15), "f32", f"MEM{COLUMNS}")),
    ],
    ids=["rows", "panels", "columns"],
)
def test_the_last_of_runs_apart_ask_for_nothing_behind_them(
    name: str, given: Spec
) -> None:
    """Three times five units: others ask all along, the last until near their end."""
    asking = [opcodes(body)["prefetcht1"] for body in loops(assembly(name, given))]
    assert set(asking) == {0, 5}
    assert asking.count(0) == 1
    assert asking[-1] == 0


def test_dot_multiplies_straight_from_memory() -> None:
    body, found = hot_loop("gemv_dot", dot((1, 64, 512, 1), level="MEM"))
    assert found["vfmadd231ps"] == 16
    assert found["prefetcht1"] == 8
    assert found["vmovups"] == 2
    assert not touches_stack(body)
