"""Rows of element types: names that other libraries themselves give."""

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from morello.python_api import python_function
from morello.runtime.element_types import (
    ELEMENT_TYPES,
    ElementType,
    element_type_of,
    element_type_of_dlpack,
)
from morello.spec import Dtype

IDS = [row.numpy.name for row in ELEMENT_TYPES]


def test_every_dtype_of_a_spec_has_a_row() -> None:
    assert all(element_type_of(dtype.numpy) is not None for dtype in Dtype)


@pytest.mark.parametrize("row", ELEMENT_TYPES, ids=IDS)
def test_a_row_is_found_by_each_of_its_names(row: ElementType) -> None:
    assert element_type_of(row.numpy) is row
    assert element_type_of_dlpack(row.dlpack, 8 * row.numpy.itemsize) is row


class _Tensor(ctypes.Structure):
    """The fields of a ``DLTensor`` up to its dtype."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
    )


@pytest.mark.parametrize(
    "row", [r for r in ELEMENT_TYPES if r.numpy != ml_dtypes.bfloat16], ids=str
)
def test_numpy_exports_the_same_code(row: ElementType) -> None:
    capsule: Any = np.zeros(3, row.numpy).__dlpack__()
    pointer = python_function(
        "PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p
    )
    tensor = _Tensor.from_address(pointer(capsule, b"dltensor"))
    assert (tensor.code, tensor.bits) == (row.dlpack, 8 * row.numpy.itemsize)


def test_another_byte_order_has_no_row() -> None:
    assert element_type_of(np.dtype(">f4")) is None
    assert element_type_of(np.dtype(np.complex64)) is None
    assert element_type_of_dlpack(2, 80) is None
