"""Operands in ``.npy`` files: read for a Spec's operand, written all or nothing."""

import io
from typing import Any

import numpy as np

from morello.spec import Array, Spec
from morello.tools.input_output import InputError, UsageError, write_output


def read_operand(path: str, spec: Spec, operand: int) -> Array:
    """The array in a file, in one of the `logical_shapes` of an operand.

    bf16 is what `numpy.save` makes of it: untyped elements of 2 bytes.

    Raises:
        UsageError: the file cannot be read.
        InputError: it holds no array, or one of another dtype or shape.
    """
    name = f"input '{spec.kind.operands[operand].name}'"
    array = _load(path, name)
    dtype = spec.dtypes[operand].numpy
    if dtype.kind == "V" and array.dtype == np.dtype(f"V{dtype.itemsize}"):
        array = array.view(dtype)
    if array.dtype != dtype:
        raise InputError(
            f"{name}: {path} has dtype {_dtype_name(array.dtype)}, not {dtype.name}",
            f"convert it, e.g. array.astype('{dtype.name}')",
        )
    shapes = logical_shapes(spec, operand)
    if array.shape not in shapes:
        wanted = " or ".join(map(str, shapes))
        raise InputError(
            f"{name}: {path} has shape {array.shape}, not {wanted}",
            "give the array in the order of the Spec's dimensions, whatever its layout",
        )
    return array


def logical_shapes(spec: Spec, operand: int) -> tuple[tuple[int, ...], ...]:
    """The shapes in which an operand may come, the full one first.

    The others lack leading dimensions that the kind may leave out, where they are 1.
    """
    shape = spec.shape(operand)
    left_out = range(spec.kind.optional_dims + 1)
    return tuple(shape[n:] for n in left_out if all(s == 1 for s in shape[:n]))


def write_operands(path: str, arrays: dict[str, Array]) -> None:
    """Write an array as a ``.npy`` file, several by name as an ``.npz`` file.

    For ``-`` to the standard output.

    Raises:
        UsageError: it cannot be written.
    """
    buffer = io.BytesIO()
    first, *others = arrays.values()
    if others:
        named: Any = arrays
        np.savez(buffer, **named)
    else:
        np.save(buffer, first, allow_pickle=False)
    write_output(path, buffer.getvalue())


def _load(path: str, name: str) -> Array:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 (a pipe has no size to map)
            return np.lib.format.read_array(file, allow_pickle=False)
    except OSError as error:
        raise UsageError(
            f"{name}: cannot read {path}: {error.strerror or error}",
            "give a .npy file as numpy.save writes it",
        ) from error
    except (ValueError, EOFError, MemoryError) as error:
        raise InputError(
            f"{name}: {path} is not a .npy file of numbers: {_first_line(error)}",
            "write one with numpy.save(path, array)",
        ) from error


def _dtype_name(dtype: "np.dtype[np.generic]") -> str:
    return dtype.name if dtype.isnative else f"{dtype.name} of the other byte order"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
