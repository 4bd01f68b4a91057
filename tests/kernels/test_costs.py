"""What the search relies on: costs and conditions over arrays, and their reasons."""

import numpy as np
import pytest

from morello.kernels import KERNELS, Kernel, by_name
from morello.machine import TARGETS
from morello.machine.avx2 import AVX2
from morello.spec import Fill, Kind, Limits, Matmul, Max, Move, Spec, SpecKey
from morello.spec.frame import Frame
from tests.kernels.harness import form, price

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
    costs = np.broadcast_to(price(kernel, frame), shape)
    assert np.issubdtype(costs.dtype, np.integer)
    assert np.all(costs > 0)
    conditions = kernel.conditions(frame)
    holds = [np.broadcast_to(c.holds, shape) for c in conditions]
    for place, spec in points(name, 200):
        one = Frame.of(spec)
        assert kernel.accepts(spec.key)
        assert price(kernel, one) == costs[place]
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
        total: int = price("matmul_broadcast", frame)
        return total / m

    assert cost(6) <= cost(4) < cost(2)


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
