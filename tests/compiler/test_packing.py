"""Layouts that the search chooses for constant operands, and packed arrays."""

import numpy as np
import pytest

import morello
from morello.actions.copies.forms import asked_forms, forms_beforehand
from morello.errors import ArgumentError, CompileError
from morello.machine import AVX2
from morello.machine.targets.avx2_zen3 import AVX2_ZEN3
from morello.search import Patience, Solver, best_program, best_settled
from morello.spec import Layout, Spec, parse_open_spec, parse_spec

pytestmark = pytest.mark.usefixtures("one_database")

OPEN = "matmul:16x64x160:f32:rhs=any"
LARGE = "matmul:6x256x1024:f32:rhs=any"
"""So large that the search takes panels."""
FORMS = ("[0,1,2]", "[0,2,1,2p16]", "[0,2,1,2p24]")


def settled(form: str) -> Spec:
    return parse_spec(LARGE.replace("any", form), AVX2.limits)


@pytest.mark.sampled(5)
def test_the_choice_costs_no_more_than_any_layout() -> None:
    goal = parse_open_spec(LARGE, AVX2.limits)
    spec, solution = best_settled(goal, AVX2)
    solver = Solver(AVX2.at(goal.spec))
    costs = {form: solver.solve(settled(form)).impl.cost for form in FORMS}
    assert solution.complete
    assert solution.impl.cost <= min(costs.values())
    assert solution.impl.cost < costs["[0,1,2]"]
    assert solution.impl == solver.solve(spec).impl


@pytest.mark.sampled(2)
def test_packed_weights_are_used_again_and_again() -> None:
    kernel = morello.compile(LARGE)
    assert not kernel.spec.tensors[1].layout.is_row_major
    rng = np.random.default_rng(1)
    rhs = rng.integers(-4, 5, (256, 1024)).astype(np.float32)
    packed = kernel.pack(rhs)
    assert packed.flags.c_contiguous
    for transposed in (np.asfortranarray(rhs), rhs[None]):
        assert kernel.pack(transposed).tobytes() == packed.tobytes()
    for _ in range(2):
        lhs = rng.integers(-4, 5, (6, 256)).astype(np.float32)
        assert np.array_equal(kernel(lhs, packed), lhs @ rhs)


def test_an_operand_is_named_where_several_are_packed() -> None:
    kernel = morello.compile("matmul:16x64x160:f32:lhs=any:rhs=any")
    rng = np.random.default_rng(2)
    lhs, rhs = (
        rng.integers(-4, 5, s).astype(np.float32) for s in ((16, 64), (64, 160))
    )
    out = kernel(kernel.pack(lhs, "lhs"), kernel.pack(rhs, operand="rhs"))
    assert np.array_equal(out.reshape(16, 160), lhs @ rhs)
    with pytest.raises(ArgumentError, match=r"'operand' is left out, and .* 2 have"):
        kernel.pack(lhs)


def test_a_given_layout_is_packed_too() -> None:
    kernel = morello.compile("matmul:3x8x40:f32:rhs=[0,2,1]")
    rhs = np.arange(320, dtype=np.float32).reshape(8, 40)
    assert np.array_equal(kernel.pack(rhs), rhs.T)
    several = morello.compile("matmul:2x3x8x4:f32:rhs=[0,2,1]")
    with pytest.raises(ArgumentError, match=r"'rhs' has 2 dimensions, .* 3"):
        several.pack(rhs[:, :4].copy())
    plain = morello.compile("max:9x70")
    with pytest.raises(ArgumentError, match="of the inputs none have layouts"):
        plain.pack(rhs)


@pytest.mark.parametrize(
    ("array", "operand", "message"),
    [
        (np.zeros((160, 64), np.float32), None, r"'rhs' has shape \(160, 64\)"),
        (np.zeros((64, 160)), None, "'rhs' has dtype float64"),
        ([[1.0]], None, "'rhs' is not a NumPy array but a list"),
        (np.zeros((64, 160), np.float32), "out", "'out', which is no input of matmul"),
        (np.zeros((64, 160), np.float32), 3, "3, which is no input of matmul"),
    ],
)
def test_wrong_operands_to_pack_are_refused(
    array: object, operand: object, message: str
) -> None:
    kernel = morello.compile(OPEN)
    with pytest.raises(ArgumentError, match=message):
        kernel.pack(array, operand)  # type: ignore[arg-type]


def test_columns_are_a_layout_for_packing_beforehand_alone() -> None:
    """Bringing rhs to columns costs more than a product of one row is worth."""
    goal = parse_open_spec(
        "matmul:1x2048x16384:bf16,bf16,f32:rhs=any", AVX2_ZEN3.limits
    )
    columns = Layout.parse("[0,2,1]")
    asked = asked_forms(goal.spec.key, 1, AVX2_ZEN3)
    beforehand = forms_beforehand(goal.spec.key, 1, AVX2_ZEN3)
    assert asked
    assert columns not in {form.layout for form in asked}
    assert columns in {form.layout for form in beforehand}


def test_a_given_schedule_needs_settled_layouts() -> None:
    schedule = morello.compile("matmul:16x64x160:f32").schedule
    with pytest.raises(CompileError, match="a layout is left open"):
        morello.compile(OPEN, schedule=schedule)


def test_a_search_that_is_stopped_compares_what_it_has() -> None:
    goal = parse_open_spec("matmul:16x64x176:f32:rhs=any", AVX2.limits)
    spec, solution = best_settled(goal, AVX2, patience=Patience(0.0))
    assert spec == goal.spec
    assert not solution.complete
    assert solution.impl.spec == spec
    assert solution.impl.cost >= best_program(spec, AVX2).impl.cost
