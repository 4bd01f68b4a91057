"""The transform ops as values: actions to ops and back."""

import dataclasses
import math
import re

import pytest

from morello.actions import (
    ACTIONS,
    Action,
    Border,
    Collapse,
    Cut,
    CutInPlace,
    Drop,
    GridParallel,
    Merge,
    Move,
    Online,
    Pad,
    Peel,
    Range,
    Select,
    SpecializeRange,
    Split,
    SplitParallel,
    Squeeze,
    Taps,
    Tile,
    TileParallel,
    ToAccum,
    Unfold,
)
from morello.dialect.transform import ACTION_OPS, action_of, build_action_op, roles_of
from morello.errors import ScheduleError, SpecError
from morello.machine import AVX2
from morello.mlir import PassManager, dialect, ir
from morello.spec import L1, L2, Layout, parse_spec
from morello.spec.tensors.layout import LINE_BYTES
from tests.dialect.schedules import one_action

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("known_dialects")]

SPEC = parse_spec("matmul:6x4x16:f32", AVX2.limits)

EXAMPLES: tuple[Action, ...] = (
    Tile("m", 48),
    TileParallel("m", 48),
    GridParallel("m", 48, "n", 32),
    Split("k", 256),
    SplitParallel("k", 256, 2),
    Peel("k", 256),
    Range("m", 4),
    Move("rhs", L1, Layout.parse("[0,2,1,2p16]")),
    SpecializeRange("rhs", L2),
    ToAccum(),
    Cut("v0,v1", "v1", L2, Layout.parse("[0,1]")),
    CutInPlace("v0,v1"),
    Online("v0"),
    Squeeze(),
    Pad("x1", L1, Layout.parse("[0,1]")),
    Border("d0"),
    Taps("d0"),
    Merge(),
    Unfold(),
    Collapse("d0", "d1"),
    Drop("d0"),
    Select("fill_rows"),
)

TEXT = """
module attributes {transform.with_named_sequence} {
  func.func @f(%a: memref<8x16xf32>) {
    "morello.fill"(%a) {limits = #morello.limits<"vrf=16,l1=512,l2=8192">,
      serial = true, sizes = array<i64: 8, 16>, value = "zero",
      tensors = [#morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>]}
      : (memref<8x16xf32>) -> ()
    return
  }
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["morello.fill"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %r:2 = "morello_transform.tile"(%0) {dim = "d0", size = SIZE : i64}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""


def test_every_action_has_an_op_with_its_fields() -> None:
    assert {row.action for row in ACTION_OPS.values()} == set(ACTIONS)
    assert {type(action) for action in EXAMPLES} == set(ACTIONS)
    for row in ACTION_OPS.values():
        declared = [f.name for f in row.view._fields]
        fields = [
            f.name
            for f in dataclasses.fields(row.action)
            if f.default is dataclasses.MISSING
        ]
        assert declared == ["target", *fields, *row.roles]


@pytest.mark.parametrize("action", EXAMPLES, ids=lambda a: a.name)
def test_an_action_survives_its_op_and_text(action: Action) -> None:
    any_op = dialect("transform").AnyOpType.get()
    holder = ir.Module.create()
    with ir.InsertionPoint(holder.body):
        handle = ir.Operation.create("builtin.unrealized_conversion_cast", [any_op])
        left = build_action_op(action, handle.result)
    assert len(left) == len(roles_of(type(action)))
    again = ir.Module.parse(str(holder))
    assert action_of(again.body.operations[1]) == action


def test_other_ops_are_no_actions() -> None:
    module = ir.Module.create()
    with pytest.raises(ScheduleError, match=r"'builtin\.module' is not the op of an"):
        action_of(module)


def test_an_op_with_unreadable_fields_is_no_action() -> None:
    any_op = dialect("transform").AnyOpType.get()
    holder = ir.Module.create()
    with ir.InsertionPoint(holder.body):
        handle = ir.Operation.create("builtin.unrealized_conversion_cast", [any_op])
        build_action_op(Tile("m", 48), handle.result)
    op = holder.body.operations[1]
    del op.attributes["size"]
    with pytest.raises(SpecError, match="has no attribute 'size'; write for example"):
        action_of(op)


def test_upstreams_interpreter_pass_runs_the_ops_too() -> None:
    module = ir.Module.parse(TEXT.replace("SIZE", "2"))
    manager = PassManager.parse("builtin.module(transform-interpreter)")
    manager.run(module.operation)
    assert "array<i64: 2, 16>" in str(module)
    with pytest.raises(ir.MLIRError, match="size 9 is not smaller than d0 = 8"):
        manager.run(ir.Module.parse(TEXT.replace("SIZE", "9")).operation)


def test_a_refusal_leaves_all_ops_of_the_handle_alone() -> None:
    """Every op is checked before the first is rewritten."""
    fill = """
      "morello.fill"(%a) {limits = #morello.limits<"vrf=16,l1=512,l2=8192">,
        serial = true, sizes = array<i64: 8, 16>, value = "zero",
        morello.target = "TARGET",
        tensors = [#morello.tensor<"f32", "MEM", #morello.layout<"[0,1]">, true, 0>]}
        : (memref<8x16xf32>) -> ()
    """
    twice = fill.replace("TARGET", "avx2") + fill.replace("TARGET", "vax")
    start = TEXT.index('"morello.fill"')
    end = TEXT.index("return")
    module = ir.Module.parse((TEXT[:start] + twice + TEXT[end:]).replace("SIZE", "2"))
    before = str(module)
    main = module.body.operations[1]
    with pytest.raises(ValueError, match="unknown target 'vax'"):
        dialect("transform").interpreter.apply_named_sequence(module, main, module)
    assert str(module) == before


@pytest.mark.parametrize(
    "text", ["matmul:3x64x5:f32", "matmul:1x64x8:f32", "max:7x64:f32"]
)
def test_partial_results_of_two_threads_share_no_line(text: str) -> None:
    spec = dataclasses.replace(parse_spec(text, AVX2.limits), serial=False)
    dim = spec.kind.dims[spec.kind.reductions[0]]
    four = dataclasses.replace(AVX2, threads=4)
    module = str(one_action(spec, SplitParallel(dim, 16, 4), four))
    (shape,) = re.findall(r"memref\.alloc\(\) : memref<4x([\dx]+)xf32>", module)
    assert math.prod(map(int, shape.split("x"))) * 4 % LINE_BYTES == 0
