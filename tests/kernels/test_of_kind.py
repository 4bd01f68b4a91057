"""Kernels want nothing of Specs that are not of their class of kinds: nobody asks."""

import pytest

from morello.kernels import KERNELS
from morello.spec import L1, L2, MEM, Dtype, Layout, SpecKey, TensorSpec
from morello.spec.kinds import instances

pytestmark = pytest.mark.quick


def _keys(of_kind: type) -> list[SpecKey]:
    """Keys of every other kind, with operands of some dtypes in caches and memory."""
    return [
        SpecKey(
            kind,
            tuple(
                TensorSpec(dtype, level, Layout.row_major(operand.rank))
                for operand in kind.operands
            ),
        )
        for kind in instances()
        if not isinstance(kind, of_kind)
        for dtype in (Dtype.F32, Dtype.BF16, Dtype.S8, Dtype.S32)
        for level in (L1, L2, MEM)
    ]


@pytest.mark.parametrize("name", KERNELS)
def test_other_kinds_are_not_accepted_and_no_form_is_asked_for(name: str) -> None:
    kernel = KERNELS[name]
    for key in _keys(kernel.of_kind):
        assert not kernel.accepts(key)
        assert not kernel.levels_needed(key)
        assert not any(kernel.forms(key, i) for i in range(len(key.tensors)))
