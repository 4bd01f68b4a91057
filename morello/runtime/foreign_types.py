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
import enum
import sys
from typing import Any

import numpy as np

from morello.python_api import python_function
from morello.runtime.element_types import element_type_of

MOST = 16
"""Types that the table has room for."""

DEVICE, DTYPE, SHAPE, STRIDES, OFFSET = 8, 20, 24, 32, 40
"""Offsets of the fields of a ``DLTensor``; its data is first, its rank before DTYPE."""

RANK = 16

TENSOR_BYTES = 48

BUFFER_BYTES = 80
"""Bytes of Python's ``Py_buffer``, whose fields follow."""

BUFFER_OWNER, BUFFER_RANK, BUFFER_FORMAT = 8, 36, 40
BUFFER_SHAPE, BUFFER_STRIDES = 48, 56

BUFFER_FLAGS = 0x1C
"""``PyBUF_RECORDS_RO``: shape, strides and format, of memory that is only read."""

CPU = 1
"""The device of a ``DLTensor`` in the memory of the CPU."""

MOST_AXES = 4
"""Maximum rank of an ``__array_interface__`` that machine code reads: a ``Py_buffer``
has room for its sizes and strides behind its owner."""

_KINDS = "iufb"
"""Letters of NumPy for elements that the buffer protocol has."""
_MAJOR = 1
"""The version of the structures that is read here."""

_FROM_OBJECT = 40
"""Offset of the function that describes an array in the capsule's structure."""


class Field(enum.IntEnum):
    """The words of a type in the table."""

    TYPE = 0
    DESCRIBE = 1
    """Address of the function of the library; 0 for the buffer protocol, or for
    ``__array_interface__`` where there are names."""
    MAY_WRITE = 2
    """1 if its arrays may be written, else 0."""
    GRADIENT = 3
    """The name of the attribute that says whether a gradient is wanted, or 0."""
    IS_NEGATED = 4
    """The name of the method that says whether elements are to be negated."""
    IS_RECORDING = 5
    """The function that says whether gradients are recorded."""
    FALSE = 6
    """Address of False."""
    NAMES = 7
    """The names that ``__array_interface__`` is read by (`Name`), or 0."""


class Name(enum.IntEnum):
    """The places of the tuple of names."""

    WHOLE = 0
    DATA = 1
    TYPESTR = 2
    SHAPE = 3
    STRIDES = 4
    MASK = 5
    NONE = 6
    """Of None, no name."""


WIDTH = len(Field)

_table: Any = (ctypes.c_int64 * (1 + MOST * WIDTH))()
"""The number of types, then their words."""

address = ctypes.addressof(_table)
"""Address of the table; it does not move."""

_names = (
    *map(
        sys.intern,
        ("__array_interface__", "data", "typestr", "shape", "strides", "mask"),
    ),
    None,
)

_kept: dict[type, tuple[Any, ...]] = {}
"""The types that were seen, with what the table has addresses of."""

_pointer_of = python_function(
    "PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p
)


def dtype_word(dtype: np.dtype[Any]) -> int:
    """The ``DLDataType`` of a dtype as one number; -1 where there is none."""
    element = element_type_of(dtype)
    if element is None:
        return -1
    return element.dlpack | 8 * dtype.itemsize << 8 | 1 << 16


def buffer_format(dtype: np.dtype[Any]) -> int:
    """The letter that the buffer protocol has for a dtype; -1 where there is none."""
    return ord(dtype.char) if dtype.isbuiltin == 1 and dtype.kind in _KINDS else -1


def typestr_word(dtype: np.dtype[Any]) -> int:
    """The ``typestr`` of a dtype as one number; -1 where there is none of 3 letters."""
    if dtype.isbuiltin != 1 or dtype.kind not in _KINDS or len(dtype.str) != 3:
        return -1
    return int.from_bytes(dtype.str.encode() + b"\0", "little")


def _is_of_jax(kind: type) -> bool:
    return kind.__name__ == "ArrayImpl" and kind.__module__.startswith("jaxlib.")


def _has_interface_alone(given: Any) -> bool:
    """Whether an object is read by ``__array_interface__`` and nothing else."""
    others = ("__dlpack__", "requires_grad", "is_neg")
    return not any(hasattr(given, name) for name in others) and hasattr(
        given, "__array_interface__"
    )


def learn(kind: type, given: Any = None) -> None:
    """Let calls read arrays of a type, if it says how. A subclass is another type.

    Args:
        kind: the type.
        given: one of its arrays, which may know more than its type does.
    """
    if kind in _kept or len(_kept) > 64 * MOST:
        return
    _kept[kind] = ()
    torch: Any = sys.modules.get("torch")
    of_torch = torch is not None and kind in (torch.Tensor, torch.nn.Parameter)
    capsule = getattr(kind, "__dlpack_c_exchange_api__", None)
    # What inherits it may hold no memory of its own, as torch's FakeTensor.
    is_own = of_torch or "__dlpack_c_exchange_api__" in vars(kind)
    describe = _describe(capsule) if capsule is not None and is_own else 0
    # NumPy's scalars have an interface to memory that is gone when it is read.
    is_scalar = issubclass(kind, np.generic)
    by_interface = not describe and not is_scalar and _has_interface_alone(given)
    if not (describe or by_interface or _is_of_jax(kind)) or _table[0] == MOST:
        return
    may_write = int(of_torch or by_interface)
    words: list[Any] = [kind, describe, may_write, 0, 0, 0, False, 0]
    if by_interface:
        words[Field.NAMES] = _names
    elif of_torch:
        names = [sys.intern("requires_grad"), sys.intern("is_neg")]
        words[Field.GRADIENT : Field.FALSE] = [*names, torch.is_grad_enabled]
    elif hasattr(kind, "requires_grad"):
        return
    _kept[kind] = tuple(words)
    start = 1 + _table[0] * WIDTH
    for place, word in enumerate(words):
        is_number = place in (Field.DESCRIBE, Field.MAY_WRITE) or word == 0
        _table[start + place] = word if is_number else id(word)
    _table[start + Field.FALSE] = id(False)
    _table[0] += 1


def _describe(capsule: Any) -> int:
    """The address of the function that describes an array; 0 where there is none."""
    try:
        start = _pointer_of(capsule, b"dlpack_exchange_api")
    except (TypeError, ValueError):
        return 0
    if ctypes.c_uint32.from_address(start).value != _MAJOR:
        return 0
    return ctypes.c_size_t.from_address(start + _FROM_OBJECT).value
