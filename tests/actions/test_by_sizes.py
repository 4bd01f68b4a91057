"""Actions that read no sizes have the same candidates whatever these are."""

import pytest

from morello.actions import ACTIONS, Action
from morello.machine import AVX2
from morello.spec import L1, L2, MEM, Dtype, Layout, SpecKey, TensorSpec
from morello.spec.kinds import instances

pytestmark = pytest.mark.quick

_AXES = ((1,), (1, 2, 3, 4, 7), (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64))


@pytest.mark.parametrize("kind", ACTIONS, ids=lambda kind: kind.name)
def test_sizes_decide_where_an_action_says_so_alone(kind: type[Action]) -> None:
    if kind.by_sizes:
        return
    for of in instances():
        for level in (L1, L2, MEM):
            tensors = (
                TensorSpec(Dtype.F32, level, Layout.row_major(operand.rank), whole)
                for whole in (level is MEM,)
                for operand in of.operands
            )
            key = SpecKey(of, tuple(tensors))
            least = tuple(kind.candidates(key, (), AVX2))
            for axis in _AXES:
                axes = (axis,) * len(of.dims)
                assert tuple(kind.candidates(key, axes, AVX2)) == least
