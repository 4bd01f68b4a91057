"""The matmul kernels that read an operand once, from wherever it is."""

import dataclasses
from collections import Counter

import pytest

from morello.kernels import KERNELS
from morello.machine.targets.avx2 import AVX2
from morello.spec import Limits, Matmul, Spec
from morello.spec.frame import Frame
from tests.kernels.harness import legal_cases, price, spec
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


def mixed(
    sizes: tuple[int, ...], lhs: str, rhs: str = f"MEM{ROWS}", narrow: str = "bf16"
) -> Spec:
    forms = f"{lhs}@L1{ROWS}", f"{narrow}@{rhs}", f"f32@L1{ROWS}"
    return spec(Matmul(True), sizes, *forms)


PANELS = "MEM[0,2,1,2p64]"


@pytest.mark.parametrize(("k", "n", "lines"), [(48, 64, 0), (52, 64, 8), (48, 40, 0)])
def test_the_last_panel_asks_for_nothing_behind_it(k: int, n: int, lines: int) -> None:
    goal = mixed((1, 1, k, n), "f32", PANELS)
    counts = opcodes(assembly("gemv_axpy_bf16_prefetch", goal))
    assert counts["prefetcht0"] == lines


def test_few_rows_do_not_ask_ahead() -> None:
    goal = mixed((1, 1, 47, 64), "f32", PANELS)
    assert not legal_cases("gemv_axpy_bf16_prefetch", (goal,))


SPECIALIZE_RANGE = "MEM[0,2,1,2p16]"


def whole_rhs(goal: Spec) -> Spec:
    """The same Spec with a gapless rhs."""
    lhs, rhs, out = goal.tensors
    gapless = dataclasses.replace(rhs, contiguous=True)
    return dataclasses.replace(goal, tensors=(lhs, gapless, out))


def test_one_gapless_column_is_a_column_whatever_its_layout() -> None:
    goal = dot((1, 5, 40, 1), rhs=ROWS)
    assert not KERNELS["gemv_dot"].accepts(goal.key)
    assert KERNELS["gemv_dot"].accepts(whole_rhs(goal).key)
    two = Frame.of(whole_rhs(dot((1, 5, 40, 2), rhs=ROWS)))
    reasons = [c.text for c in KERNELS["gemv_dot"].conditions(two) if not c.holds]
    assert reasons == ["needs n = 1 where rhs is row-major: tile n to 1"]


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
    goal = spec(Matmul(True), (1, 1, 8, 16 * lines), *forms)
    goal = dataclasses.replace(goal, limits=Limits.of(vrf=16, l1=9, l2=64))
    conditions = KERNELS["gemv_axpy"].conditions(Frame.of(goal))
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


def hot_loop(name: str, goal: Spec) -> tuple[list[str], Counter[str]]:
    """The innermost loop with the most products, and its instructions counted."""
    body = max(loops(assembly(name, goal)), key=lambda s: opcodes(s)["vfmadd231ps"])
    return body, opcodes(body)


def products_of(counts: Counter[str]) -> int:
    return sum(count for name, count in counts.items() if name.startswith("vfmadd"))


def test_axpy_loads_and_stores_out_once_for_eight_rows() -> None:
    body, counts = hot_loop("gemv_axpy", axpy((1, 1, 64, 512), rhs="MEM"))
    assert products_of(counts) == 16
    assert counts["prefetcht1"] == 8
    assert counts["vmovups"] == 4
    assert not touches_stack(body)


def test_rows_that_ask_ahead_ask_for_as_many_lines_as_they_read() -> None:
    """Of themselves, and at their end of the next rows; the last ones for nothing."""
    for name, goal, products in (
        ("gemv_axpy_prefetch", axpy((1, 1, 64, 2048), rhs="MEM"), 8),
        ("gemv_axpy_prefetch", axpy((1, 4, 64, 2048), rhs="MEM"), 32),
        ("gemv_dot_prefetch", dot((1, 64, 2048, 1), level="MEM"), 8),
    ):
        body, counts = hot_loop(name, goal)
        assert counts["prefetcht0"] == 4, name
        assert products_of(counts) == products
        # Of several rows some factors are on the stack, as those of `gemv_axpy`.
        assert not touches_stack(body) or goal.sizes[1] == 4
        asking = [
            Counter(opcodes(loop))["prefetcht0"] for loop in loops(assembly(name, goal))
        ]
        assert set(asking) == {0, 4}, name


