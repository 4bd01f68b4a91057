"""New arrays: their shape, contents and alignment."""

import ml_dtypes
import numpy as np
import pytest

from morello import new_arrays

pytestmark = pytest.mark.quick

SHAPES = ((), (0,), (3, 5), (7, 100, 131), (1, 1 << 17))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["float32", "int8", "bfloat16"])
def test_new_arrays_are_ordinary_arrays(shape: tuple[int, ...], name: str) -> None:
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    for make in (new_arrays.empty, new_arrays.zeros):
        for _ in range(3):
            array = make(shape, dtype)
            assert (array.shape, array.dtype) == (shape, dtype)
            assert array.flags.c_contiguous
            assert array.flags.writeable
            assert array.flags.aligned
            if array.nbytes >= new_arrays.LARGE:
                assert array.ctypes.data % new_arrays.ALIGNMENT == 0
            if make is new_arrays.zeros:
                assert not array.view(np.uint8).any() if shape else array == 0
            array[...] = 1
            assert (array == 1).all()
