"""Say why an array does not fit a parameter: the slow way of `arguments.py`."""

from typing import Any

import numpy as np

from morello.errors import ArgumentError
from morello.runtime.calls.parameter import Parameter


def diagnose(array: Any, parameter: Parameter) -> None:
    """Check one argument, the most telling property first.

    Raises:
        ArgumentError: names the parameter, the reason and the remedy.
    """
    _check_kind(array, parameter)
    _check_dtype(array, parameter)
    if not parameter.lies_as_one(array.shape, array.strides):
        if array.shape not in [shape for shape, _ in parameter.forms]:
            _check_shape(array, parameter)
        raise _wrong_strides(array, parameter)
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
    """Refuse what is no array: it would have to be copied into one."""
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
        raise ArgumentError(what, f"give {_of_right_dtype(parameter)}")
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


def _of_right_dtype(parameter: Parameter) -> str:
    """Python text that makes an array of the right dtype."""
    if parameter.is_output:
        return f"numpy.empty({parameter.shape}, {parameter.dtype.name!r})"
    return f"array.astype({parameter.dtype.name!r})"


def _check_dtype(array: np.ndarray[Any, Any], parameter: Parameter) -> None:
    """Refuse an array of another dtype or byte order."""
    wanted = parameter.dtype
    if array.dtype == wanted:
        return
    if array.dtype.newbyteorder() == wanted:
        raise ArgumentError(
            f"{parameter.role} is {wanted.name} in the byte order of other machines",
            f"give {_of_right_dtype(parameter)}",
        )
    raise ArgumentError(
        f"{parameter.role} has dtype {array.dtype.name}, expected {wanted.name}",
        f"give {_of_right_dtype(parameter)}, or a Spec of its dtype",
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
    """Aligned to its elements, writeable if it is written."""
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


def _wrong_strides(array: np.ndarray[Any, Any], parameter: Parameter) -> ArgumentError:
    """An array of a shape that is taken lies in memory as none is."""
    logical = [shape for shape, _ in parameter.views]
    if array.shape in logical and array.shape not in parameter.shapes:
        return ArgumentError(
            f"{parameter.role} of shape {array.shape} does not lie as its Spec says: "
            f"it has strides {array.strides} bytes",
            f"give kernel.pack(array, {parameter.name!r}), or a Spec of its layout",
        )
    if parameter.any_row:
        return ArgumentError(
            f"{parameter.role} has strides {array.strides} bytes, but must have whole "
            f"rows of {parameter.shape[-1]} elements, equal distances of at least as "
            "much from row to row, and nothing between its batches but rows",
            "give a view of some columns of a row-major array, or a copy",
        )
    if parameter.strides:
        wanted = " or ".join(
            str(strides) for shape, strides in parameter.forms if shape == array.shape
        )
        return ArgumentError(
            f"{parameter.role} has strides {array.strides} bytes, expected {wanted}",
            "give a view with rows as far apart as the Spec says, or compile a Spec "
            "with its leading dimension",
        )
    remedy = "give numpy.ascontiguousarray(array)"
    if parameter.is_output:
        remedy = "give a contiguous array and copy the result out of it"
    row = _leading_dimension(array, parameter)
    if row:
        remedy += (
            f", or compile a Spec with {parameter.name}=ld{row}, or "
            f"{parameter.name}=ld? for rows any distance apart"
        )
    return ArgumentError(
        f"{parameter.role} is not contiguous in row-major order: it has strides "
        f"{array.strides} bytes",
        remedy,
    )


def _leading_dimension(array: np.ndarray[Any, Any], parameter: Parameter) -> int:
    """The leading dimension with which a Spec would take an array; 0 if none would."""
    if array.ndim < 2 or parameter.views:
        return 0
    row, rest = divmod(array.strides[-2], array.itemsize)
    fits = rest == 0 and row > array.shape[-1]
    steps = [1, row]
    for extent in reversed(array.shape[1:-1]):
        steps.append(steps[-1] * extent)
    wanted = [step * array.itemsize for step in reversed(steps)]
    axes = zip(array.shape, array.strides, wanted, strict=True)
    return row if fits and all(n == 1 or a == b for n, a, b in axes) else 0
