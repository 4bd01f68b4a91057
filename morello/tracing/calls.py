"""Calls of NumPy on a `Tracer`: functions of elements, other functions, and `+=`."""

from typing import Any

import numpy as np

from morello.tracing.numbers import (
    BOOL,
    F32,
    REMAINDERS,
    dtype_by_numpy,
    dtypes_of,
    together,
)
from morello.tracing.operands import as_narrow, rounded, tracers, wide, widened
from morello.tracing.refusals import called, not_traced, noted, refusal
from morello.tracing.tracer import CHOOSING, FUNCTIONS, METHODS, UFUNCS, Tracer

_SIGNS = {np.add: "+", np.subtract: "-", np.multiply: "*", np.divide: "/"}


def call_ufunc(
    ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A function of elements of arrays, some of which are traced."""
    if ufunc is np.multiply and method == "outer":
        return FUNCTIONS[np.outer](*inputs, flat=False)
    if method != "__call__" or any(v is not None for v in kwargs.values()):
        options = ", ".join(kwargs) or "no options"
        raise refusal(
            f"np.{ufunc.__name__}.{method} with {options} is not traced"
            if method != "__call__"
            else f"np.{ufunc.__name__} with {options} is not traced",
            "call the function itself, and let it make a new array",
        )
    known = UFUNCS.get(ufunc)
    if known is None:
        raise not_traced(f"np.{ufunc.__name__}", {f.__name__ for f in UFUNCS})
    try:
        dtype, taken = dtypes_of(ufunc, inputs)
        as_numbers = dtype.kind == "f" and ufunc not in REMAINDERS
        numbers = map(as_narrow, inputs, taken)
        result = known(*(widened(one, as_numbers) for one in numbers))
    except Exception as error:
        noted(error)
        raise
    is_exact = ufunc in CHOOSING
    return rounded(result, dtype, f"np.{ufunc.__name__}", is_exact)


def call_function(function: Any, args: Any, kwargs: Any) -> Any:
    """Another function of NumPy of arrays, some of which are traced."""
    module = str(getattr(function, "__module__", "numpy"))
    name = f"{module.replace('numpy', 'np', 1)}.{function.__name__}"
    known = FUNCTIONS.get(function)
    if known is None:
        raise not_traced(name, {f.__name__ for f in FUNCTIONS})
    dtypes = [one.dtype for one in tracers((args, kwargs))]
    if all(dtype == F32 for dtype in dtypes):
        return called(known, name, args, kwargs)
    dtype = dtype_by_numpy(function, args, kwargs) or together(dtypes)
    as_numbers = dtype.kind == "f" and function not in REMAINDERS
    result = called(known, name, *wide((args, kwargs), as_numbers))
    for one in result if isinstance(result, list) else []:
        one.dtype = dtype  # parts of an array
    is_exact = function in CHOOSING
    is_array = isinstance(result, Tracer)
    return rounded(result, dtype, name, is_exact) if is_array else result


def change(array: Tracer, ufunc: Any, other: Any) -> Tracer:
    """`+=` and its kin: another array under the same name.

    Raises:
        MorelloError: it is an argument, or seen otherwise too, where NumPy would
            change both.
    """
    sign = _SIGNS[ufunc]
    if not array._owns_memory:
        raise refusal(
            f"{sign}= on an argument, or on a part of an array, is not traced",
            f"write x = x {sign} …, which makes a new array",
        )
    changed: Tracer = ufunc(array, other)
    if array.dtype == BOOL != changed.dtype:
        raise refusal(f"{sign}= of truth values gives {changed.dtype}")
    if changed.shape != array.shape:
        raise refusal(
            f"{sign}= of an array {array.shape} has the shape {changed.shape}",
            f"write x = x {sign} …, which makes a new array",
        )
    array._access = rounded(changed, array.dtype, f"{sign}=")._access
    return array


METHODS["ufunc"] = call_ufunc
METHODS["function"] = call_function
METHODS["change"] = change
