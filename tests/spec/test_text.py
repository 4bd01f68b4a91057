"""The text form of Specs."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.errors import SpecError
from morello.spec import (
    L2,
    MEM,
    Dtype,
    Fill,
    Layout,
    Limits,
    Matmul,
    Spec,
    parse_spec,
    print_spec,
)
from tests.spec.strategies import LIMITS, specs
from tests.tables import rows

pytestmark = pytest.mark.quick

HAVE = Limits.of(vrf=16, l1=512, l2=16384)


@given(specs(), LIMITS)
def test_round_trip(spec: Spec, limits: Limits) -> None:
    assert parse_spec(print_spec(spec, limits), limits) == spec


@given(st.text(max_size=40))
def test_any_text_is_a_spec_or_is_refused(text: str) -> None:
    for candidate in (text, f"matmul:{text}", f"fill:8:{text}", f"move:8:s32:{text}"):
        with contextlib.suppress(SpecError):
            spec = parse_spec(candidate, HAVE)
            assert parse_spec(print_spec(spec, HAVE), HAVE) == spec


@pytest.mark.parametrize(
    "text",
    [
        "matmul:512x512x512:f32",
        "matmul:2x512x512x512:s32",
        "matmul:1x2048x16384:bf16,bf16,f32",
        "matmul_accum:4x5x6:u8,s8,s16:rhs=[0,2,1]:out=[0,1,2]@L1:l1=64",
        "move:8x16:f32:src=[0,1]@L1/strided:dst=[0,1]@VRFv8",
        "move:4:u16",
        "max:3x4:s32:x0=[1,0]",
        "max_accum:3x4:f32:vrf=4:l1=0:l2=1",
        "fill:9:bf16:value=lowest:out=[0,0oe4]@L2",
        "matmul:8x8x8:f32:serial=false",
    ],
)
def test_the_shortest_text_is_printed(text: str) -> None:
    assert print_spec(parse_spec(text, HAVE), HAVE) == text


def test_what_is_left_out() -> None:
    spec = parse_spec("  matmul:1x4x5x6 ", HAVE)
    assert spec == parse_spec("matmul:4x5x6:f32", HAVE)
    assert spec.kind == Matmul()
    assert spec.sizes == (1, 4, 5, 6)
    assert spec.dtypes == (Dtype.F32,) * 3
    assert spec.limits == HAVE
    assert all(t.contiguous and t.level is MEM for t in spec.tensors)


def test_options() -> None:
    spec = parse_spec("fill:4x8:s8:out=[1,0]@L2:value=lowest:l2=5:vrf=1", HAVE)
    assert spec.kind == Fill(2, "lowest")
    assert spec.tensors[0].layout == Layout.parse("[1,0]")
    assert spec.tensors[0].level is L2
    assert spec.limits == Limits.of(vrf=1, l1=512, l2=5)


@pytest.mark.parametrize(("text", "message"), rows(__file__, "refused_texts"))
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        parse_spec(text.replace("NINES", "9" * 5000), HAVE)
