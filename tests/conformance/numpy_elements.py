"""Cases of NumPy's functions of elements, and of its reductions."""

import numpy as np

from tests.conformance.arguments import (
    DENORMAL,
    SPECIAL,
    SPECIAL_ROWS,
    SPECIAL_SUFFIX,
    Case,
    all_pairs,
    between,
    case,
    normal,
)

_OF_ONE = """
exp exp2 expm1 log log1p log2 log10 sqrt square cbrt abs fabs sign floor ceil rint trunc
reciprocal negative positive sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh
isnan isinf isfinite signbit nan_to_num deg2rad degrees sinc logical_not
"""
_OF_POSITIVE = ("log", "log1p", "log2", "log10", "sqrt")
_OF_TWO = """
add subtract multiply divide true_divide maximum minimum fmax fmin power float_power
arctan2 hypot logaddexp logaddexp2 remainder fmod floor_divide copysign heaviside
greater less_equal equal not_equal logical_and logical_or logical_xor
"""
_REDUCTIONS = """
sum mean max min amax amin var std prod ptp argmax argmin any all nansum nanmax nanmean
count_nonzero median average cumsum cumprod sort argsort percentile nanstd
"""
_OF_ROWS = (
    "cumsum",
    "cumprod",
    "sort",
    "argsort",
)  # without an axis they are of another


def cases() -> dict[str, Case]:
    """All cases by name."""
    return _of_one() | _of_two() | _reductions()


def _of_one() -> dict[str, Case]:
    special = np.concatenate([SPECIAL, DENORMAL])
    found = {}
    for name in _OF_ONE.split():
        function = getattr(np, name)
        argument = between(0.1, 3, 5, 7) if name in _OF_POSITIVE else normal(5, 7)
        if name in ("arcsin", "arccos"):
            argument = between(-0.99, 0.99, 5, 7)
        found[name] = case(function, argument)
        found[name + SPECIAL_SUFFIX] = case(function, special.reshape(2, -1))
    return found


def _of_two() -> dict[str, Case]:
    pairs = all_pairs(np.concatenate([SPECIAL, DENORMAL]))
    found = {}
    for name in _OF_TWO.split():
        function = getattr(np, name)
        found[name] = case(function, between(0.1, 3, 5, 7), between(0.1, 3, 7))
        found[name + SPECIAL_SUFFIX] = case(function, *pairs)
    return found


def _reductions() -> dict[str, Case]:
    found = {}
    for name in _REDUCTIONS.split():
        function = getattr(np, name)
        if name == "percentile":
            function = _percentile
        found[f"{name} last"] = case(lambda x, f=function: f(x, axis=-1), normal(5, 9))
        found[f"{name} first"] = case(lambda x, f=function: f(x, axis=0), normal(6, 4))
        if name not in _OF_ROWS:
            found[f"{name} all"] = case(lambda x, f=function: f(x), normal(5, 9))
        found[name + SPECIAL_SUFFIX] = case(
            lambda x, f=function: f(x, axis=-1), SPECIAL_ROWS
        )
    return found


def _percentile(x: np.ndarray, axis: int | None = None) -> np.ndarray:
    return np.percentile(x, 30, axis=axis)
