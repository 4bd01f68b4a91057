"""A trace of a schedule has the rewritten ops that have numbers, and these alone."""

import pytest

from morello.actions import Tile
from morello.dialect.transform.trace import Step, record, tracing
from morello.machine import AVX2
from morello.mlir import ir
from morello.spec import parse_spec

pytestmark = pytest.mark.quick

ACTION = Tile("m", 4)
SPEC = parse_spec("matmul:16x8x8:f32", AVX2.limits)


def test_ops_that_have_numbers_are_recorded() -> None:
    rewrite = ACTION.apply(SPEC, AVX2)
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            numbered, other, child = (
                ir.Operation.create(f"test.{name}") for name in ("a", "b", "c")
            )
        left = {hole.role: child for hole in rewrite.holes}
        with tracing() as trace:
            assert trace.number(numbered) == 0
            record(other, ACTION, rewrite, left)
            assert trace.steps == {}
            record(numbered, ACTION, rewrite, left)
            assert trace.steps == {0: Step(ACTION, (1,))}
        record(numbered, ACTION, rewrite, left)  # of nothing that is traced
        assert len(trace.steps) == 1
