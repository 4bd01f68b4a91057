"""Say why an array does not fit a parameter: the slow way of `arguments.py`."""

from typing import Any

import numpy as np

from morello.errors import ArgumentError
from morello.runtime.parameter import Parameter


def diagnose(array: Any, parameter: Parameter) -> None:
    """Check one argument, the most telling property first.

    Raises:
        ArgumentError: names the parameter, the reason and the remedy.
    """
    diagnose_form(array, parameter)
    _check_memory(array, parameter)


def diagnose_form(array: Any, parameter: Parameter) -> None:
    """Check what an argument is, wherever and however it lies in memory.

    Raises:
        ArgumentError: names the parameter, the reason and the remedy.
    """
    _check_kind(array, parameter)
    _check_dtype(array, parameter)
    _check_shape(array, parameter)


def _check_kind(array: Any, parameter: Parameter) -> None:
    """Only arrays: anything else would have to be copied into one."""
    role = parameter.role
    if isinstance(array, np.ma.MaskedArray):
        raise ArgumentError(
            f"{role} is a masked array, whose mask would be ignored",
            "give numpy.ma.filled(array, value)",
        )
    if isinstance(array, np.ndarray):
        return
    what = f"{role} is not a NumPy array but {_kind_name(array)}"
    if parameter.is_output:
        raise ArgumentError(
            what, f"give numpy.empty({parameter.shape}, {parameter.dtype.name!r})"
        )
    if hasattr(array, "__dlpack__"):
        raise ArgumentError(what, "share its memory with numpy.from_dlpack(array)")
    raise ArgumentError(
        what, f"make one with numpy.asarray(value, dtype={parameter.dtype.name!r})"
    )


def _kind_name(value: Any) -> str:
    """The type of a value with its module, unless that is the builtins."""
    kind = type(value)
    if value is None:
        return "None"
    if kind.__module__ == "builtins":
        return f"a {kind.__name__}"
    return f"a {kind.__module__}.{kind.__qualname__}"


def _check_dtype(array: np.ndarray[Any, Any], parameter: Parameter) -> None:
    """The same elements in the machine's byte order."""
    wanted = parameter.dtype
    if array.dtype == wanted:
        return
    if array.dtype.newbyteorder() == wanted:
        raise ArgumentError(
            f"{parameter.role} is {wanted.name} in the byte order of other machines",
            f"give array.astype({wanted.name!r})",
        )
    raise ArgumentError(
        f"{parameter.role} has dtype {array.dtype.name}, expected {wanted.name}",
        f"give array.astype({wanted.name!r}), or a Spec of its dtype",
    )


def _check_shape(array: np.ndarray[Any, Any], parameter: Parameter) -> None:
    """One of the shapes that are taken; a shape is never broadcast."""
    if array.shape in parameter.shapes:
        return
    wanted = " or ".join(map(str, parameter.shapes))
    if array.ndim not in {len(shape) for shape in parameter.shapes}:
        ranks = " or ".join(str(len(shape)) for shape in parameter.shapes)
        raise ArgumentError(
            f"{parameter.role} has {array.ndim} dimensions, shape {array.shape}, "
            f"expected {ranks}: {wanted}",
            "reshape it, or compile a Spec of its shape",
        )
    raise ArgumentError(
        f"{parameter.role} has shape {array.shape}, expected {wanted}",
        "give an array of that shape, or compile a Spec of its shape",
    )


def _check_memory(array: np.ndarray[Any, Any], parameter: Parameter) -> None:
    """Row-major without gaps, aligned to its elements, writeable if it is written."""
    if not array.flags.c_contiguous:
        remedy = "give numpy.ascontiguousarray(array)"
        if parameter.is_output:
            remedy = "give a contiguous array and copy the result out of it"
        raise ArgumentError(
            f"{parameter.role} is not contiguous in row-major order: it has strides "
            f"{array.strides} bytes",
            remedy,
        )
    if not array.flags.aligned:
        raise ArgumentError(
            f"{parameter.role} is not aligned to its elements of "
            f"{parameter.dtype.itemsize} bytes",
            "give array.copy()",
        )
    if parameter.is_output and not array.flags.writeable:
        raise ArgumentError(
            f"{parameter.role} is read-only",
            "give a writeable array, e.g. array.copy()",
        )
