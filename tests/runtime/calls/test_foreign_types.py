"""Arrays of types that describe themselves to machine code are read at a call."""

import ctypes
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import morello
from morello.errors import ArgumentError
from morello.python_api import python_function
from morello.runtime.calls import foreign_types
from morello.runtime.calls.foreign_arrays import _Tensor, shared
from morello.runtime.calls.glue import process
from morello.runtime.element_types import dlpack_word
from tests.quality.compiled import unsearched

Array = np.ndarray[Any, np.dtype[Any]]

SPEC = "matmul:8x9x10:f32"


class Api(ctypes.Structure):
    """``DLPackExchangeAPI``."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("from_object", ctypes.c_void_p),
        ("to_object", ctypes.c_void_p),
        ("describe", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    )


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_Tensor))
def describe(foreign: Any, tensor: Any) -> int:
    """What a library writes in C: here it is told by the object."""
    foreign.calls += 1
    if foreign.fails:
        return -1
    tensor[0] = foreign.tensor
    return 0


_api = Api(major=1, describe=ctypes.cast(describe, ctypes.c_void_p))
_new_capsule = python_function(
    "PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)


class Described:
    """An array of a library."""

    __dlpack_c_exchange_api__ = _new_capsule(
        ctypes.addressof(_api), b"dlpack_exchange_api", None
    )

    def __init__(self, array: Array, offset: int = 0, **fields: int) -> None:
        self.array, self.calls, self.fails = array, 0, False
        numbers = ctypes.c_int64 * array.ndim
        self.extents = (
            numbers(*array.shape),
            numbers(*(stride // array.itemsize for stride in array.strides)),
        )
        shape, strides = (
            ctypes.cast(each, ctypes.POINTER(ctypes.c_int64)) for each in self.extents
        )
        word = dlpack_word(array.dtype)
        told = {
            "data": array.ctypes.data - offset,
            "device_type": 1,
            "rank": array.ndim,
            "code": word & 255,
            "bits": word >> 8 & 255,
            "lanes": 1,
            "byte_offset": offset,
        }
        self.tensor = _Tensor(**{**told, **fields}, shape=shape, strides=strides)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.device_type, 0

    def __dlpack__(self, *, max_version: Any = None, **more: Any) -> Any:
        return self.array.__dlpack__(max_version=max_version, **more)


def operands(dtype: Any = np.float32) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(0)
    a, b = rng.integers(-4, 4, (8, 9)), rng.integers(-4, 4, (9, 10))
    return a.astype(dtype), b.astype(dtype), np.zeros((8, 10), np.float32)


@pytest.fixture(autouse=True)
def known() -> None:
    foreign_types.learn(Described)


def test_arrays_are_described_and_not_handed_over() -> None:
    a, b, c = operands()
    kernel = unsearched(SPEC, 0)
    described = Described(a), Described(b, offset=64)
    assert np.array_equal(kernel(*described), a @ b)
    assert kernel(*described, c) is c
    assert kernel(described[0], b, out=c) is c
    assert np.array_equal(c, a @ b)
    assert [each.calls for each in described] == [3, 2]


def test_what_the_table_of_types_points_to_is_held() -> None:
    table = process()
    held = {
        id(value): kind for kind, row in foreign_types._learnt.items() for value in row
    }
    types = [table.type[place] for place in range(table.types)]
    assert id(Described) in {known.type for known in types}
    for known in types:
        kind = held[known.type]
        for field in ("names", "gradient", "is_negated", "is_recording"):
            address = getattr(known, field)
            assert not address or address in map(id, foreign_types._learnt[kind]), kind


def test_bf16_and_any_row() -> None:
    a, b, _ = operands(ml_dtypes.bfloat16)
    wanted = a.astype(np.float32) @ b.astype(np.float32)
    kernel = unsearched("matmul:8x9x10:bf16,bf16,f32", 0)
    assert np.array_equal(kernel(Described(a), Described(b)), wanted)
    a, b, c = operands()
    wide = np.zeros((8, 13), np.float32)
    wide[:, 2:11] = a
    kernel = unsearched("matmul:8x9x10:f32:lhs=ld?", 0)
    for lhs in (Described(wide[:, 2:11]), Described(a)):
        assert np.array_equal(kernel(lhs, b, c), a @ b)
        assert lhs.calls == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("device_type", 2),
        ("rank", 1),
        ("bits", 64),
        ("code", 0),
        ("lanes", 2),
        ("byte_offset", 2),
    ],
)
def test_what_does_not_fit_goes_the_slow_way(field: str, value: int) -> None:
    """There it is taken as ``__dlpack__`` says."""
    a, b, _ = operands()
    described = Described(a, **{field: value})
    assert np.array_equal(unsearched(SPEC, 0)(described, b), a @ b)
    assert described.calls


def test_failures_of_a_library_are_not_seen() -> None:
    a, b, _ = operands()
    described = Described(a)
    described.fails = True
    assert np.array_equal(unsearched(SPEC, 0)(described, b), a @ b)
    with pytest.raises(ArgumentError, match="'lhs' has shape"):
        unsearched(SPEC, 0)(Described(a[:4].copy()), b)


def test_outputs_of_unknown_libraries_go_the_slow_way() -> None:
    """The description does not say whether an array may be written."""
    a, b, c = operands()
    c.flags.writeable = False
    with pytest.raises(ArgumentError, match="'out'"):
        unsearched(SPEC, 0)(a, b, Described(c))


def test_subclasses_and_other_versions_are_not_learned() -> None:
    class Inherits(Described):
        pass

    later = Api(major=2, describe=_api.describe)

    class Later(Described):
        __dlpack_c_exchange_api__ = _new_capsule(
            ctypes.addressof(later), b"dlpack_exchange_api", None
        )

    before = process().types
    for kind in (Inherits, Later, int):
        foreign_types.learn(kind)
    assert process().types == before
    a, b, _ = operands()
    described = Inherits(a)
    assert np.array_equal(unsearched(SPEC, 0)(described, b), a @ b)
    assert not described.calls


def test_tensors_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    kernel = morello.compile("matmul:8x1x1:f32:lhs=ld?", threads=1)
    one = torch.ones((1, 1))
    kernel(one.new_ones((8, 1)), one)
    assert id(torch.Tensor) in [known.type for known in process().type]
    parts = torch.complex(torch.ones((8, 1)), torch.ones((8, 1)))
    assert (kernel(parts.imag, one) == 1).all()
    with pytest.raises(ArgumentError, match="negat"):  # a view that is not in memory
        kernel(parts.conj().imag, one)
    weights = torch.nn.Parameter(one)
    for _ in range(2):
        with pytest.raises(ArgumentError, match=r"torch\.no_grad"):
            kernel(parts.imag, weights)
        with torch.no_grad():
            assert (kernel(parts.imag, weights) == 1).all()


class ArrayImpl(np.ndarray):  # type: ignore[type-arg]
    """Like an array of JAX, of which calls ask a buffer."""

    __module__ = "jaxlib.fake"


def test_arrays_of_jax_are_read_by_the_buffer_protocol(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    foreign_types.learn(ArrayImpl)
    monkeypatch.delattr("morello.runtime.calls.function.quickly_shared")  # the slow way
    a, b, c = operands()
    kernel = unsearched(SPEC, 0)
    array, counts = a.view(ArrayImpl), []
    for _ in range(3):
        assert kernel(array, b, out=c) is c
        assert np.array_equal(c, a @ b)
        counts.append(sys.getrefcount(array))
    assert len(set(counts)) == 1  # what was exported is released
    array.resize((8, 9), refcheck=False)
    wide = np.zeros((8, 13), np.float32)
    wide[:, 2:11] = a
    any_row = unsearched("matmul:8x9x10:f32:lhs=ld?", 0)
    assert np.array_equal(any_row(wide.view(ArrayImpl)[:, 2:11], b), a @ b)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.ones((4, 9), np.float32), "shape"),
        (np.ones((8, 9), np.int32), "dtype int32"),
        (np.ones((9, 8), np.float32).T, "contiguous"),
        (np.ones((8, 9), ">f4"), "byte order"),
        (np.ones((8, 9), "m8[s]"), "dtype"),
    ],
)
def test_buffers_that_do_not_fit_are_refused_and_released(
    array: Array, words: str
) -> None:
    foreign_types.learn(ArrayImpl)
    _, b, _ = operands()
    viewed = array.view(ArrayImpl)
    before = sys.getrefcount(viewed)
    with pytest.raises(ArgumentError, match=words):
        unsearched(SPEC, 0)(viewed, b)
    assert sys.getrefcount(viewed) == before


def test_a_deleted_array_is_told_apart() -> None:
    described = Described(operands()[0])
    described.is_deleted = lambda: True  # type: ignore[attr-defined]
    with pytest.raises(ArgumentError, match="was deleted, or donated"):
        shared(described, unsearched(SPEC, 0).parameters[0])
