"""Numbers of Python and NumPy as constants of a program, in float32."""

import math
from typing import Any

import numpy as np

from morello.spec.graphs.expression import NAN, Constant, Expression
from morello.tracing.refusals import refusal


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
