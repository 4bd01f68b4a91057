"""Operands of functions as traced arrays, and results in NumPy's dtypes."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from morello.spec.graphs.expression import Call, Reference
from morello.tracing.numbers import (
    BOOL,
    F32,
    INT32,
    check_numbers,
    element_type,
    is_narrow,
    is_whole,
)
from morello.tracing.recording import Recording
from morello.tracing.refusals import refusal
from morello.tracing.tracer import Shape, Tracer, numbers_of, whole


def argument(
    recording: Recording, number: int, shape: Sequence[int], dtype: np.dtype[Any] = F32
) -> Tracer:
    """A tracer for an argument of the traced function."""
    _check(tuple(shape))
    element = element_type(dtype)
    assert element is not None
    return whole(recording, recording.argument(number, tuple(shape), element), dtype)


def traced(recording: Recording, operand: Any) -> Tracer | None:
    """A value of the program; None for a number, which is a constant."""
    if isinstance(operand, Tracer):
        if operand._recording is not recording:
            raise refusal("a value of another function that is traced is used")
        return operand
    if isinstance(operand, int | float | np.integer | np.floating | np.bool_):
        return None
    array = np.asarray(operand)
    check_numbers(operand, array.dtype)
    if array.ndim == 0:
        return None
    _check(array.shape)
    if is_narrow(array.dtype):
        return whole(recording, recording.array(array), array.dtype)
    number = whole(recording, recording.array(np.asarray(array, np.float32)))
    number.dtype = BOOL if array.dtype == BOOL else F32
    return number


def _check(shape: Shape) -> None:
    if any(extent < 1 for extent in shape):
        raise refusal(f"an array of shape {shape} has no elements")


def tracers(arguments: Any) -> Iterator[Tracer]:
    """The traced arrays among arguments."""
    if isinstance(arguments, Tracer):
        yield arguments
    elif isinstance(arguments, dict | list | tuple):
        for one in arguments.values() if isinstance(arguments, dict) else arguments:
            yield from tracers(one)


def widened(operand: Any, as_numbers: bool = False) -> Any:
    """An operand as f32: narrow floats always, integers on request."""
    is_read = isinstance(operand, Tracer) and (
        is_narrow(operand.dtype) or (as_numbers and operand.is_integer)
    )
    return numbers_of(operand) if is_read else operand


def as_narrow(operand: Any, dtype: np.dtype[Any]) -> Any:
    """A number of Python beside an array of narrow floats, whose dtype it takes."""
    if not is_narrow(dtype):
        return operand
    if type(operand) in (int, float):
        with np.errstate(over="ignore"):
            return float(np.asarray(operand, dtype))
    is_number = getattr(operand, "is_number", False)
    return rounded(operand, dtype, "a number") if is_number else operand


def wide(arguments: Any, as_numbers: bool) -> Any:
    """Arguments with widened arrays."""
    if isinstance(arguments, dict):
        return {name: wide(one, as_numbers) for name, one in arguments.items()}
    if isinstance(arguments, list | tuple):
        several = list if isinstance(arguments, list) else tuple
        return several(wide(one, as_numbers) for one in arguments)
    return widened(arguments, as_numbers)


def rounded(
    result: Tracer, dtype: np.dtype[Any], name: str, is_exact: bool = False
) -> Tracer:
    """An array of NumPy's dtype, of what is computed.

    Args:
        result: computed in f32 or s32.
        dtype: of the array.
        name: of the function, for messages.
        is_exact: whether its elements have that dtype, whatever computes them.

    Raises:
        MorelloError: integers may be too large for what computes them.
    """
    element = result.element
    if result.dtype == dtype or element_type(dtype) is element:
        result.dtype = dtype
        return result
    if is_narrow(dtype):
        narrow = element_type(dtype)
        assert narrow is not None
        read = Call(narrow.rounding, (Reference(0),))
        rounded_tensor = result._recording.computed(
            result._access, result._shape, read, narrow
        )
        array = whole(result._recording, rounded_tensor, dtype)
        array._owns_memory = result._owns_memory
        return array
    has_all = is_exact and dtype.itemsize < INT32.itemsize  # numbers of f32
    if is_whole(dtype) and not has_all:
        raise refusal(
            f"{name} of {dtype} is not traced",
            "write x.astype(np.float32), or x.astype(np.int32) for +, -, *, @, abs, "
            "maximum and minimum",
        )
    result.dtype = dtype
    return result
