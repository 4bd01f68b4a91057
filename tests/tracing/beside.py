"""Functions under `morello.jit`, beside NumPy."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import morello

Array = np.ndarray[Any, Any]


def arrays(*shapes: tuple[int, ...]) -> list[Array]:
    """Random arrays of f32."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape, np.float32) for shape in shapes]


def pairs(results: Any, wanted: Any) -> list[tuple[Any, Any]]:
    """Each result beside NumPy's, of a function with one result or several."""
    if isinstance(wanted, tuple | list):
        return list(zip(results, wanted, strict=True))
    return [(results, wanted)]


def check(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    tolerance: float = 2e-5,
    **options: Any,
) -> None:
    """Results have NumPy's shapes, dtypes, float64 but as float32, and elements."""
    computed = morello.jit(function, **options)(*arguments)
    with np.errstate(all="ignore"):
        wanted = function(*arguments)
    for one, other in pairs(computed, wanted):
        assert np.shape(one) == np.shape(other)
        if type(other) is float:  # a number that depends on no argument
            assert one == other
            continue
        dtype = np.asarray(other).dtype
        assert one.dtype == (np.float32 if dtype == np.float64 else dtype)
        if one.dtype.kind in "biu":
            assert np.array_equal(one, other)
        else:
            wide = (np.asarray(x).astype(np.float64) for x in (one, other))
            np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance)
