"""Functions of numbers that are off by a known error: `bounded_call`.

The bound is that of a running error analysis: each number comes with what it may be off
by, and each function says what becomes of that (Higham, "Accuracy and Stability of
Numerical Algorithms", 2002, section 3.3).
"""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np

from morello.spec.functions import ROWS

Array = np.ndarray[Any, np.dtype[Any]]

UNIT_ROUNDOFF = 2.0**-24
"""u of f32: the relative error of one rounding is at most this."""

UNDERFLOW = 2.0**-149
"""An absolute error of one operation below the normal numbers."""


@dataclasses.dataclass(frozen=True)
class Bounded:
    """Numbers in f64, and how far from them those in f32 may be."""

    number: Array
    error: Array


def bounded_call(name: str, *arguments: Bounded) -> Bounded:
    """A function of expressions, computed in f32."""
    if name == "where":
        return _chosen(*arguments)
    if name in _BY_RULE:
        return _binary(name, *arguments)
    return _function(name, *arguments)


def _function(name: str, *arguments: Bounded) -> Bounded:
    """A function that is monotone within the errors of its arguments, or nearly."""
    row = ROWS[name]
    number = row.exact(*(x.number for x in arguments))
    signs = itertools.product((-1, 1), repeat=len(arguments))
    moved = [row.exact(*map(_moved, arguments, each)) - number for each in signs]
    uncertain = sum(x.error for x in arguments)
    error = np.where(uncertain == 0, 0.0, np.max(np.abs(moved), axis=0))
    if row.most_change < math.inf:  # a wave: within its error it may turn
        reach = np.minimum(uncertain, row.most_change)
        error = np.maximum(error, reach)
    if row.jump:
        jump = row.jump(*(x.number for x in arguments))
        error = np.maximum(error, np.where(uncertain == 0, 0.0, jump))
    if not row.ulps:
        return Bounded(number, error)
    relative = row.ulps * 2 * UNIT_ROUNDOFF + row.relative
    return Bounded(number, error + relative * (np.abs(number) + error) + row.least)


def _moved(x: Bounded, sign: int) -> Array:
    moved: Array = x.number + sign * x.error
    return moved


_BY_RULE = frozenset(
    {
        "add", "div", "equal", "less", "less_equal", "maximum", "minimum", "mul", "sub",
    }
)  # fmt: skip
"""Functions of two numbers that say themselves what becomes of errors."""


def _binary(name: str, a: Bounded, b: Bounded) -> Bounded:
    match name:
        case "add" | "sub":
            number = a.number + b.number if name == "add" else a.number - b.number
            return _rounded(number, a.error + b.error)
        case "mul":
            off = np.abs(a.number) * b.error + np.abs(b.number) * a.error
            return _rounded(a.number * b.number, off + a.error * b.error)
        case "div":
            number = a.number / b.number
            least = np.abs(b.number) - b.error
            off = (a.error + np.abs(number) * b.error) / np.where(least > 0, least, 0)
            return _rounded(number, np.where((a.error == 0) & (b.error == 0), 0, off))
        case "maximum" | "minimum":
            pair = np.maximum if name == "maximum" else np.minimum
            error = np.maximum(a.error, b.error)
            return Bounded(pair(a.number, b.number), error)
        case "less" | "less_equal" | "equal":
            return _compared(name, a, b)
    raise KeyError(name)


def _compared(name: str, a: Bounded, b: Bounded) -> Bounded:
    """1 or 0; either where the two may be as near as their errors."""
    number = ROWS[name].exact(a.number, b.number)
    error = a.error + b.error
    near = (error > 0) & (np.abs(a.number - b.number) <= error)
    return Bounded(number, near.astype(np.float64))


def _chosen(condition: Bounded, a: Bounded, b: Bounded) -> Bounded:
    """One of two; either where the condition is not known."""
    holds = condition.number != 0
    number = np.where(holds, a.number, b.number)
    error = np.where(holds, a.error, b.error)
    other = np.abs(a.number - b.number) + a.error + b.error
    return Bounded(number, np.where(condition.error > 0, other, error))


def _rounded(number: Array, error: Array) -> Bounded:
    return Bounded(number, error + UNIT_ROUNDOFF * (np.abs(number) + error) + UNDERFLOW)