def test_bf16_is_widened_by_a_shift_and_a_mask() -> None:
    for name, goal, rows in (
        ("gemv_axpy_bf16", mixed((1, 1, 64, 512), "f32"), 8),
        ("gemv_dot", mixed((1, 1, 512, 64), "bf16", f"MEM{COLUMNS}"), 4),
    ):
        body, counts = hot_loop(name, goal)
        assert counts["vpslld"] >= 2 * rows
        assert counts["vpmovzxwd"] == 0
        assert counts["prefetcht1"] == rows
        assert not touches_stack(body)


def test_panels_ask_for_as_many_lines_as_they_read() -> None:
    goal = mixed((1, 1, 512, 192), "f32", PANELS)
    body, counts = hot_loop("gemv_axpy_bf16_prefetch", goal)
    assert counts["prefetcht0"] == 8
    assert counts["vbroadcastss"] == 4
    assert counts["vmovdqu"] == 16
    assert not touches_stack(body)


def test_runs_apart_are_read_side_by_side() -> None:
    goal = mixed((1, 1, 512, 960), "f32", SPECIALIZE_RANGE)
    body, counts = hot_loop("gemv_axpy_bf16_streams", goal)
    assert counts["vbroadcastss"] == 2
    assert counts["vmovdqu"] == counts["vpslld"] == 2 * 5
    assert counts["prefetcht1"] == 5
    assert products_of(counts) == 2 * 10
    assert not touches_stack(body)
    goal = mixed((1, 1, 512, 60), "bf16", f"MEM{COLUMNS}")
    body, counts = hot_loop("gemv_dot_streams", goal)
    assert counts["vmovdqu"] == counts["vpslld"] == 2 * 6
    assert counts["prefetcht1"] == 5
    assert products_of(counts) == 2 * 10
    assert not touches_stack(body)
    goal = whole_rhs(axpy((1, 1, 512, 960), rhs="MEM"))
    body, counts = hot_loop("gemv_axpy_streams", goal)
    assert products_of(counts) == 10
    assert counts["vmovups"] == 4
    assert not touches_stack(body)
    body, counts = hot_loop("gemv_dot_streams", dot((1, 60, 512, 1), level="MEM"))
    assert counts["vfmadd231ps"] == 10
    assert counts["vmovups"] == 2
    assert counts["prefetcht1"] == 0
    assert not touches_stack(body)


@pytest.mark.parametrize(
    ("name", "goal"),
    [
        ("gemv_axpy_bf16_streams", whole_rhs(mixed((1, 1, 15, 2048), "f32"))),
        ("gemv_axpy_bf16_streams", mixed((1, 1, 512, 240), "f32", SPECIALIZE_RANGE)),
        ("gemv_dot_streams", mixed((1, 1, 2048, 15), "f32", f"MEM{COLUMNS}")),
    ],
    ids=["rows", "panels", "columns"],
)
def test_the_last_of_runs_apart_ask_for_nothing_behind_them(
    name: str, goal: Spec
) -> None:
    """Three times five units: others ask all along, the last until near their end."""
    asking = [opcodes(body)["prefetcht1"] for body in loops(assembly(name, goal))]
    assert set(asking) == {0, 5}
    assert asking.count(0) == 1
    assert asking[-1] == 0


def test_dot_multiplies_straight_from_memory() -> None:
    body, counts = hot_loop("gemv_dot", dot((1, 64, 512, 1), level="MEM"))
    assert counts["vfmadd231ps"] == 16
    assert counts["prefetcht1"] == 8
    assert counts["vmovups"] == 2
    assert not touches_stack(body)


@pytest.mark.parametrize(
    ("name", "rhs"), [("gemv_axpy_f16", f"MEM{ROWS}"), ("gemv_dot", f"MEM{COLUMNS}")]
)
@pytest.mark.parametrize("lhs", ["f16", "f32"])
def test_f16_is_widened_by_instructions(name: str, rhs: str, lhs: str) -> None:
    """No function is called, and no element is widened by itself in the loop."""
    text = assembly(name, mixed((1, 1, 512, 512), lhs, rhs, narrow="f16"))
    body = max(loops(text), key=lambda one: opcodes(one)["vcvtph2ps"])
    counts = opcodes(body)
    assert counts["vcvtph2ps"] >= products_of(counts) >= 16
    assert not touches_stack(body)
    assert not any("call" in line or "hf2" in line for line in text)
