"""Specs: what is refused, shapes, and arrays in logical and physical form."""

import numpy as np
import pytest
from hypothesis import given

import morello
from morello.errors import SpecError
from morello.spec import Limits, Spec, TensorSpec, parse_spec
from morello.spec.frame import Frame
from tests.named_kinds import named
from tests.spec.strategies import specs
from tests.tables import rows

pytestmark = pytest.mark.quick

LIMITS = Limits.of(vrf=16, l1=512, l2=16384)


def forms(*texts: str) -> tuple[TensorSpec, ...]:
    return tuple(map(TensorSpec.parse, texts))


@pytest.mark.parametrize(
    ("kind", "sizes", "tensors", "message"), rows(__file__, "refused")
)
def test_refusals(kind: str, sizes: str, tensors: str, message: str) -> None:
    operands = forms(*tensors.split())
    names = {**vars(morello.spec), "named": named}
    with pytest.raises(SpecError, match=message):
        Spec(eval(kind, names), eval(sizes), operands, LIMITS)


@given(specs())
def test_arrays_there_and_back(spec: Spec) -> None:
    rng = np.random.default_rng(0)
    read = [i for i, o in enumerate(spec.kind.operands) if o.is_read]
    for index, array in zip(read, spec.random(rng), strict=True):
        assert array.shape == spec.shape(index)
        assert array.dtype == spec.dtypes[index].numpy
        physical = spec.to_physical(index, array)
        assert physical.shape == spec.physical_shape(index)
        back = spec.to_logical(index, physical.ravel())
        assert back.tobytes() == array.tobytes()


@given(specs())
def test_a_frame_of_one_is_its_spec(spec: Spec) -> None:
    frame = Frame.of(spec)
    assert frame.spec() == spec
    for index in range(len(spec.tensors)):
        assert frame.operand_sizes(index) == spec.shape(index)
    assert hash(frame.spec()) == hash(spec)


def test_a_key_is_everything_but_sizes_and_limits() -> None:
    one = parse_spec("matmul:4x5x6:f32:rhs=[0,2,1]", LIMITS)
    other = parse_spec("matmul:2x7x8x9:f32:rhs=[0,2,1]:l1=2", LIMITS)
    assert one.key == other.key
    assert one.key != parse_spec("matmul:4x5x6:f32", LIMITS).key
    moved = one.key.with_tensor(0, TensorSpec.parse("f32@L1[0,1,2]"))
    assert moved.tensors[1:] == one.key.tensors[1:]
    assert str(moved) == (
        "Matmul(accum=False, saturating=False, flushing=False) f32@L1[0,1,2] "
        "f32@MEM[0,2,1]! f32@MEM[0,1,2]!"
    )


def test_the_long_form() -> None:
    spec = parse_spec("fill:4x5:s32:l1=7", LIMITS)
    assert str(spec) == "fill:4x5 s32@MEM[0,1]! vrf=16,l1=7,l2=16384"
