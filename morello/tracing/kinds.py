"""NumPy's dtypes of what a graph has as float32: truth values and whole numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

DTYPES: dict[str, np.dtype[Any]] = {
    "f": np.dtype(np.float32),
    "b": np.dtype(bool),
    "i": np.dtype(np.int64),
}

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
