"""Trips of loops that LLVM is told."""

import re

import pytest

from morello.runtime.engine import compile_object
from morello.runtime.loop_trips import weigh_loops
from tests.runtime.build import llvm_text

pytestmark = pytest.mark.quick


def loop(start: int | str, end: int | str, step: int) -> str:
    return f"""
define void @f(ptr %a, i64 %n) {{
  br label %head

head:
  %i = phi i64 [ {start}, %0 ], [ %j, %body ]
  %more = icmp slt i64 %i, {end}
  br i1 %more, label %body, label %end

body:
  store volatile i64 %i, ptr %a, align 8
  %j = add nsw i64 %i, {step}
  br label %head

end:
  ret void
}}
"""


@pytest.mark.parametrize(
    ("start", "end", "step", "trips"),
    [(0, 8, 1, 8), (0, 8, 3, 3), (5, 6, 4, 1), (2, 2**40, 1, 2**32 - 1)],
)
def test_the_head_of_a_loop_has_its_trips(
    start: int, end: int, step: int, trips: int
) -> None:
    text = weigh_loops(loop(start, end, step))
    assert "br i1 %more, label %body, label %end, !prof !0\n" in text
    assert text.endswith(f'!0 = !{{!"branch_weights", i32 {trips}, i32 1}}\n')
    compile_object(text, cpu="haswell")  # LLVM reads the weights


@pytest.mark.parametrize(
    ("start", "end"), [(0, "%n"), ("%n", 8), (8, 8)], ids=["end", "start", "no trip"]
)
def test_loops_of_unknown_trips_or_none_are_left_alone(
    start: int | str, end: int | str
) -> None:
    text = loop(start, end, 1)
    assert weigh_loops(text) == text


def test_numbers_follow_those_that_are_there_and_equal_trips_share_one() -> None:
    there = '\n!llvm.module.flags = !{!4}\n!4 = !{i32 2, !"a", i32 3}\n'
    twice = loop(0, 8, 1) + loop(0, 16, 2).replace("@f", "@g") + there
    text = weigh_loops(twice)
    assert text.count(", !prof !5\n") == 2
    assert text.count("branch_weights") == 1
    assert weigh_loops(text) == text


def test_weights_outlive_the_lowering_and_optimisation_of_a_nest() -> None:
    """An outer loop of 300, one of 200 in it, and one of unknown trips."""
    text = llvm_text(
        """
    func.func @f(%a: memref<200xf32>, %n: memref<1xindex>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c300 = arith.constant 300 : index
      %c200 = arith.constant 200 : index
      %end = memref.load %n[%c0] : memref<1xindex>
      scf.for %o = %c0 to %c300 step %c1 {
        scf.for %i = %c0 to %c200 step %c1 {
          scf.for %j = %c0 to %end step %c1 {
            %x = memref.load %a[%i] : memref<200xf32>
            %y = arith.mulf %x, %x : f32
            memref.store %y, %a[%i] : memref<200xf32>
          }
        }
      }
      return
    }"""
    )
    assert weights(text) == {(300, 1), (200, 1)}
    # A loop that is tested at its end goes back one time less than it has trips.
    assert weights(compile_object(text, cpu="haswell").llvm) == {(299, 1), (199, 1)}


def weights(text: str) -> set[tuple[int, int]]:
    pairs = re.findall(r'"branch_weights", i32 (\d+), i32 (\d+)', text)
    return {(max(map(int, pair)), min(map(int, pair))) for pair in pairs}
