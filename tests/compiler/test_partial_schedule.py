"""Schedules that are begun by hand: the search fills the holes."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import morello
from morello.compiler.kernel import Kernel
from morello.compiler.schedule_text import schedule_text
from morello.compiler.stages import build_stages
from morello.dialect import in_context
from morello.dialect.transform import build_action_op
from morello.errors import ScheduleError
from morello.machine import AVX2, Target
from morello.mlir import ir
from morello.passes.pipelines.pipeline import Pipeline
from morello.search import Solution, best_program
from morello.search.storage.overlay import NONE
from morello.spec import Spec, parse_spec

pytestmark = pytest.mark.quick

EXAMPLE = Path(__file__).parents[2] / "examples" / "partial_schedule.mlir"

SPEC = "move:4x20:f32"

MODULE = """
#array = #morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>
module attributes {morello.target = "avx2", transform.with_named_sequence} {
  func.func @f(%a: memref<4x20xf32>, %b: memref<4x20xf32>) {
    "morello.move"(%a, %b) {sizes = array<i64: 4, 20>, tensors = [#array, #array],
      limits = #morello.limits<"vrf=16,l1=512,l2=8192">, serial = true}
      : (memref<4x20xf32>, memref<4x20xf32>) -> ()
    return
  }
"""

MATCH = """
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %m = transform.structured.match ops{["morello.move"]} in %root
      : (!transform.any_op) -> !transform.any_op
"""


def tile(result: str, handle: str, size: int) -> str:
    """The op that tiles ``d1``."""
    return (
        f'%{result}:2 = "morello_transform.tile"(%{handle}) {{dim = "d1", '
        f"size = {size} : i64}} : (!transform.any_op) -> (!transform.any_op, "
        "!transform.any_op)\n"
    )


def include(name: str, handle: str) -> str:
    """The op that includes a sequence."""
    return (
        f"transform.include @{name} failures(propagate) (%{handle}) "
        ": (!transform.any_op) -> ()\n"
    )


END = "transform.yield }\n"

HALVES = (
    "transform.named_sequence @move_4x8(%x: !transform.any_op {transform.consumed}) {\n"
)
"""The head of a sequence that has the name of what the search may add."""

PARTIAL = {
    "nothing is done": MODULE + MATCH + END + "}",
    "both holes of a tile": MODULE + MATCH + tile("t", "m", 16) + END + "}",
    "a sequence for equal Specs": (
        MODULE
        + MATCH
        + tile("t", "m", 16)
        + tile("u", "t#0", 8)
        + include("move_4x8", "u#0")
        + END
        + HALVES
        + tile("v", "x", 4)
        + END
        + "}"
    ),
    "an argument that is not used": (
        MODULE
        + MATCH
        + tile("t", "m", 16)
        + include("move_4x8", "t#0")
        + END
        + HALVES
        + END
        + "}"
    ),
    "a sequence that only looks": (
        MODULE
        + MATCH
        + tile("t", "m", 16)
        + include("look", "t#0")
        + END
        + "transform.named_sequence @look(%x: !transform.any_op {transform.readonly})"
        + "{"
        + END
        + "}"
    ),
    "an op inside of a loop over payloads": (
        MODULE
        + MATCH
        + tile("t", "m", 16)
        + "transform.foreach %t#0 : !transform.any_op { ^bb0(%x: !transform.any_op):\n"
        + tile("v", "x", 8)
        + "}\n"
        + END
        + "}"
    ),
    "a handle to ops of one name": (
        MODULE
        + MATCH
        + "%c = transform.cast %m : !transform.any_op to "
        + '!transform.op<"morello.move">\n'
        + END
        + "}"
    ),
}


def check(kernel: Kernel) -> None:
    """Whether a kernel computes its Spec, exactly."""
    inputs = kernel.spec.random(np.random.default_rng(3))
    expected = kernel.spec.evaluate(*inputs)
    last = {"out": inputs[-1]} if kernel.spec.kind.accumulates else {}
    assert np.array_equal(kernel(*inputs[: 2 if last else None], **last), expected)


@pytest.mark.parametrize("name", PARTIAL)
def test_holes_of_a_schedule_are_filled(name: str) -> None:
    kernel = morello.compile(SPEC, schedule=PARTIAL[name])
    check(kernel)
    assert kernel.filled
    assert kernel.solution is None
    again = morello.compile(SPEC, schedule=kernel.schedule)
    assert again.object == kernel.object
    assert again.cost() == kernel.cost()
    assert again.schedule == kernel.schedule
    assert not again.filled


def test_a_schedule_of_nothing_is_filled_with_the_best_program() -> None:
    filled = morello.compile(SPEC, schedule=PARTIAL["nothing is done"])
    assert filled.cost() == morello.compile(SPEC).cost()


def test_the_first_decision_of_the_best_program_leaves_its_cost() -> None:
    best = morello.compile(SPEC).solution
    assert best is not None
    with in_context():
        module = ir.Module.parse(PARTIAL["nothing is done"])
        match = module.body.operations[1].regions[0].blocks[0].operations[0]
        with ir.InsertionPoint.after(match):
            build_action_op(best.impl.action, match.results[0])
        begun = str(module)
    kernel = morello.compile(SPEC, schedule=begun)
    assert kernel.cost() == best.impl.cost
    below = [branch.impl.cost for branch in best.impl.branches]
    assert [solution.impl.cost for solution in kernel.filled] == below


def test_the_filled_cost_is_that_of_the_holes_and_the_actions() -> None:
    kernel = morello.compile(SPEC, schedule=PARTIAL["both holes of a tile"])
    main, rest = (solution.impl for solution in kernel.filled)
    assert (main.spec.sizes, rest.spec.sizes) == ((4, 16), (4, 4))
    units = AVX2.coefficients
    assert kernel.cost() == main.cost + rest.cost + 3 * units.loop


def test_a_complete_schedule_is_kept_as_it_is_written() -> None:
    text = "// by hand\n" + morello.compile(SPEC).schedule
    kernel = morello.compile(SPEC, schedule=text)
    assert kernel.schedule == text
    assert not kernel.filled


def test_a_time_limit_is_one_of_the_searches_too() -> None:
    spec = "matmul_accum:100x37x53:f32"
    schedule = EXAMPLE.read_text()
    kernel = morello.compile(spec, schedule=schedule, time_limit=0)
    check(kernel)
    assert any(not solution.complete for solution in kernel.filled)


def test_a_module_without_a_schedule_is_refused() -> None:
    with pytest.raises(ScheduleError, match="the module holds no schedule"):
        morello.compile(SPEC, schedule=MODULE + "}")


def test_without_a_search_what_is_left_is_refused() -> None:
    spec = parse_spec(SPEC, AVX2.limits)
    with pytest.raises(ScheduleError, match=r"'morello\.move' op has no program"):
        build_stages(spec, AVX2, PARTIAL["both holes of a tile"])


def test_what_is_left_is_searched_as_its_goal_sees_it() -> None:
    """16 of 600,000 rows that are in no cache would stay in L2 from call to call."""
    spec = parse_spec("move:600000x20:f32", AVX2.limits)
    text = PARTIAL["nothing is done"]
    text = text.replace("memref<4x", "memref<600000x").replace(
        "i64: 4,", "i64: 600000,"
    )
    left = tile("t", "m", 16).replace('"d1"', '"d0"')
    contexts = []

    def search(part: Spec, target: Target, context: Target | None) -> Solution:
        contexts.append(context)
        return best_program(part, target, context=context)

    build_stages(spec, AVX2, text.replace(END, left + END), search)
    assert contexts == [AVX2.at(spec)]
    assert contexts != [AVX2.at(parse_spec("move:16x20:f32", AVX2.limits))]


def test_the_pass_writes_what_compile_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MORELLO_DB", NONE)
    text = PARTIAL["a sequence for equal Specs"]
    with in_context():
        module = ir.Module.parse(text)
        pipeline = "builtin.module(morello-synthesize{fill=true})"
        Pipeline.parse(pipeline).run(module.operation)
        filled = schedule_text(module)
    assert filled == morello.compile(SPEC, schedule=text).schedule


def test_threads_of_the_schedules_target_are_searched_for() -> None:
    kernel = morello.compile(SPEC, threads=2, schedule=parallel())
    check(kernel)
    assert kernel.filled[0].impl.spec == dataclasses.replace(
        parse_spec(SPEC, AVX2.limits), serial=False
    )


def parallel() -> str:
    """A schedule of nothing for two threads."""
    text = PARTIAL["nothing is done"].replace("serial = true", "serial = false")
    return text.replace('"avx2"', '"avx2{threads=2}"')
