"""What the search relies on: costs and conditions over arrays, and their reasons."""

import dataclasses

import numpy as np
import pytest

from morello.kernels import KERNELS, Kernel, by_name
from morello.machine import TARGETS
from morello.machine.avx2 import AVX2
from morello.machine.avx2_golden_cove import AVX2_GOLDEN_COVE
from morello.spec import Fill, Kind, Limits, Matmul, Max, Move, Spec, SpecKey
from morello.spec.frame import Frame
from tests.kernels.harness import form

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 24, 32, 33, 1024)
_IN_REGISTERS = "f32@VRF[0,1]v8"

STREAMING = (
    "matmul_axpy",
    "matmul_axpy_four",
    "matmul_axpy_ahead",
    "matmul_axpy_apart",
    "matmul_axpy_bf16",
    "matmul_axpy_bf16_ahead",
    "matmul_axpy_bf16_apart",
    "matmul_outer",
    "matmul_dot",
    "matmul_dot_ahead",
    "matmul_dot_apart",
    "move_transpose_ahead",
)
"""The kernels that take an operand from wherever it is."""

KEYS: dict[str, tuple[Kind, tuple[str, ...]]] = {
    "matmul_broadcast": (
        Matmul(True),
        ("f32@L1[0,1,2,1p6]", "f32@L1[0,2,1,2p16]", "f32@VRF[0,1,2]v8"),
    ),
    "matmul_block": (
        Matmul(True),
        ("f32@L1[0,1,2,1p6]", "f32@L1[0,2,1,2p16]", "f32@L1[0,2,1,2p24]"),
    ),
    "matmul_rows": (
        Matmul(True),
        ("f32@L1[0,1,2,1p6]", "f32@L2[0,1,2]!", "f32@L1[0,1,2]"),
    ),
    "matmul_panels": (
        Matmul(True),
        ("f32@L1[0,1,2]", "f32@L2[0,2,1,2p16]", "f32@L1[0,1,2]"),
    ),
    "matmul_axpy": (
        Matmul(True),
        ("f32@L1[0,1,2,1p6]", "f32@L2[0,1,2]", "f32@L1[0,1,2]"),
    ),
    "matmul_axpy_four": (
        Matmul(True),
        ("f32@L1[0,1,2]", "f32@MEM[0,1,2]", "f32@L2[0,1,2]"),
    ),
    "matmul_axpy_ahead": (
        Matmul(True),
        ("f32@L1[0,1,2]", "f32@MEM[0,1,2]", "f32@L2[0,1,2]"),
    ),
    "matmul_axpy_apart": (
        Matmul(True),
        ("f32@L1[0,1,2]", "f32@MEM[0,1,2]!", "f32@L2[0,1,2]"),
    ),
    "matmul_axpy_bf16": (
        Matmul(True),
        ("bf16@L1[0,1,2,1p6]", "bf16@L2[0,1,2]", "f32@L1[0,1,2]"),
    ),
    "matmul_axpy_bf16_ahead": (
        Matmul(True),
        ("bf16@L1[0,1,2]", "bf16@MEM[0,2,1,2p64]", "f32@L1[0,1,2]"),
    ),
    "matmul_axpy_bf16_apart": (
        Matmul(True),
        ("bf16@L1[0,1,2,1p6]", "bf16@MEM[0,2,1,2p16]", "f32@L1[0,1,2]"),
    ),
    "matmul_outer": (
        Matmul(True),
        ("f32@L1[0,1,2]", "f32@L1[0,1,2]", "f32@MEM[0,1,2]"),
    ),
    "matmul_dot": (
        Matmul(True),
        ("f32@MEM[0,1,2]", "f32@MEM[0,1,2]!", "f32@L1[0,1,2]"),
    ),
    "matmul_dot_ahead": (
        Matmul(True),
        ("f32@MEM[0,1,2]", "f32@L1[0,2,1]", "f32@L1[0,1,2]"),
    ),
    "matmul_dot_apart": (
        Matmul(True),
        ("f32@L1[0,1,2]", "f32@MEM[0,2,1]", "f32@L1[0,1,2]"),
    ),
    "matmul_scalar": (Matmul(True), ("s32@L1[0,1,2]",) * 3),
    "matmul_dot_halves": (
        Matmul(True),
        ("f32@L1[0,1,2,2oe16]", "bf16@L1[0,2,1]", "f32@L1[0,1,2]"),
    ),
    "matmul_pairs": (
        Matmul(True),
        ("s16@L1[0,1,2,1p6,2p2]", "s16@L1[0,2,1,2p16,1p2]", "s32@VRF[0,1,2]v8"),
    ),
    "matmul_pairs_float": (
        Matmul(True),
        ("u8w@L1[0,1,2]", "s8z@L2[0,2,1,2p16,1p2]", "s32@L1[0,1,2]"),
    ),
    "matmul_quads": (
        Matmul(True),
        ("u8@L1[0,1,2]", "s7@L1[0,2,1,2p16,1p4]", "s32@VRF[0,1,2]v8"),
    ),
    "matmul_saturating_pairs": (
        Matmul(True, True),
        ("u8@L1[0,1,2,1p6,2p2]", "s8@L1[0,2,1,2p32,1p2]", "s16@VRF[0,1,2]v16"),
    ),
    "matmul_saturating_pairs_wide": (
        Matmul(True, True),
        ("u8@L1[0,1,2,1p4,2p2]", "s8@L1[0,2,1,2p64,1p2]", "s16@VRF[0,1,2]v16"),
    ),
    "matmul_saturating_scalar": (
        Matmul(True, True),
        ("u8@L1[0,1,2]", "s8@L1[0,1,2]", "s16@L1[0,1,2]"),
    ),
    "move_rows": (Move(2), ("f32@L1[0,1]", "f32@L1[0,1,1p16]")),
    "move_transpose": (Move(3), ("f32@L1[0,1,2]", "f32@L1[0,1,2,1p6]")),
    "move_transpose_ahead": (Move(3), ("f32@L2[0,1,2]", "f32@MEM[0,2,1]")),
    "move_interleave": (Move(3), ("s8@L1[0,1,2]", "s16@L1[0,2,1,2p16,1p2]")),
    "move_interleave_quads": (Move(3), ("s7@L1[0,1,2]", "s7@L1[0,2,1,2p16,1p4]")),
    "move_pair_transpose": (Move(3), ("u8@L1[0,1,2]", "s16@L1[0,1,2,1p6,2p2]")),
    "move_odd_even": (Move(2), ("bf16@L1[0,1]", "f32@L1[0,1,1oe16]")),
    "move_load": (Move(2), ("f32@L1[0,1]", _IN_REGISTERS)),
    "move_store": (Move(2), (_IN_REGISTERS, "f32@L1[0,1]")),
    "move_scalar": (Move(2), ("u8@L1[0,1]", "u8@L1[0,1,1oe16]")),
    "fill_rows": (Fill(2), ("bf16@L1[0,1]",)),
    "fill_registers": (Fill(2), (_IN_REGISTERS,)),
    "max_rows": (Max(True), ("f32@L1[0,1]", "f32@L1[0]")),
    "max_columns": (Max(True), ("s32@L1[1,0]", "s32@L1[0]")),
    "max_scalar": (Max(True), ("f32@L1[0,1]", "f32@L1[0]")),
}


