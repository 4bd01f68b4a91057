"""JAX's functions, as StableHLO, through `morello.from_mlir`, against JAX itself."""

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np

import morello
from tests.conformance import jax_arrays, jax_elements, jax_layers
from tests.conformance.arguments import SPECIAL_SUFFIX
from tests.conformance.outcomes import (
    REFUSED,
    Outcome,
    Row,
    checked_call,
    within_rounding,
)
from tests.conformance.suite import Settings


def create(settings: Settings) -> "JaxSuite":
    """The suite of JAX."""
    return JaxSuite(settings)


@dataclass(frozen=True)
class _Prepared:
    """A program in StableHLO, its arguments, and the results of JAX."""

    text: str
    arguments: list[np.ndarray]
    expected: list[np.ndarray]


class JaxSuite:
    """Functions of arrays; those that are refused are tried again with fallback."""

    attempts = ("as given", "with fallback")

    def __init__(self, settings: Settings) -> None:
        warnings.simplefilter("ignore")  # of JAX, about special values
        self._time_limit = settings.time_limit
        cases = jax_elements.cases() | jax_layers.cases() | jax_arrays.cases()
        self._cases = cases
        self._prepared = dict[str, _Prepared]()

    def kinds(self) -> dict[str, str]:
        """Each case is of its own kind."""
        return {name: name for name in self._cases}

    def prepare(self, names: Sequence[str]) -> None:
        """Lower and run the functions: JAX's threads do not outlive a fork."""
        for name in ("tanh", *names):
            arguments = self._cases[name].arrays(name)
            function = jax.jit(self._cases[name].function)
            text = function.lower(*arguments).as_text()
            results = jax.tree.leaves(function(*arguments))
            expected = [np.asarray(result) for result in results]
            self._prepared[name] = _Prepared(text, arguments, expected)
        self._outcome("tanh", True)

    def rows(self, name: str) -> list[Row]:
        """The outcomes of one case."""
        as_given, fallback = self.attempts
        special = name.endswith(SPECIAL_SUFFIX)
        group = "special values" if special else "finite values"
        row = Row(name, {as_given: self._outcome(name, False)}, (group,))
        if row.verdict == REFUSED:
            row.outcomes[fallback] = self._outcome(name, True)
        return [row]

    def _outcome(self, name: str, fallback: bool) -> Outcome:
        prepared = self._prepared[name]
        return checked_call(
            lambda: morello.from_mlir(prepared.text, fallback=fallback).compile(
                threads=1, time_limit=self._time_limit
            ),
            prepared.arguments,
            prepared.expected,
            within_rounding,
        )
