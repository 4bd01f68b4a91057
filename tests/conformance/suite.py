"""Suites: lists of named tests, each with rows of outcomes."""

import importlib
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from tests.conformance.outcomes import Row

# The frameworks and packages that each suite imports.
SUITES = {
    "onnx": ("onnx",),
    "torch": ("torch", "expecttest"),
    "jax": ("jax",),
    "numpy": (),
}


@dataclass(frozen=True)
class Settings:
    """Choices of a run that suites read; some are of one suite alone."""

    time_limit: float = 3.0  # seconds of each search
    samples: int = 2  # of each op of PyTorch
    dtype: str = "float32"  # of PyTorch's samples
    between: bool = False  # PyTorch's op stands between a product and a sum


class Suite(Protocol):
    """Tests by name."""

    attempts: Sequence[str]  # ways to run a test, each tried where those before refuse

    def kinds(self) -> dict[str, str]:
        """The names of all tests, and what each is about: an op, or its own name."""

    def prepare(self, names: Sequence[str]) -> None:
        """Do what the tests of these names share, or cannot do after a fork."""

    def rows(self, name: str) -> list[Row]:
        """Run one test."""


def load(name: str, settings: Settings) -> Suite:
    """A suite, with its framework imported."""
    module = importlib.import_module(f"tests.conformance.{name}_suite")
    return cast(Suite, module.create(settings))


def drawn(kinds: dict[str, str], seed: int) -> list[str]:
    """Names in an order by chance: a test of each kind before a second one of any, so
    that a run which ends early is fair to all kinds."""
    names = sorted(kinds)
    random.Random(seed).shuffle(names)
    times = Counter[str]()
    turns = {}
    for name in names:
        times[kinds[name]] += 1
        turns[name] = times[kinds[name]]
    return sorted(names, key=turns.__getitem__)