def grid(name: str) -> Frame:
    """Every mix of `SIZES`, at every number of free registers."""
    kind, forms = KEYS[name]
    rank = len(kind.dims)
    axes = np.meshgrid(*[np.array(SIZES, np.int64)] * rank, indexing="ij", sparse=True)
    sizes = tuple(axis[..., None] for axis in axes)
    return Frame(
        SpecKey(kind, tuple(map(form, forms))), sizes, Limits(np.arange(17), 512, 256)
    )


def points(name: str, count: int) -> list[tuple[tuple[int, ...], Spec]]:
    """Random places of the grid, and the Spec of each."""
    kind, forms = KEYS[name]
    rng = np.random.default_rng(0)
    found = []
    for _ in range(count):
        # Small sizes more often: those are the ones that kernels take.
        place = tuple(
            int(i)
            for i in np.sort(rng.integers(0, len(SIZES), (len(kind.dims), 3)))[:, 0]
        )
        vrf = int(rng.integers(0, 17))
        sizes = tuple(SIZES[i] for i in place)
        limits = Limits(vrf, 512, 256)
        found.append(
            ((*place, vrf), Spec(kind, sizes, tuple(map(form, forms)), limits))
        )
    return found


def test_the_table_names_every_kernel() -> None:
    of_targets = {name for target in TARGETS.values() for name in target.kernels}
    assert set(KEYS) == set(KERNELS) == of_targets


