"""Operands in ``.npy`` files: read for a Spec's operand, written all or nothing."""

import dataclasses
import io
import math
from typing import Any, BinaryIO

import numpy as np

from morello.errors import shortened
from morello.spec import Array, Spec
from morello.tools.input_output import InputError, UsageError, write_output


def read_operand(path: str, spec: Spec, operand: int) -> Array:
    """The array in a file, in one of the `logical_shapes` of an operand.

    Raises:
        UsageError, InputError: as `read_array`.
    """
    name = f"input '{spec.kind.operands[operand].name}'"
    dtype = spec.dtypes[operand].numpy
    return read_array(path, name, dtype, logical_shapes(spec, operand))


def read_array(
    path: str,
    name: str,
    dtype: "np.dtype[np.generic]",
    shapes: tuple[tuple[int, ...], ...],
) -> Array:
    """The array in a file, of a dtype and one of some shapes.

    bf16 is what `numpy.save` makes of it: untyped elements of 2 bytes.

    Args:
        name: what it is for, as errors begin.

    Raises:
        UsageError: the file cannot be read.
        InputError: it holds no array, or one of another dtype or shape.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123 (a pipe has no size to map)
            header = _header(file, name, path)
            _check(header, dtype, shapes, name, path)
            return _data(file, header, name, path).view(dtype)
    except OSError as error:
        raise UsageError(
            f"{name}: cannot read {path}: {error.strerror or error}",
            "give a .npy file as numpy.save writes it",
        ) from error


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


@dataclasses.dataclass(frozen=True)
class _Header:
    """Header of a ``.npy`` file."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: "np.dtype[np.generic]"


_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
"""By version; later ones are for names of fields, which no operand has."""


def _header(file: BinaryIO, name: str, path: str) -> _Header:
    """The header of a file.

    Raises:
        InputError: there is none, or it cannot be read.
    """
    try:
        version = np.lib.format.read_magic(file)
        if version not in _READERS:
            raise ValueError(f"its format is version {version[0]}.{version[1]}")
        return _Header(*_READERS[version](file))
    except OSError:
        raise
    except Exception as error:
        # NumPy's parsers let through whatever a damaged header makes them raise.
        raise InputError(
            f"{name}: {path} is not a .npy file of numbers: {_first_line(error)}",
            "write one with numpy.save(path, array)",
        ) from error


def _check(
    header: _Header,
    dtype: "np.dtype[np.generic]",
    shapes: tuple[tuple[int, ...], ...],
    name: str,
    path: str,
) -> None:
    """Refuse an array of another dtype or shape before its data are read.

    Raises:
        InputError: it is.
    """
    bits = np.dtype(f"V{dtype.itemsize}")
    if header.dtype != dtype and not (dtype.kind == "V" and header.dtype == bits):
        raise InputError(
            f"{name}: {path} has dtype {_dtype_name(header.dtype)}, not {dtype.name}",
            f"convert it, e.g. array.astype('{dtype.name}')",
        )
    if header.shape not in shapes:
        wanted = " or ".join(map(str, shapes))
        raise InputError(
            f"{name}: {path} has shape {_shape_text(header.shape)}, not {wanted}",
            "give the array in the order of the Spec's dimensions, whatever its layout",
        )


def _data(file: BinaryIO, header: _Header, name: str, path: str) -> Array:
    """The elements behind a header.

    Raises:
        InputError: there are too few.
    """
    data = bytearray(math.prod(header.shape) * header.dtype.itemsize)
    view, read = memoryview(data), 0
    while read < len(data):
        more = file.readinto(view[read:])  # type: ignore[attr-defined]
        if not more:
            raise InputError(
                f"{name}: {path} is not a .npy file of numbers: it ends after {read} "
                f"of {len(data)} bytes",
                "write it again with numpy.save(path, array)",
            )
        read += more
    flat = np.frombuffer(data, header.dtype)
    return flat.reshape(header.shape, order="F" if header.is_fortran else "C")


def _shape_text(shape: tuple[int, ...]) -> str:
    if len(shape) <= _MOST_DIMS:
        return shortened(str(shape))
    return f"of {len(shape)} dimensions"


_MOST_DIMS = 16


def _dtype_name(dtype: "np.dtype[np.generic]") -> str:
    name = shortened(dtype.name)
    return name if dtype.isnative else f"{name} of the other byte order"


def _first_line(error: Exception) -> str:
    return shortened((str(error).splitlines() or [type(error).__name__])[0])
