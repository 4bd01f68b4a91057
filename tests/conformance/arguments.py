"""Arguments of cases: arrays drawn by shape, and arrays of special values."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Drawn:
    """An f32 argument that is drawn anew for each call.

    Elements are normally distributed, or uniform from ``low`` to ``high`` if given."""

    shape: tuple[int, ...]
    low: float | None = None
    high: float = 1.0

    def array(self, rng: np.random.Generator) -> np.ndarray:
        """One array of this shape."""
        if self.low is None:
            return rng.standard_normal(self.shape).astype(np.float32)
        return rng.uniform(self.low, self.high, self.shape).astype(np.float32)


def normal(*shape: int) -> Drawn:
    """An argument of both signs."""
    return Drawn(shape)


def between(low: float, high: float, *shape: int) -> Drawn:
    """An argument from one number to another."""
    return Drawn(shape, low, high)


@dataclass(frozen=True)
class Case:
    """A function and its arguments, either arrays or how to draw them."""

    function: Callable[..., Any]
    arguments: Sequence[Drawn | np.ndarray]

    def arrays(self, name: str, call: int = 0) -> list[np.ndarray]:
        """Arguments of one call; a name always draws the same ones."""
        rng = np.random.default_rng([zlib.crc32(name.encode()), call])
        drawn = [a.array(rng) if isinstance(a, Drawn) else a for a in self.arguments]
        return [array.copy() for array in drawn]


def case(function: Callable[..., Any], *arguments: Drawn | np.ndarray) -> Case:
    """A function with arguments."""
    return Case(function, arguments)


SPECIAL_SUFFIX = "@special"
"""Ends the names of cases with zeros of both signs, infinities, NaN and extremes."""

_MAGNITUDES = (1, 0.5, 2, 3, 1e-6, 10, 40, 88.5, 1e20, 3e38, 4e-38, 2e-38, np.inf)
SPECIAL = np.array(
    [0.0, -0.0, *_MAGNITUDES, *(-m for m in _MAGNITUDES), 90, -104, 7.25, np.nan],
    np.float32,
)
"""32 numbers; none of them denormal, which XLA takes as 0 on CPUs."""

DENORMAL = np.array([1e-42, -1e-42], np.float32)

SPECIAL_ROWS = np.array(
    [
        [1, 2, np.nan, 3],
        [np.inf, 1, 2, 3],
        [-np.inf, 1, 2, 3],
        [-np.inf, -np.inf, -np.inf, -np.inf],
        [np.inf, -np.inf, 1, 2],
        [200, -200, 1, 0],
        [3e38, 3e38, 1, 1],
        [0.0, -0.0, 0.0, -0.0],
    ],
    np.float32,
)
"""Rows whose reductions are special."""


def all_pairs(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two square arrays that pair each value with each."""
    square = (len(values), len(values))
    return (
        np.broadcast_to(values[:, None], square).copy(),
        np.broadcast_to(values, square).copy(),
    )
