"""Cases of NumPy's functions of elements, and of its reductions."""

import numpy as np

from tests.conformance import array_elements
from tests.conformance.arguments import DENORMAL, SPECIAL, Case
from tests.conformance.array_elements import named

_ONE = "fabs positive degrees logical_not"
_TWO = "true_divide not_equal logical_and logical_or logical_xor"
_REDUCTIONS = "amin amax nanstd"


def cases() -> dict[str, Case]:
    """All cases by name."""
    return array_elements.cases(
        np,
        np.concatenate([SPECIAL, DENORMAL]),
        named(np, _ONE),
        named(np, _TWO),
        named(np, _REDUCTIONS) | {"percentile": _percentile},
    )


def _percentile(x: np.ndarray, axis: int | None = None) -> np.ndarray:
    return np.percentile(x, 30, axis=axis)
