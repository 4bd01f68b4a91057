"""What the search relies on: costs and conditions over arrays, and their reasons."""

import functools

import numpy as np
import pytest

from morello.kernels import KERNELS, Kernel, by_name
from morello.machine import TARGETS
from morello.machine.targets.avx2 import AVX2
from morello.spec import L1, L2, VRF, Matmul, Spec, SpecKey
from morello.spec.frame import Frame
from tests.kernels import code
from tests.kernels.accepted import accepted
from tests.kernels.costs import grid, key_of, points
from tests.kernels.harness import form, limits_of, price
from tests.tables import check_table

PANELS = SpecKey(
    Matmul(True),
    (form("f32@L1[0,1,2,1p6]"), form("f32@L1[0,2,1,2p16]"), form("f32@VRF[0,1,2]v8")),
)
"""What a register tile is multiplied from."""

NEAR = (VRF, L1)


def test_every_kernel_is_a_targets() -> None:
    of_targets = {name for target in TARGETS.values() for name in target.kernels}
    assert set(accepted()) == set(KERNELS) == of_targets


@pytest.mark.parametrize("name", KERNELS)
def test_arrays_give_what_single_specs_give(name: str) -> None:
    kernel, frame = KERNELS[name], grid(key_of(name), name)
    shape = np.broadcast_shapes(
        *(np.shape(s) for s in frame.sizes), (kernel.isa.registers + 1,)
    )
    costs = np.broadcast_to(price(kernel, frame), shape)
    assert np.issubdtype(costs.dtype, np.integer)
    assert np.all(costs > 0)
    conditions = kernel.conditions(frame)
    holds = [np.broadcast_to(c.holds, shape) for c in conditions]
    for place, spec in points(name, 60):
        one = Frame.of(spec)
        assert price(kernel, one) == costs[place]
        single = [bool(c.holds) for c in kernel.conditions(one)]
        assert single == [bool(h[place]) for h in holds]


def test_conditions_say_what_to_do() -> None:
    """`key_of` has made sure that each can fail, and that all can be fulfilled."""
    for name, kernel in KERNELS.items():
        for condition in kernel.conditions(grid(key_of(name), name)):
            assert condition.text.startswith(("needs ", "takes ")), name


@pytest.mark.parametrize("name", KERNELS)
def test_operands_beyond_l1_are_counted(name: str) -> None:
    """A kernel that reads lines where they lie says so: else they would be free."""
    keys = accepted()[name]
    beyond = {
        key: {i for i, t in enumerate(key.tensors) if t.level not in NEAR}
        for key in keys
    }
    if not any(beyond.values()):
        pytest.skip("all operands of this kernel are near")
    for key, far in beyond.items():
        frame = Frame(key, (1,) + (8,) * (len(key.kind.dims) - 1), AVX2.limits)
        phases = KERNELS[name].op_counts(frame).phases
        assert far <= {lines.operand for phase in phases for lines in phase.lines}


def test_no_kernel_takes_another_kind() -> None:
    keys = [key_of(name) for name in KERNELS]
    for name, kernel in KERNELS.items():
        kinds = {type(key.kind) for key in accepted()[name]}
        for key in keys:
            assert type(key.kind) in kinds or not kernel.accepts(key), name


def test_what_kernels_say_and_write_is_as_listed() -> None:
    check_table(code.FILE, code.table(), code.__name__)


def test_more_chains_cost_less_a_product() -> None:
    """8 chains wait for the latency, 12 fill both ports: 6x16 beats 4x16."""

    def cost(m: int) -> float:
        frame = Frame.of(
            Spec(PANELS.kind, (1, m, 256, 16), PANELS.tensors, AVX2.limits)
        )
        total: int = price("gemm_registers", frame)
        return total / m

    assert cost(6) <= cost(4) < cost(2)


def test_panels_are_offered_to_the_search() -> None:
    kernel = KERNELS["gemm_registers"]
    offered = {i: list(map(str, kernel.layouts(PANELS, i))) for i in range(3)}
    assert offered == {0: ["[0,1,2,1p6]"], 1: ["[0,2,1,2p16]"], 2: []}
    assert kernel.register_operands(PANELS) == (2,)
    assert KERNELS["reduce_rows"].layouts(PANELS, 0) == ()
    assert KERNELS["reduce_rows"].register_operands(PANELS) == ()


def test_two_kernels_of_one_name_are_an_error() -> None:
    twice: list[Kernel] = [KERNELS["reduce_rows"], KERNELS["reduce_rows"]]
    with pytest.raises(ValueError, match="two kernels are called 'reduce_rows'"):
        by_name(twice)


def test_only_the_caches_that_are_said_decide() -> None:
    """The search does not keep apart what is left of others: `Kernel.levels_needed`.
    L1 decides besides where something beyond it may move there."""
    for name, keys in accepted().items():
        kernel, limits = KERNELS[name], limits_of(name)
        for key in keys:
            needed = kernel.levels_needed(key)
            if any(t.level.is_main or t.level is L2 for t in key.tensors):
                needed |= {L1}
            others = set(AVX2.caches) - needed
            empty = functools.reduce(lambda left, c: left.replace(c, 0), others, limits)
            sizes = (1, 2, 1024, 4099)[: len(key.kind.dims)]
            said, alone = (
                [(c.text, bool(c.holds)) for c in kernel.conditions(frame)]
                for frame in (Frame(key, sizes, limits), Frame(key, sizes, empty))
            )
            assert said == alone, (name, key)
