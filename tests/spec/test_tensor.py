"""Forms of operands, levels and dtypes."""

import copy
import math
import operator
import pickle

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given

from morello.errors import SpecError
from morello.spec import (
    ELEMENT_TYPES,
    L1,
    L2,
    MEM,
    MEMORIES,
    Dtype,
    Encoding,
    Layout,
    Memory,
    TensorSpec,
    argument_tensor,
)
from morello.spec.checking import bit_patterns
from tests.spec.strategies import tensors

pytestmark = pytest.mark.quick


@given(tensors())
def test_text_round_trip(tensor: TensorSpec) -> None:
    assert TensorSpec.parse(str(tensor)) == tensor
    assert TensorSpec.parse(f"  {tensor} ") == tensor


@given(tensors())
def test_a_tile_is_known_to_be_gapless_along_the_outermost_alone(
    tensor: TensorSpec,
) -> None:
    outermost = tensor.layout.dims[0].dim
    assert tensor.tiled(outermost) == tensor
    for dim in set(range(tensor.rank)) - {outermost}:
        tile = tensor.tiled(dim)
        assert not tile.contiguous
        assert tile.tiled(dim) == tile.tiled(outermost) == tile
        assert (tile == tensor) == (not tensor.contiguous)


def test_lines_and_runs() -> None:
    whole = TensorSpec.parse("f32@MEM[0,1]!")
    assert whole.lines((3, 5)) == math.ceil(60 / 64)
    assert whole.runs((3, 5)) == 1
    tile = whole.tiled(1)
    assert tile.lines((3, 5)) == 3
    assert tile.runs((3, 5)) == 3
    assert (whole.run_bytes((3, 5)), tile.run_bytes((3, 5))) == (60, 20)
    assert tile.lines((np.array([3, 4]), 17)).tolist() == [6, 8]


def test_registers() -> None:
    tile = TensorSpec.parse("f32@VRF[0,1,2]v8")
    assert tile.amount((1, 6, 16)) == 12
    assert tile.amount((2, 3, 9)) == 12
    assert tile.amount((1, np.array([1, 6]), 8)).tolist() == [1, 6]


def test_an_argument_is_gapless_unless_it_is_packed() -> None:
    plain = argument_tensor(Dtype.F32, Layout.parse("[1,0]"))
    assert plain == TensorSpec.parse("f32@MEM[1,0]!")
    packed = argument_tensor(Dtype.S8, Layout.parse("[1,0,1p4]"))
    assert packed == TensorSpec.parse("s8@MEM[1,0,1p4]")
    assert packed.rank == 2


def test_levels() -> None:
    assert [str(level) for level in MEMORIES] == ["VRF", "L1", "L2", "MEM"]
    assert all(map(operator.lt, MEMORIES, MEMORIES[1:]))
    assert [level for level in MEMORIES if level.is_cache] == [L1, L2]
    assert [level.distance for level in MEMORIES] == [0, 1, 2, 3]
    assert [level.backing for level in MEMORIES] == [L1, L1, L2, MEM]
    assert [level for level in MEMORIES if level.is_beyond(L1)] == [L2, MEM]
    assert not L1.is_beyond(L1)


