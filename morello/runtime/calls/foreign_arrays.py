"""Arrays of other libraries as NumPy arrays on the same memory.

`shared` takes what has ``__dlpack__`` (PyTorch, JAX, and others that keep to the array
API standard) or ``__array_interface__``, and copies nothing. NumPy's own
``from_dlpack`` knows no bf16, so the structure behind a capsule is read here:
https://dmlc.github.io/dlpack/latest/c_api.html.
"""

import ctypes
import math
import sys
from typing import Any

import numpy as np

from morello.errors import ArgumentError
from morello.python_api import python_function
from morello.runtime.calls.arguments import pointer
from morello.runtime.calls.foreign_types import learn
from morello.runtime.calls.parameter import Parameter
from morello.runtime.element_types import element_type_of_dlpack

Array = np.ndarray[Any, np.dtype[Any]]


class _Tensor(ctypes.Structure):
    """``DLTensor``."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    """``DLManagedTensorVersioned``."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_ARRAY = np.ndarray
_from_numpy: Any = np.from_dlpack

_READ_ONLY = 1
"""A flag of ``DLManagedTensorVersioned``."""

_HOST_DEVICES = (1, 3, 13)
"""Memory that the CPU reads: its own, and pinned or managed memory of CUDA."""

_pointer_of = python_function(
    "PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p
)

