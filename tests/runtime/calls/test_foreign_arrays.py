"""Arrays of other libraries are used where they are, and nothing is copied."""

import ctypes
import gc
import math
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import morello
from morello.compiler.kernel import Kernel
from morello.errors import ArgumentError
from morello.python_api import python_function
from morello.runtime.calls.foreign_arrays import _Tensor, shared
from morello.runtime.calls.parameter import Parameter

Array = np.ndarray[Any, np.dtype[Any]]


class Exported:
    """An array behind the protocol of version 1."""

    def __init__(self, array: Array, device: int = 1) -> None:
        self.array, self.device = array, device

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0

    def __dlpack__(self, *, max_version: tuple[int, int]) -> Any:
        return self.array.__dlpack__(max_version=max_version)


class Managed(ctypes.Structure):
    """``DLManagedTensor``."""

    _fields_ = (
        ("tensor", _Tensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


class Old(Exported):
    """The same before version 1, of any dtype: the structure is made here."""

    lanes = 1
    has_strides = True

    def __dlpack__(self) -> Any:  # type: ignore[override]
        array, rank = self.array, self.array.ndim
        numbers = ctypes.c_int64 * rank
        self.extents = (
            numbers(*array.shape),
            numbers(*(stride // array.itemsize for stride in array.strides)),
        )
        tensor = _Tensor(
            data=array.ctypes.data,
            device_type=1,
            rank=rank,
            code=4 if array.dtype == ml_dtypes.bfloat16 else 2,
            bits=8 * array.itemsize,
            lanes=self.lanes,
            shape=ctypes.cast(self.extents[0], ctypes.POINTER(ctypes.c_int64)),
        )
        if self.has_strides:
            tensor.strides = ctypes.cast(
                self.extents[1], ctypes.POINTER(ctypes.c_int64)
            )
        self.managed = Managed(tensor)
        return _new_capsule(ctypes.addressof(self.managed), b"dltensor", None)


class Gapless(Old):
    """One that says no strides: it is row-major."""

    has_strides = False


_new_capsule = python_function(
    "PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)


class Interface:
    """An array that other libraries made before there was DLPack."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.shape = array.shape
        self.__array_interface__ = array.__array_interface__


def operands(dtype: Any = np.float32) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    numbers = rng.integers(-4, 4, (2, 8, 8)).astype(dtype)
    return numbers[0], numbers[1]


A, B = operands()


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return morello.compile("matmul:8x8x8:f32", threads=1)


@pytest.mark.parametrize("kind", [Exported, Old, Gapless, Interface])
def test_inputs_are_taken(kind: Any, kernel: Kernel) -> None:
    assert np.array_equal(kernel(kind(A), kind(B)), A @ B)
    assert np.array_equal(kernel(A, kind(B)), A @ B)
    assert np.array_equal(kernel.bind(kind(A), kind(B))(), A @ B)


def test_bf16_is_taken() -> None:
    a, b = operands(ml_dtypes.bfloat16)
    kernel = morello.compile("matmul:8x8x8:bf16,bf16,f32", threads=1)
    wanted = a.astype(np.float32) @ b.astype(np.float32)
    assert np.array_equal(kernel(Old(a), Old(b)), wanted)


def test_an_output_is_written_where_it_is_and_given_back(kernel: Kernel) -> None:
    for kind in (Exported, Interface):
        out = kind(np.zeros((8, 8), np.float32))
        assert kernel(A, B, out=out) is out
        assert np.array_equal(out.array, A @ B)


def test_what_must_not_be_written_is_refused_as_an_output(kernel: Kernel) -> None:
    fixed = np.zeros((8, 8), np.float32)
    fixed.flags.writeable = False
    for out in (Exported(fixed), Old(np.zeros((8, 8), np.float32))):
        with pytest.raises(ArgumentError, match="'out'"):
            kernel(A, B, out=out)


def test_gaps_and_other_dtypes_are_refused_as_of_numpy(kernel: Kernel) -> None:
    with pytest.raises(ArgumentError, match="'lhs'"):
        kernel(Exported(A.T), B)
    with pytest.raises(ArgumentError, match="float64"):
        kernel(Exported(A.astype(np.float64)), B)
    with pytest.raises(ArgumentError, match="shape"):
        kernel(Exported(A[:4]), B)


def test_elements_of_several_lanes_are_refused(kernel: Kernel) -> None:
    """Each is a vector: there are more numbers than the shape says."""
    wide = Old(A)
    wide.lanes = 4
    with pytest.raises(ArgumentError, match="'lhs' cannot be shared: kernels have no"):
        kernel(wide, B)


@pytest.mark.parametrize("kind", [Exported, Old, Gapless])
@pytest.mark.parametrize("shape", [(0, 8), (8, 0), (0, 0), (0, 0, 8), ()])
def test_arrays_without_elements_or_axes(kind: Any, shape: tuple[int, ...]) -> None:
    strides = [
        4 * math.prod(shape[axis + 1 :] or (1,)) or 4 for axis in range(len(shape))
    ]
    one = np.ones(1, np.float32)
    array = kind(np.lib.stride_tricks.as_strided(one, shape, strides))
    result = shared(array, Parameter("a", np.dtype(np.float32), (8, 8)))
    assert result.shape == shape
    assert np.array_equal(result, array.array)


def test_memory_of_another_device_is_refused(kernel: Kernel) -> None:
    with pytest.raises(ArgumentError, match=r"'rhs' cannot be shared: it is .* type 2"):
        kernel(A, Exported(B, device=2))
    unsaid = type("Unsaid", (), {"__dlpack__": Exported(B).__dlpack__})()
    with pytest.raises(ArgumentError, match=r"'rhs' .* shared: .*dlpack_device"):
        kernel(A, unsaid)


class Told(Exported):
    """An object that answers with memory that it does not share."""

    def __init__(self, answer: Any) -> None:
        super().__init__(np.zeros(1))
        self.answer = answer

    def __dlpack__(self, **options: Any) -> Any:  # type: ignore[override]
        return self.answer


def test_capsules_that_are_none_or_were_used_are_refused() -> None:
    kernel = morello.compile("relu:8x8:f32", threads=1)
    used = operands()[0].__dlpack__()
    np.from_dlpack(Told(used))
    for answer in (used, None, 3):
        with pytest.raises(ArgumentError, match=r"'x0' cannot be shared: .*apsule"):
            kernel(Told(answer))


def test_what_jax_traces_is_refused_with_what_takes_it() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    kernel = morello.compile("relu:8x8:f32", threads=1)
    with pytest.raises(ArgumentError, match=r"traced .*morello\.jax\.call"):
        jax.jit(kernel)(operands()[0])


def test_a_gradient_is_refused_until_it_is_not_wanted(kernel: Kernel) -> None:
    class Parameter(Exported):
        requires_grad = True

        def detach(self) -> Exported:
            return Exported(self.array)

    with pytest.raises(ArgumentError, match="requires a gradient"):
        kernel(Parameter(A), B)


def test_bound_arrays_are_kept_alive(kernel: Kernel) -> None:
    exported = Exported(A.copy())
    watched = weakref.ref(exported.array)
    bound = kernel.bind(exported, B)
    del exported
    gc.collect()
    assert watched() is not None
    assert np.array_equal(bound(), A @ B)


def test_tensors_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    kernel = morello.compile("matmul:8x8x8:bf16,bf16,f32", threads=1)
    a = torch.randint(-4, 4, (8, 8)).to(torch.bfloat16)
    weights = torch.nn.Parameter(torch.randint(-4, 4, (8, 8)).to(torch.bfloat16))
    out = torch.zeros((8, 8))
    with torch.no_grad():
        assert kernel(a, weights, out=out) is out
        assert torch.equal(out, a.float() @ weights.float())
    with pytest.raises(ArgumentError, match=r"torch\.no_grad"):
        kernel(a, weights)


def test_tensors_without_memory_are_refused() -> None:
    """NumPy takes new memory for a tensor of lazy zeros, and says nothing."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    kernel = morello.compile("relu:4x5:f32", threads=1)
    out = np.empty((4, 5), np.float32)
    for outputs in ((), (out,)):
        with pytest.raises(ArgumentError, match="cannot be shared: it has none"):
            kernel(torch._efficientzerotensor((4, 5)), *outputs)
