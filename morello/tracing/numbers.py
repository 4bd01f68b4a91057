"""Numbers as a graph has them, in float32: constants, truth values, whole numbers."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from morello.spec.graphs.expression import NAN, Constant, Expression
from morello.tracing.refusals import refusal

DTYPES: dict[str, np.dtype[Any]] = {
    "f": np.dtype(np.float32),
    "b": np.dtype(bool),
    "i": np.dtype(np.int64),
}
"""NumPy's dtype of each kind of number."""

_TESTS = frozenset(
    ufunc.__name__
    for ufunc in (
        np.equal,
        np.greater,
        np.greater_equal,
        np.isfinite,
        np.isinf,
        np.isnan,
        np.less,
        np.less_equal,
        np.logical_and,
        np.logical_not,
        np.logical_or,
        np.logical_xor,
        np.not_equal,
    )
)
_BITS = frozenset({"bitwise_and", "bitwise_or", "invert"})


def kind_of(ufunc: Any, inputs: Sequence[Any]) -> str:
    """The kind of what a function of elements gives; whole numbers become float32 in
    arithmetic."""
    if ufunc.__name__ in _TESTS:
        return "b"
    kinds = {getattr(one, "kind", "b") for one in inputs}
    return "b" if ufunc.__name__ in _BITS and kinds == {"b"} else "f"


def constant_of(number: Any) -> Expression:
    """The constant that a number is.

    Raises:
        MorelloError: it is finite, and float32 has no such number.
    """
    value = float(number)
    if math.isnan(value):
        return NAN
    with np.errstate(over="ignore"):
        rounded = np.float32(value)
    if np.isinf(rounded) and np.isfinite(value):
        raise refusal(
            f"the number {value:.3g} is too large for float32",
            "use np.finfo(np.float32).max, or np.inf",
        )
    return Constant(value)
