"""Functions of Python's C API keep their types, whatever others do with ctypes."""

import pytest

from tests.guarded import check_in_child

pytestmark = pytest.mark.quick

NAMES = (
    "PyCapsule_GetPointer",
    "PyCapsule_GetName",
    "PyCFunction_NewEx",
    "Py_IncRef",
    "PyThreadState_Get",
    "PyGILState_GetThisThreadState",
)


def test_a_kernel_runs_where_another_library_has_set_types() -> None:
    def child() -> list[float]:
        import ctypes

        import numpy as np

        import morello

        for name in NAMES:
            function = getattr(ctypes.pythonapi, name)
            function.argtypes, function.restype = [ctypes.c_int16] * 2, ctypes.c_int8
        kernel = morello.compile("max:1x3:f32", threads=1)
        array = np.array([[1, 3, 2]], np.float32)
        return [float(kernel(array)[0]), float(kernel(Shared(array))[0])]

    assert check_in_child(child, seconds=100) == [3.0, 3.0]


class Shared:
    """An array that another library shares by DLPack alone."""

    def __init__(self, array: object) -> None:
        self._array = array

    def __dlpack__(self, **options: object) -> object:
        return self._array.__dlpack__(**options)  # type: ignore[attr-defined]

    def __dlpack_device__(self) -> object:
        return self._array.__dlpack_device__()  # type: ignore[attr-defined]
