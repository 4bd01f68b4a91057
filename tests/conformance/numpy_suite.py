"""NumPy's functions and idioms through `morello.jit`, against NumPy itself.

Each case is called twice with other arrays of the same shapes: what was traced with the
first ones must not be held for the second.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import morello
from tests.conformance import numpy_arrays, numpy_elements, numpy_layers
from tests.conformance.arguments import SPECIAL_SUFFIX
from tests.conformance.outcomes import (
    PASSED,
    Outcome,
    Row,
    compared,
    outcome_of,
    within_rounding,
)
from tests.conformance.suite import Settings


def create(settings: Settings) -> "NumpySuite":
    """The suite of NumPy."""
    return NumpySuite(settings)


class NumpySuite:
    """Functions of arrays; booleans may be returned as 1.0 and 0.0, doubles as f32."""

    attempts = ("as given",)

    def __init__(self, settings: Settings) -> None:
        warnings.simplefilter("ignore")  # NumPy's, about special values
        self._time_limit = settings.time_limit
        cases = numpy_elements.cases() | numpy_layers.cases() | numpy_arrays.cases()
        self._cases = cases

    def kinds(self) -> dict[str, str]:
        """Each case is of its own kind."""
        return {name: name for name in self._cases}

    def prepare(self, names: Sequence[str]) -> None:
        """Trace and compile one function."""
        morello.jit(threads=1)(lambda x: np.tanh(x))(np.ones((3, 4), np.float32))

    def rows(self, name: str) -> list[Row]:
        """The outcome of two calls of a case."""
        function = self._cases[name].function
        jitted = morello.jit(threads=1, time_limit=self._time_limit)(function)
        special = name.endswith(SPECIAL_SUFFIX)
        group = "special values" if special else "finite values"
        for call in range(2):
            arguments = self._cases[name].arrays(name, call)
            outcome = _called(jitted, function, arguments)
            if outcome.verdict != PASSED:
                break
        return [Row(name, {"as given": outcome}, (group,))]


def _called(jitted: Any, function: Any, arguments: Sequence[np.ndarray]) -> Outcome:
    """The outcome of one call, which must leave its arguments as they are."""
    expected = _leaves(function(*(array.copy() for array in arguments)))
    passed = [array.copy() for array in arguments]
    try:
        results = _leaves(jitted(*passed))
    except Exception as error:  # noqa: BLE001 (whatever is raised is an outcome)
        return outcome_of(error)
    for before, after in zip(arguments, passed, strict=True):
        if not np.array_equal(before, after, equal_nan=True):
            return Outcome("wrong", "an argument was changed")
    return compared(_as_f32(results), _as_f32(expected), within_rounding)


def _leaves(value: object) -> list[np.ndarray]:
    """The arrays of dictionaries, tuples and lists, in order."""
    if isinstance(value, dict):
        return [leaf for key in value for leaf in _leaves(value[key])]
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in _leaves(part)]
    return [np.asarray(value)]


def _as_f32(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        return [array.astype(np.float32) for array in arrays]
