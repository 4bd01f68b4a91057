"""Specs that leave layouts to the search."""

import pytest

from morello.errors import SpecError
from morello.spec import Layout, Limits, OpenSpec, parse_open_spec, parse_spec
from morello.spec import print_open_spec as printed

pytestmark = pytest.mark.quick

HAVE = Limits.of(vrf=16, l1=512, l2=16384)
MATMUL = parse_spec("matmul:4x5x6:f32", HAVE)


@pytest.mark.parametrize(
    "text",
    [
        "matmul:4x5x6:f32",
        "matmul:4x5x6:f32:rhs=any",
        "matmul:2x4x5x6:f32:lhs=any:rhs=any",
        "matmul:4x5x6:f32:rhs=[0,2,1]/any",
        "matmul:1x2048x16384:bf16,bf16,f32:l1=64:rhs=any",
    ],
)
def test_text_round_trip(text: str) -> None:
    assert printed(parse_open_spec(text, HAVE), HAVE) == text


def test_operands_of_graphs_that_are_products_may_be_open() -> None:
    text = "compose:4x6x5:f32:graph=y[m,n]=sum(a[m,k]*w[n,k]):x1=any"
    text_again = printed(parse_open_spec(text, HAVE), HAVE)
    assert text_again == "matmul:4x5x6:f32:rhs=[0,2,1]/any"


def test_open_operands_are_named_in_any_order() -> None:
    one = parse_open_spec("matmul:4x5x6:rhs=any:lhs=any", HAVE)
    assert one == OpenSpec(MATMUL, (0, 1))
    assert not one.is_settled
    assert parse_open_spec("matmul:4x5x6", HAVE).is_settled


def test_settled_layouts_stand_in_the_order_of_the_operands() -> None:
    goal = parse_open_spec("matmul:4x5x6:f32:lhs=any:rhs=any", HAVE)
    layouts = (Layout.parse("[0,1,2,1p2]"), Layout.parse("[0,2,1]"))
    settled = parse_spec("matmul:4x5x6:f32:lhs=[0,1,2,1p2]:rhs=[0,2,1]", HAVE)
    assert goal.settled(layouts) == settled
    with pytest.raises(ValueError, match="zip"):
        goal.settled(layouts[:1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("matmul:4x5x6:out=any", "operand 'out' is written, so its layout"),
        (
            " matmul:4x5x6:x=any",
            "Spec column 15: 'x' in the Spec .* is no operand of matmul",
        ),
        ("matmul:4x5x6:rhs=any:rhs=any", "option 'rhs' is given twice"),
        ("matmul:4x5x6:rhs=[0,2,1]:rhs=any", "option 'rhs' is given twice"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        parse_open_spec(text, HAVE)


def test_an_open_operand_has_no_form_of_its_own() -> None:
    spec = parse_spec("matmul:4x5x6:rhs=[0,2,1]/strided", HAVE)
    with pytest.raises(SpecError, match=r"'rhs' is open and has the form f32@MEM"):
        OpenSpec(spec, (1,))


def test_a_settled_spec_has_no_any() -> None:
    with pytest.raises(SpecError, match="'any' is not a form of the operand 'rhs'"):
        parse_spec("matmul:4x5x6:rhs=any", HAVE)
