"""`morello.compile` and the kernels that it returns."""

import ast

import numpy as np
import pytest

import morello
from morello import errors
from morello.errors import (
    ArgumentError,
    ScheduleError,
)
from morello.machine import AVX2
from morello.spec import parse_spec
from tests.tables import rows

pytestmark = pytest.mark.usefixtures("one_database")

SMALL = ("matmul:7x8x16", "fill:5x5:s32", "max:9x70", "move:13x21:f32:dst=[1,0]")


@pytest.mark.parametrize("text", SMALL)
def test_the_price_of_the_schedule_is_the_cost_of_the_search(text: str) -> None:
    kernel = morello.compile(text)
    assert kernel.solution is not None
    assert kernel.cost() == kernel.solution.impl.cost > 0


@pytest.mark.parametrize(
    ("text", "target"),
    [
        pytest.param("max:4096x4096", "avx2", id="from DRAM"),
        pytest.param("max:9x70", "avx2-golden-cove", id="in L2"),
    ],
)
def test_the_price_of_the_schedule_knows_where_operands_are(
    text: str, target: str
) -> None:
    kernel = morello.compile(text, target=target)
    assert kernel.solution is not None
    assert kernel.cost() == kernel.solution.impl.cost
    again = morello.compile(text, target=target, schedule=kernel.schedule)
    assert again.cost() == kernel.cost()


@pytest.mark.parametrize("text", SMALL)
def test_a_printed_schedule_gives_the_same_bytes_and_cost(text: str) -> None:
    kernel = morello.compile(text)
    again = morello.compile(text, schedule=kernel.schedule)
    assert again.solution is None
    assert again.impl is None
    assert again.object == kernel.object
    assert again.cost() == kernel.cost()


def test_every_stage_is_text_that_names_what_it_holds() -> None:
    kernel = morello.compile("matmul:7x8x16")
    assert "morello_transform.select" in kernel.schedule
    assert "math.fma" in kernel.mlir
    assert "define void @matmul_7x8x16_f32" in kernel.llvm
    assert "vfmadd" in kernel.asm
    assert kernel.object[:4] == b"\x7fELF"
    assert repr(kernel) == "<kernel matmul:7x8x16:f32 for avx2, 1 thread>"


def test_arrays_come_with_or_without_the_batch() -> None:
    kernel = morello.compile("matmul:7x8x16")
    rng = np.random.default_rng(1)
    lhs, rhs = kernel.spec.random(rng)
    expected = kernel.spec.evaluate(lhs, rhs)
    assert np.array_equal(kernel(lhs, rhs), expected)
    flat = kernel(lhs[0], rhs[0])
    assert flat.shape == (7, 16)
    out = np.empty((7, 16), np.float32)
    assert kernel(lhs[0], rhs[0], out=out) is out
    assert np.array_equal(out, expected[0])


def test_an_accumulating_kernel_adds_to_the_given_output() -> None:
    kernel = morello.compile("matmul_accum:3x4x8:s32")
    lhs, rhs, out = kernel.spec.random(np.random.default_rng(2))
    expected = kernel.spec.evaluate(lhs, rhs, out)
    assert np.array_equal(kernel(lhs, rhs, out=out), expected)
    with pytest.raises(ArgumentError, match="adds to what it holds"):
        kernel(lhs, rhs)


@pytest.mark.parametrize(
    ("arguments", "error", "message"), rows(__file__, "wrong_arguments")
)
def test_wrong_arguments_of_compile_are_refused(
    arguments: str, error: str, message: str
) -> None:
    with pytest.raises(getattr(errors, error), match=message):
        morello.compile(**ast.literal_eval(arguments))


def test_a_schedule_for_another_spec_is_refused() -> None:
    schedule = morello.compile("fill:5x5").schedule
    with pytest.raises(ScheduleError, match=r"for another Spec than fill:5x6"):
        morello.compile("fill:5x6", schedule=schedule)


def test_a_schedule_of_two_functions_is_refused() -> None:
    schedule = morello.compile("fill:5x5").schedule
    more = schedule.replace(
        "  transform.named", "  func.func private @g()\n  transform.named", 1
    )
    with pytest.raises(ScheduleError, match="has 2 functions"):
        morello.compile("fill:5x5", schedule=more)


def test_a_schedule_with_an_illegal_action_says_which_and_why() -> None:
    schedule = morello.compile("fill:5x5").schedule
    wrong = schedule.replace('kernel = "fill_rows"', 'kernel = "copy_rows"')
    with pytest.raises(ScheduleError, match=r"select.*copy_rows.*fill_rows"):
        morello.compile("fill:5x5", schedule=wrong)


def test_a_spec_value_is_taken_as_its_text_is() -> None:
    spec = parse_spec("fill:3x3", AVX2.limits)
    assert morello.compile(spec, target=AVX2).spec == spec