@pytest.mark.parametrize("memory", MEMORIES)
def test_there_is_one_object_of_each_memory(memory: Memory) -> None:
    assert pickle.loads(pickle.dumps(memory)) is copy.deepcopy(memory) is memory
    assert Memory.parse(str(memory)) is memory


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f32", "'f32' is not the form of an operand; write it as dtype@level"),
        ("f32@L1[0]w8", "is not the form of an operand"),
        ("f64@L1[0]", "unknown dtype 'f64'; use one of f32, bf16, f16, u8, s8"),
        ("f32@GL[0]", "unknown memory level 'GL'; use one of VRF, L1, L2, MEM"),
        ("f32@VRF[0]", "a vector width goes with level VRF and no other; write"),
        ("f32@L1[0]v8", "a vector width goes with level VRF and no other"),
        ("f32@VRF[1,0]v8", "registers hold row-major tiles only"),
        ("f32@VRF[0,0p4]v8", "registers hold row-major tiles only"),
        ("f32@L1[0,0p4]!", "only an unpacked layout can be contiguous"),
        ("f32@VRF[0]!v8", "registers are no array that could be contiguous"),
        ("f32@VRF[0]v" + "8" * 5000, "is not the form of an operand"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        TensorSpec.parse(text)


DTYPES = {
    Dtype.F32: (np.float32, 4, "f32", True, -math.inf),
    Dtype.BF16: (ml_dtypes.bfloat16, 2, "bf16", True, -math.inf),
    Dtype.F16: (np.float16, 2, "f16", True, -math.inf),
    Dtype.U8: (np.uint8, 1, "i8", False, 0),
    Dtype.S8: (np.int8, 1, "i8", False, -128),
    Dtype.U16: (np.uint16, 2, "i16", False, 0),
    Dtype.S16: (np.int16, 2, "i16", False, -32768),
    Dtype.U32: (np.uint32, 4, "i32", False, 0),
    Dtype.S32: (np.int32, 4, "i32", False, -(2**31)),
    Encoding.U8W: (np.uint16, 2, "i16", False, 0),
    Encoding.S8Z: (np.uint16, 2, "i16", False, 0),
    Encoding.S7: (np.int8, 1, "i8", False, -64),
}


@pytest.mark.parametrize("dtype", ELEMENT_TYPES)
def test_dtypes(dtype: Dtype) -> None:
    kind, itemsize, mlir, is_float, lowest = DTYPES[dtype]
    assert dtype.numpy == np.dtype(kind)
    assert dtype.itemsize == itemsize
    assert dtype.mlir == mlir
    assert dtype.is_float is is_float
    assert dtype.lowest == lowest
    assert Dtype.parse(str(dtype)) is dtype
    if dtype.part_of is None and not is_float:
        assert np.iinfo(kind).min == lowest


def test_bytes_in_16_bits() -> None:
    for wide, byte in ((Encoding.U8W, Dtype.U8), (Encoding.S8Z, Dtype.S8)):
        info = np.iinfo(byte.numpy)
        every = np.arange(info.min, info.max + 1).astype(byte.numpy)
        stored = wide.stored(every)
        assert stored.tolist() == list(range(256))
        assert np.array_equal(wide.values(stored), every)
        assert {d for d in ELEMENT_TYPES if d.widens_to(wide)} == {byte}
        assert not any(map(wide.widens_to, Dtype))
    assert {d for d in ELEMENT_TYPES if d.byte} == {Encoding.U8W, Encoding.S8Z}


def test_an_s7_is_half_of_an_s8_and_widens_to_nothing() -> None:
    assert {d: d.part for d in ELEMENT_TYPES if d.part} == {Dtype.S8: Encoding.S7}
    assert {d: d.part_of for d in ELEMENT_TYPES if d.part_of} == {Encoding.S7: Dtype.S8}
    assert not any(
        d.widens_to(Encoding.S7) or Encoding.S7.widens_to(d) for d in ELEMENT_TYPES
    )
    assert Encoding.S7.lowest == -64
    drawn = bit_patterns(np.random.default_rng(0), Encoding.S7, (4096,))
    assert (drawn.min(), drawn.max()) == (-64, 63)


def test_arguments_have_what_numpy_has() -> None:
    assert set(ELEMENT_TYPES) - set(Dtype) == {Encoding.U8W, Encoding.S8Z, Encoding.S7}


def test_dtypes_are_ordered_by_name() -> None:
    assert [str(d) for d in sorted(ELEMENT_TYPES)] == sorted(
        str(d) for d in ELEMENT_TYPES
    )


def test_there_is_one_object_of_each_element_type() -> None:
    for element in ELEMENT_TYPES:
        assert pickle.loads(pickle.dumps(element)) is copy.deepcopy(element) is element
        assert Dtype.parse(str(element)) is element
    assert list(Encoding) == [Encoding.U8W, Encoding.S8Z, Encoding.S7]