_name_of = python_function("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)


def shared(array: Any, parameter: Parameter) -> Any:
    """A NumPy array on the memory of another library's array; anything else as it is.

    Args:
        array: an argument of a call that is no NumPy array.
        parameter: what it is given for.

    Raises:
        ArgumentError: its memory cannot be shared; the message says why.
    """
    if isinstance(array, np.generic):  # a number, whatever protocols it has
        return array
    learn(type(array), array)
    if hasattr(array, "__dlpack__"):
        return _from_dlpack(_without_gradient(array, parameter), parameter)
    if hasattr(array, "__array_interface__"):
        return _from_interface(array, parameter)
    return array


def quickly_shared(passed: tuple[Any, ...]) -> list[Array] | None:
    """NumPy arrays on the memory of arrays, if there is nothing to say about any.

    What NumPy does not read itself is left for `shared`, which knows more.

    Args:
        passed: the inputs of a call, then its output.

    Returns:
        The arrays; None if one is for `shared`, or all are NumPy's own.
    """
    arrays: list[Array] = list(passed)
    all_numpy = True
    try:
        for place, array in enumerate(passed):
            if type(array) is not _ARRAY:
                view = _quick_view(array)
                if view is None:
                    return None
                arrays[place] = view
                all_numpy = False
    except (
        *(AttributeError, BufferError, LookupError, OverflowError),
        *(RuntimeError, TypeError, ValueError),
    ):
        return None
    # An exporter from before version 1 says of no memory that it may be written.
    return None if all_numpy or not arrays[-1].flags.writeable else arrays


def _quick_view(array: Any) -> Array | None:
    """The array of `quickly_shared`, or None; raises whatever NumPy does."""
    if isinstance(array, _ARRAY):  # NumPy says nothing of a mask
        return None if isinstance(array, np.ma.MaskedArray) else np.asarray(array)
    learn(type(array), array)
    if getattr(array, "requires_grad", False) or _is_negated(array):
        return None
    view: Array
    if hasattr(array, "__dlpack__"):
        view = _from_numpy(array)  # new memory where there is none, as of lazy zeros
        return None if view.flags.owndata else view
    view = np.asarray(array)
    told = array.__array_interface__
    is_shared = pointer(view) == told["data"][0] and "mask" not in told
    return view if is_shared else None


def told_shape(array: Any) -> Any:
    """The shape that an ``__array_interface__`` says; None where there is none."""
    told = getattr(array, "__array_interface__", None)
    return told.get("shape") if isinstance(told, dict) else None


def _without_gradient(tensor: Any, parameter: Parameter) -> Any:
    """A tensor of PyTorch that no gradient is recorded for.

    Raises:
        ArgumentError: a gradient is wanted; its elements are not what is in memory.
    """
    if _is_negated(tensor):
        raise _refusal(parameter, "its elements are those of a view, negated")
    if not getattr(tensor, "requires_grad", False):
        return tensor
    torch = sys.modules.get("torch")
    if torch is None or torch.is_grad_enabled():
        raise ArgumentError(
            f"{parameter.role} requires a gradient, which kernels do not compute",
            "call the kernel under torch.no_grad(), or give tensor.detach()",
        )
    return tensor.detach()


def _is_negated(tensor: Any) -> bool:
    """Whether the elements of a tensor of PyTorch are the negative of what its memory
    holds, as the imaginary part of a conjugate: DLPack does not say so."""
    ask = getattr(tensor, "is_neg", None)
    return callable(ask) and bool(ask())


def _from_interface(exporter: Any, parameter: Parameter) -> Array:
    try:
        array = np.asarray(exporter)
        told = exporter.__array_interface__
        address = told.get("data")
        is_shared = isinstance(address, tuple) and pointer(array) == address[0]
    except (AttributeError, TypeError, ValueError, KeyError, OverflowError) as error:
        raise _refusal(parameter, str(error)) from error
    if not is_shared:
        raise _refusal(parameter, "NumPy would copy it")
    if told.get("mask") is not None:
        raise _refusal(parameter, "it has a mask, which kernels do not look at")
    return array


def _from_dlpack(exporter: Any, parameter: Parameter) -> Array:
    try:
        ask = getattr(exporter, "is_deleted", None)
        if callable(ask) and ask():
            raise BufferError("it was deleted, or donated to another function")
        device, _ = exporter.__dlpack_device__()
        if device not in _HOST_DEVICES:
            raise BufferError(f"it is on a device of type {int(device)}")
        try:
            capsule = exporter.__dlpack__(max_version=(1, 0))
        except TypeError:  # written before version 1
            capsule = exporter.__dlpack__()
        name = _name_of(capsule)
        if name not in (b"dltensor", b"dltensor_versioned"):
            raise BufferError("its capsule was used before")
    except (
        *(AttributeError, BufferError),
        *(RuntimeError, TypeError, ValueError),
    ) as error:
        raise _refusal(parameter, str(error).partition("\n")[0]) from error
    address = _pointer_of(capsule, name)
    if name == b"dltensor_versioned":
        managed = _Versioned.from_address(address)
        tensor, is_writable = managed.tensor, not managed.flags & _READ_ONLY
    else:  # does not say whether it may be written; JAX's must not
        tensor = _Tensor.from_address(address)
        is_writable = type(exporter).__module__.partition(".")[0] == "torch"
    return _view(tensor, capsule, is_writable, parameter)


def _view(
    tensor: _Tensor, capsule: Any, is_writable: bool, parameter: Parameter
) -> Array:
    """An array that keeps the capsule, and so the memory, alive."""
    dtype = _dtype(tensor, parameter)
    shape = tuple(tensor.shape[: tensor.rank])
    if tensor.strides:
        strides = tuple(tensor.strides[: tensor.rank])
    else:
        strides = tuple(math.prod(shape[axis + 1 :]) for axis in range(tensor.rank))
    if min(strides, default=0) < 0:
        raise _refusal(parameter, "it runs backwards")
    reach = sum(
        (size - 1) * stride for size, stride in zip(shape, strides, strict=True)
    )
    count = 0 if 0 in shape else reach + 1
    if count and not tensor.data:
        raise _refusal(parameter, "it has none, as a tensor of zeros that is lazy")
    start = (tensor.data or 0) + tensor.byte_offset
    kind: Any = ctypes.c_char * (count * dtype.itemsize)
    memory: Any = kind.from_address(start)
    memory.owner = capsule
    bytes_between = tuple(stride * dtype.itemsize for stride in strides)
    array: Array = np.ndarray(shape, dtype, memory, strides=bytes_between)
    array.flags.writeable = is_writable
    return array


def _dtype(tensor: _Tensor, parameter: Parameter) -> np.dtype[Any]:
    element = element_type_of_dlpack(tensor.code, tensor.bits)
    if element is None or tensor.lanes != 1:
        raise _refusal(parameter, "kernels have no such elements")
    return element.numpy


def _refusal(parameter: Parameter, reason: str) -> ArgumentError:
    return ArgumentError(
        f"the memory of {parameter.role} cannot be shared: {reason}",
        "give an array in the memory of the CPU that is not lazy or sparse (under "
        "jax.jit: call morello.jax.call(kernel))",
    )
