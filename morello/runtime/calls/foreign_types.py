"""Types of other libraries whose arrays machine code can read at a call.

A type may have ``__dlpack_c_exchange_api__``, a capsule with functions of C: one of
them describes an array without handing it over, in ten nanoseconds. PyTorch has it.
https://dmlc.github.io/dlpack/latest/c_api.html has the structures.

JAX has it not, but lets arrays be read by Python's buffer protocol, which is slower.
Arrays that have nothing but ``__array_interface__`` are read by that.

`learn` puts a type into a table of the process that calls look up; every other type
goes the way of `foreign_arrays.py`.
"""

import ctypes
import sys
from typing import Any

import numpy as np

from morello.python_api import python_function
from morello.runtime.calls.glue import TYPES, Type, code, process

_MAJOR = 1
"""The version of the capsule's structure that is read here."""

_FROM_OBJECT = 40
"""Offset of the function that describes an array in that structure."""

_INTERFACE = (
    *map(
        sys.intern,
        ("__array_interface__", "data", "typestr", "shape", "strides", "mask"),
    ),
    None,
)
"""The names that ``c/foreign.c`` reads an ``__array_interface__`` by, in its order."""

_learnt: dict[type, tuple[Any, ...]] = {}
"""The types that were seen, with what the table has addresses of."""

_pointer_of = python_function(
    "PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p
)


def _is_of_jax(kind: type) -> bool:
    return kind.__name__ == "ArrayImpl" and kind.__module__.startswith("jaxlib.")


def _has_interface_alone(array: Any) -> bool:
    """Whether an object is read by ``__array_interface__`` and nothing else."""
    others = ("__dlpack__", "requires_grad", "is_neg")
    return not any(hasattr(array, name) for name in others) and hasattr(
        array, "__array_interface__"
    )


def learn(kind: type, array: Any = None) -> None:
    """Let calls read arrays of a type, if it says how. A subclass is another type.

    Args:
        kind: the type.
        array: one of its arrays, which may know more than its type does.
    """
    if kind in _learnt or len(_learnt) > 64 * TYPES:
        return
    _learnt[kind] = ()
    torch: Any = sys.modules.get("torch")
    of_torch = torch is not None and kind in (torch.Tensor, torch.nn.Parameter)
    capsule = getattr(kind, "__dlpack_c_exchange_api__", None)
    # What inherits it may hold no memory of its own, as torch's FakeTensor.
    declares_it = of_torch or "__dlpack_c_exchange_api__" in vars(kind)
    describe = _describe(capsule) if capsule is not None and declares_it else 0
    # NumPy's scalars have an interface to memory that is gone when it is read.
    is_scalar = issubclass(kind, np.generic)
    by_interface = not describe and not is_scalar and _has_interface_alone(array)
    table = process()
    if not (describe or by_interface or _is_of_jax(kind)) or table.types == TYPES:
        return
    held: dict[str, Any] = {"type": kind}
    if by_interface:
        held["names"] = _INTERFACE
    elif of_torch:
        held["gradient"] = sys.intern("requires_grad")
        held["is_negated"] = sys.intern("is_neg")
        held["is_recording"] = torch.is_grad_enabled
    elif hasattr(kind, "requires_grad"):
        return
    _learnt[kind] = tuple(held.values())
    addresses = {name: id(value) for name, value in held.items()}
    may_write = int(of_torch or by_interface)
    table.type[table.types] = Type(describe=describe, may_write=may_write, **addresses)
    table.view = code("foreign").address("view_of_other")
    table.types += 1


def _describe(capsule: Any) -> int:
    """The address of the function that describes an array; 0 where there is none."""
    try:
        start = _pointer_of(capsule, b"dlpack_exchange_api")
    except (TypeError, ValueError):
        return 0
    if ctypes.c_uint32.from_address(start).value != _MAJOR:
        return 0
    return ctypes.c_size_t.from_address(start + _FROM_OBJECT).value
