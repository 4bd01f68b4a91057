"""Numbers as attributes: integers wrap at the borders of their types."""

import pytest

from morello.mlir import ir
from morello.passes.parts.vector_ops import constant_of

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_integers_wrap(bits: int) -> None:
    least, end = -(1 << bits - 1), 1 << bits - 1
    wrapped = {
        0: 0,
        -1: -1,
        least: least,
        least - 1: end - 1,
        end - 1: end - 1,
        end: least,
        2 * end - 1: -1,
        2 * end: 0,
    }
    with ir.Context(), ir.Location.unknown():
        kind = ir.IntegerType.get_signless(bits)
        constants = {n: ir.IntegerAttr(constant_of(kind, n)).value for n in wrapped}
        assert constants == wrapped
        assert ir.FloatAttr(constant_of(ir.F32Type.get(), -0.5)).value == -0.5