@pytest.mark.parametrize("name", KEYS)
def test_arrays_give_what_single_specs_give(name: str) -> None:
    kernel, frame = KERNELS[name], grid(name)
    shape = np.broadcast_shapes(*(np.shape(s) for s in frame.sizes), (17,))
    costs = np.broadcast_to(kernel.cost(frame, AVX2.coefficients), shape)
    assert np.issubdtype(costs.dtype, np.integer)
    assert np.all(costs > 0)
    conditions = kernel.conditions(frame)
    holds = [np.broadcast_to(c.holds, shape) for c in conditions]
    for place, spec in points(name, 200):
        one = Frame.of(spec)
        assert kernel.accepts(spec.key)
        assert kernel.cost(one, AVX2.coefficients) == costs[place]
        single = [bool(c.holds) for c in kernel.conditions(one)]
        assert single == [bool(h[place]) for h in holds]
    assert np.any(np.logical_and.reduce(holds))


@pytest.mark.parametrize("name", KEYS)
def test_every_condition_can_fail_and_says_what_to_do(name: str) -> None:
    for condition in KERNELS[name].conditions(grid(name)):
        assert not np.all(condition.holds)
        assert condition.text.startswith(("needs ", "takes "))


@pytest.mark.parametrize("name", sorted(set(KEYS) - set(STREAMING)))
def test_no_other_kernel_takes_operands_beyond_l1(name: str) -> None:
    kind, forms = KEYS[name]
    far = tuple(
        form(f.replace("@L1", "@L2").replace("@VRF[0,1]v8", "@MEM[0,1]")) for f in forms
    )
    assert not KERNELS[name].accepts(SpecKey(kind, far))


@pytest.mark.parametrize("name", KEYS)
def test_no_kernel_takes_another_kind(name: str) -> None:
    for kind, forms in KEYS.values():
        if type(kind) is not type(KEYS[name][0]):
            key = SpecKey(kind, tuple(map(form, forms)))
            assert not KERNELS[name].accepts(key)


def test_more_chains_cost_less_a_product() -> None:
    """8 chains wait for the latency, 12 fill both ports: 6x16 beats 4x16."""
    kind, forms = KEYS["matmul_broadcast"]
    tensors = tuple(map(form, forms))

    def cost(m: int) -> float:
        frame = Frame.of(Spec(kind, (1, m, 256, 16), tensors, AVX2.limits))
        total: int = KERNELS["matmul_broadcast"].cost(frame, AVX2.coefficients)
        return total / m

    assert cost(6) <= cost(4) < cost(2)


def test_lines_of_rhs_are_not_cheaper_beyond_l2() -> None:
    """In a goal that stays in L2 they cost the same, hidden by sums of rows or not."""
    kernel, kind = KERNELS["matmul_axpy"], Matmul(False)
    c = TARGETS["avx2-golden-cove"].coefficients

    def cost(m: int, rhs: str, near: bool) -> int:
        forms = "f32@L1[0,1,2]", f"f32@{rhs}[0,1,2]", "f32@L2[0,1,2]"
        given = Spec(kind, (1, m, 300, 16), tuple(map(form, forms)), AVX2.limits)
        total: int = kernel.cost(Frame.of(given), c.in_l2() if near else c)
        return total

    for m in (1, 3, 4, 6):
        assert cost(m, "L2", True) == cost(m, "MEM", True) < cost(m, "MEM", False)


