"""Cases of functions of elements and of reductions, as NumPy and JAX both have them."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.conformance.arguments import (
    SPECIAL_ROWS,
    SPECIAL_SUFFIX,
    Case,
    all_pairs,
    between,
    case,
    normal,
)

Functions = Mapping[str, Callable[..., Any]]

_ONE = """
exp exp2 expm1 log log1p log2 log10 sqrt square cbrt abs sign floor ceil trunc rint
reciprocal negative sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh isnan isinf
isfinite signbit nan_to_num deg2rad sinc
"""
_TWO = """
add subtract multiply divide maximum minimum fmax fmin power float_power arctan2 hypot
logaddexp logaddexp2 remainder fmod floor_divide copysign heaviside greater less_equal
equal
"""
_REDUCTIONS = """
sum mean max min var std prod ptp argmax argmin any all nansum nanmax nanmean
count_nonzero median average cumsum cumprod sort argsort
"""
_POSITIVE = "log log1p log2 log10 sqrt lax.rsqrt power0.5 reciprocal integer_pow-1"
_FRACTIONS = "arcsin arccos arctanh lax.erf_inv lgamma digamma"
_OF_ROWS = "cumsum cumprod cummax logcumsumexp sort argsort"
"""Without an axis they are of another."""


def named(library: Any, names: str) -> dict[str, Callable[..., Any]]:
    """Functions of a library, by name."""
    return {name: getattr(library, name) for name in names.split()}


def cases(
    library: Any,
    special: np.ndarray,
    one: Functions,
    two: Functions,
    reductions: Functions,
) -> dict[str, Case]:
    """Cases of a library's functions.

    Args:
        library: `numpy` or `jax.numpy`.
        special: numbers that functions of elements take besides.
        one, two: further functions of one element, and of two.
        reductions: further ones, with a keyword ``axis``.
    """
    return (
        _of_one(named(library, _ONE) | one, special)
        | _of_two(named(library, _TWO) | two, special)
        | _of_rows(named(library, _REDUCTIONS) | reductions)
    )


def _of_one(functions: Functions, special: np.ndarray) -> dict[str, Case]:
    every = {}
    for name, function in functions.items():
        argument = normal(5, 7)
        if name in _POSITIVE.split():
            argument = between(0.1, 3, 5, 7)
        elif name in _FRACTIONS.split():
            argument = between(0.1, 0.9, 5, 7)
        elif name == "arccosh":
            argument = between(1.1, 5, 5, 7)
        every[name] = case(function, argument)
        every[name + SPECIAL_SUFFIX] = case(function, special.reshape(2, -1))
    return every


def _of_two(functions: Functions, special: np.ndarray) -> dict[str, Case]:
    pairs = all_pairs(special)
    every = {}
    for name, function in functions.items():
        right = between(0.1, 3, 7) if "power" in name else normal(7)
        every[name] = case(function, between(0.1, 3, 5, 7), right)
        every[name + SPECIAL_SUFFIX] = case(function, *pairs)
    return every


def _of_rows(functions: Functions) -> dict[str, Case]:
    every = {}
    for name, function in functions.items():
        every[f"{name} last"] = case(lambda x, f=function: f(x, axis=-1), normal(5, 9))
        every[f"{name} first"] = case(lambda x, f=function: f(x, axis=0), normal(6, 4))
        if name not in _OF_ROWS.split():
            every[f"{name} all"] = case(
                lambda x, f=function: f(x, axis=None), normal(5, 9)
            )
        every[name + SPECIAL_SUFFIX] = case(
            lambda x, f=function: f(x, axis=-1), SPECIAL_ROWS
        )
    return every
