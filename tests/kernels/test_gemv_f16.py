"""The matmul kernels of few rows whose rhs is f16, or bytes that become f32."""

import itertools

import pytest

from morello.spec import Matmul, Spec
from tests.kernels.harness import (
    TWIN,
    Case,
    check_random,
    legal_cases,
    limits_of,
    spec,
)
from tests.kernels.test_assembly import assembly, loops, opcodes, touches_stack
from tests.kernels.test_gemv import products_of

ROWS, COLUMNS = "[0,1,2]", "[0,2,1]"


def product(
    name: str,
    sizes: tuple[int, ...],
    lhs: str = "f32",
    rhs: str = f"MEM{ROWS}",
    accum: bool = True,
    narrow: str = "f16",
) -> Spec:
    forms = f"{lhs}@L1{ROWS}", f"{narrow}@{rhs}", f"f32@L1{ROWS}"
    return spec(Matmul(accum), sizes, *forms, limits=limits_of(name))


@pytest.mark.parametrize("isa", ["", "_512"])
@pytest.mark.parametrize(("lhs", "accum"), [("f16", True), ("f32", False)])
def test_rows_are_exact_at_edge_sizes(lhs: str, accum: bool, isa: str) -> None:
    sizes = [(1, 1, 9, n) for n in TWIN] + [(1, m, 9, 75) for m in range(2, 9)]
    sizes += [(1, m, k, 40) for m in (1, 2) for k in (1, 8, 15, 16, 17, 40)]
    name = f"gemv_axpy_f16{isa}"
    given = [product(name, s, lhs, accum=accum) for s in dict.fromkeys(sizes)]
    cases = legal_cases(name, tuple(given))
    assert len(cases) == len(given) - (0 if isa else 6)  # registers for two rows
    check_random(cases)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("isa", ["", "_512"])
@pytest.mark.parametrize(("lhs", "accum"), [("f16", True), ("f32", False)])
def test_rows_that_ask_ahead_are_exact(lhs: str, accum: bool, isa: str) -> None:
    sizes = itertools.product((1,), (1, 2), (8, 13, 16), (1024, 1031, 1100))
    name = f"gemv_axpy_f16_rows{isa}"
    given = tuple(product(name, s, lhs, accum=accum) for s in sizes)
    cases = legal_cases(name, given)
    assert len(cases) == len(given)
    check_random(cases)


@pytest.mark.parametrize("isa", ["", "_512"])
@pytest.mark.parametrize(
    ("lhs", "narrow", "accum"),
    [("f16", "f16", True), ("f32", "f16", False), ("f32", "s8", False),
     ("f32", "u8", True), ("u8", "s8", False)],
)  # fmt: skip
def test_columns_are_exact_at_edge_sizes(
    lhs: str, narrow: str, accum: bool, isa: str
) -> None:
    sizes = [(1, 1, k, 9) for k in TWIN] + [(1, 2, k, 5) for k in (7, 31, 33, 100)]
    sizes += [(1, 1, 37, n) for n in (1, 7, 8, 17)] + [(1, 9, 37, 1)]
    name = f"gemv_dot{isa}"
    given = [product(name, s, lhs, f"MEM{COLUMNS}", accum, narrow) for s in sizes]
    check_random(Case(name, s) for s in given)


@pytest.mark.parametrize(
    ("name", "rhs"), [("gemv_axpy_f16", f"MEM{ROWS}"), ("gemv_dot", f"MEM{COLUMNS}")]
)
@pytest.mark.parametrize("lhs", ["f16", "f32"])
def test_f16_is_widened_by_instructions(name: str, rhs: str, lhs: str) -> None:
    """No function is called, and no element is widened by itself in the loop."""
    text = assembly(name, product(name, (1, 1, 512, 512), lhs, rhs))
    body = max(loops(text), key=lambda one: opcodes(one)["vcvtph2ps"])
    found = opcodes(body)
    assert found["vcvtph2ps"] >= products_of(found) >= 16
    assert not touches_stack(body)
    assert not any("call" in line or "hf2" in line for line in text)
