"""Specs: what is refused, shapes, and arrays in logical and physical form."""

import numpy as np
import pytest
from hypothesis import given

from morello.errors import SpecError
from morello.spec import Fill, Kind, Limits, Matmul, Move, Spec, TensorSpec, parse_spec
from morello.spec.frame import Frame
from tests.named_kinds import named
from tests.spec.strategies import specs

pytestmark = pytest.mark.quick

LIMITS = Limits.of(vrf=16, l1=512, l2=16384)


def forms(*texts: str) -> tuple[TensorSpec, ...]:
    return tuple(map(TensorSpec.parse, texts))


@pytest.mark.parametrize(
    ("kind", "sizes", "tensors", "message"),
    [
        (
            Matmul(),
            (4, 4, 4),
            forms("f32@MEM[0,1,2]", "f32@MEM[0,1,2]", "f32@MEM[0,1,2]"),
            r"matmul has 4 dimensions \(b,m,k,n\) but 3 sizes",
        ),
        (
            Fill(1),
            (0,),
            forms("f32@MEM[0]"),
            "size 0 of dimension d0 of fill is not between 1 and 2147483647",
        ),
        (
            named("max"),
            (4, 1 << 31),
            forms("f32@MEM[0,1]", "f32@MEM[0]"),
            "size 2147483648 of dimension d1 of max is not between 1 and",
        ),
        (Move(1), (4,), forms("f32@MEM[0]"), "move has 2 operands but 1 forms"),
        (
            Move(1),
            (4,),
            forms("f32@MEM[0]", "s32@MEM[0]"),
            "move has no cast from f32 to s32",
        ),
        (
            named("max"),
            (4, 4),
            forms("f32@MEM[0]", "f32@MEM[0]"),
            r"operand 'x0' of max has 2 dimensions but its layout \[0\] has 1; for "
            r"example \[0,1\]",
        ),
        (
            Fill(3),
            (1 << 20, 1 << 20, 64),
            forms("f32@MEM[0,1,2]"),
            "operand 'out' of fill has 281474976710656 bytes: more than this machine",
        ),
        (
            Fill(2),
            (1 << 30, 3),
            forms("s8@MEM[0,1,1p65536]"),
            "operand 'out' of fill has 70368744177664 bytes: more than this",
        ),
    ],
)
def test_refusals(
    kind: Kind, sizes: tuple[int, ...], tensors: tuple[TensorSpec, ...], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        Spec(kind, sizes, tensors, LIMITS)


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
