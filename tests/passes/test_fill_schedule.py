"""Schedules that are continued: by which handle, and what is refused where."""

import re

import pytest

from morello.dialect.build import spec_of
from morello.machine import AVX2
from morello.mlir import ir
from morello.passes.apply_schedule import ApplySchedule
from morello.passes.base import PassFailure
from morello.passes.fill_schedule import fill_schedule
from morello.search import Impl, best_program

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("known_dialects")]

FUNCTIONS = """
#limits = #morello.limits<"vrf=16,l1=512,l2=8192">
#g1 = #morello.tensor<"f32", "MEM", #morello.layout<"[0]">, true, 0>
module attributes {transform.with_named_sequence} {
  func.func @f(%a: memref<SIZExf32>, %b: memref<8xf32>) {
    "morello.fill"(%a) {limits = #limits, rank = 1 : i64, serial = true, sizes = array<i64: SIZE>, tensors = [#g1], value = "zero"} : (memref<SIZExf32>) -> ()
    "morello.fill"(%b) {limits = #limits, rank = 1 : i64, serial = true, sizes = array<i64: 8>, tensors = [#g1], value = "zero"} : (memref<8xf32>) -> ()
    return
  }
"""  # noqa: E501
MATCH = '%0 = transform.structured.match ops{["morello.fill"]} in %root : (!transform.any_op) -> !transform.any_op'  # noqa: E501
ENTRY = """
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    BODY
    transform.yield
  }
}
"""  # noqa: E501
INCLUDED = """
  transform.named_sequence @rest(%own: !transform.any_op {transform.consumed}) {
    transform.yield
  }
"""
INCLUDE = f"""{MATCH}
    transform.include @rest failures(propagate) (%0) : (!transform.any_op) -> ()"""
EACH = f"""{MATCH}
    transform.foreach %0 : !transform.any_op {{
    ^bb0(%one: !transform.any_op):
      transform.yield
    }}"""


def filled(text: str) -> tuple[int, list[str], ir.Module]:
    """How many handles are continued, the Specs whose program is asked for, and the
    module."""
    module, asked = ir.Module.parse(text), []

    def program(op: ir.Operation) -> Impl:
        asked.append(str(spec_of(op).sizes))
        return best_program(spec_of(op), AVX2).impl

    return fill_schedule(module.operation, program), asked, module


@pytest.mark.parametrize(
    ("included", "body"), [("", MATCH), (INCLUDED, INCLUDE), ("", EACH)]
)
def test_equal_specs_in_one_handle_get_one_program(included: str, body: str) -> None:
    text = FUNCTIONS.replace("SIZE", "8") + included + ENTRY.replace("BODY", body)
    count, asked, module = filled(text)
    assert (count, asked) == (1, ["(8,)"])
    ApplySchedule().run(module.operation)
    assert "morello.fill" not in str(module)
    assert "morello.kernel" in str(module)


@pytest.mark.parametrize(
    ("included", "body", "place"),
    [
        ("", MATCH, MATCH),
        (INCLUDED, INCLUDE, "transform.named_sequence @rest"),
        ("", "", '"morello.fill"(%a)'),
    ],
)
def test_what_has_no_program_of_its_own_is_refused_where_it_is_defined(
    included: str, body: str, place: str
) -> None:
    text = FUNCTIONS.replace("SIZE", "9") + included + ENTRY.replace("BODY", body)
    with pytest.raises(PassFailure) as caught:
        filled(text)
    line = text[: text.index(place)].count("\n") + 1
    assert f'"-":{line}:' in str(caught.value.location)
    what = r"one handle is left with 2 different Specs.*write a seq"
    assert re.search(
        what if body else "and no handle to go on from; keep a", str(caught.value)
    )


def test_specs_of_handles_of_their_own_get_programs_of_their_own() -> None:
    text = FUNCTIONS.replace("SIZE", "9") + ENTRY.replace("BODY", EACH)
    with pytest.raises(PassFailure, match="2 different Specs"):
        filled(text)
    split = f"""{MATCH}
    %1:2 = transform.split_handle %0 : (!transform.any_op) -> (!transform.any_op, !transform.any_op)"""  # noqa: E501
    count, asked, module = filled(
        FUNCTIONS.replace("SIZE", "9") + ENTRY.replace("BODY", split)
    )
    assert count == 2
    assert asked == ["(9,)", "(8,)"]
    ApplySchedule().run(module.operation)
    assert "morello.fill" not in str(module)