def test_lines_that_transposes_ask_for_are_paid() -> None:
    """Each line of dst once; those of src where they lie; both where rows crowd."""
    kernel, c = KERNELS["move_transpose_ahead"], AVX2.coefficients

    def cost(rows: int, src: str, crowded: bool) -> int:
        forms = tuple(map(form, (f"f32@{src}[0,1]", "f32@MEM[1,0]")))
        given = Spec(Move(2), (rows, 16), forms, AVX2.limits)
        prices = c if crowded else c.uncrowded()
        total: int = kernel.cost(Frame.of(given), prices)
        return total

    crowds = c.crowd_l1 + c.crowd_l2
    for rows in (64, 1000):
        lines = 16 * -(-rows // 16)
        near = cost(rows, "L1", False)
        assert cost(rows, "L1", True) - near == lines * crowds
        assert cost(rows, "L2", False) - near == rows * (c.line_l2 + c.row_l2)
        far = rows * (c.line_gl + c.line_l2 + c.row_gl)
        assert cost(rows, "MEM", False) - near == far
        assert cost(rows, "MEM", True) - near == far + (rows + lines) * crowds
    written = c.store_gl + c.store_l2 + c.prefetch
    more = cost(320, "L1", False) - cost(160, "L1", False)
    blocks = 2 * 20 * max(8 * c.load, 24 * c.shuffle, 8 * c.store)
    assert more == 160 * written + blocks + 10 * c.loop_trip


def test_dot_products_pay_for_loads_from_two_lines() -> None:
    """Rows whose bytes are no multiple of a line, and rows with gaps, which may lie
    anywhere; nothing where rows are whole lines one after another."""
    dear = dataclasses.replace(AVX2.coefficients, split_load=1000)

    def paid(k: int, gapless: str) -> int:
        forms = f"f32@L1[0,1,2]{gapless}", "f32@L1[0,2,1]!", "f32@L1[0,1,2]"
        kernel, tensors = KERNELS["matmul_dot"], tuple(form(text) for text in forms)
        key = SpecKey(Matmul(False), tensors)
        frame = Frame(key, (1, 5, k, 2), AVX2.limits)
        return int(kernel.cost(frame, dear) - kernel.cost(frame, AVX2.coefficients))

    assert paid(64, "!") == 0
    assert paid(60, "!") > 0
    assert 0 < paid(64, "") < paid(60, "!")


def test_loads_from_two_lines_cost_less_where_a_goal_is_in_l2() -> None:
    c = AVX2_GOLDEN_COVE.coefficients
    assert c.in_l2().split_load == c.split_l2 < c.split_load == c.in_dram().split_load


def test_products_of_quads_pay_for_loads_where_no_port_is_idle() -> None:
    """4 rows of 16 columns take 6 loads for 8 vectors of sums, 8 rows of 8 take 9."""
    forms = "u8@L1[0,1,2]", "s7@L1[0,2,1,2p16,1p4]", "s32@VRF[0,1,2]v8"
    key = SpecKey(Matmul(True), tuple(map(form, forms)))

    def cost(m: int, n: int, dispatch: int) -> int:
        c = dataclasses.replace(AVX2_GOLDEN_COVE.coefficients, dispatch=dispatch)
        frame = Frame(key, (1, m, 128, n), AVX2.limits)
        return int(KERNELS["matmul_quads"].cost(frame, c))

    assert cost(8, 8, 0) == cost(4, 16, 0)
    assert cost(8, 8, 300) - cost(4, 16, 300) == 32 * 3 * 300
    shipped = AVX2_GOLDEN_COVE.coefficients.dispatch
    assert cost(8, 8, shipped) > cost(4, 16, shipped)


def test_panels_are_offered_to_the_search() -> None:
    kind, forms = KEYS["matmul_broadcast"]
    kernel = KERNELS["matmul_broadcast"]
    key = SpecKey(kind, tuple(map(form, forms)))
    offered = {i: list(map(str, kernel.layouts(key, i))) for i in range(3)}
    assert offered == {
        0: ["[0,1,2,1p4]", "[0,1,2,1p6]"],
        1: ["[0,2,1,2p16]", "[0,2,1,2p24]"],
        2: [],
    }
    assert kernel.register_operands(key) == (2,)
    assert KERNELS["max_rows"].layouts(key, 0) == ()
    assert KERNELS["max_rows"].register_operands(key) == ()


def test_two_kernels_of_one_name_are_an_error() -> None:
    twice: list[Kernel] = [KERNELS["max_rows"], KERNELS["max_rows"]]
    with pytest.raises(ValueError, match="two kernels are called 'max_rows'"):
        by_name(twice)
