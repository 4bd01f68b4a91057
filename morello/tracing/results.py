"""How the results of a function are made of the outputs of its graph."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from morello.tracing.concatenation import Concatenated
from morello.tracing.kinds import DTYPES
from morello.tracing.reshapes import Reshaped
from morello.tracing.tracer import Tracer

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class Result:
    """An output in a shape, or several one after the other."""

    shape: tuple[int, ...]
    parts: tuple["Result", ...] = ()
    """None where it is one output."""
    axis: int = 0
    kind: str = "f"
    """Of its dtype, as `Tracer.kind` has it."""

    def of(self, outputs: Iterator[Array]) -> Array:
        """The array, of the outputs in order."""
        if not self.parts:
            found = next(outputs)
        else:
            parts = [part.of(outputs) for part in self.parts]
            found = np.concatenate(parts, self.axis)
        if self.kind != "f":
            found = found.astype(DTYPES[self.kind])
        return found.reshape(self.shape)


@dataclasses.dataclass(frozen=True)
class Constant:
    """A result that depends on no argument."""

    value: Any

    def of(self, outputs: Iterator[Array]) -> Any:
        """A copy of it."""
        return np.array(self.value)[()]


def result_of(traced: Tracer) -> tuple[Result, list[Tracer]]:
    """How a result is made, and the values that it is made of."""
    base = traced.base if isinstance(traced, Reshaped) else traced
    if not isinstance(base, Concatenated):
        return Result(traced.shape, kind=traced.kind), [base]
    made = [result_of(part) for part in base.parts]
    parts = tuple(part for part, _ in made)
    return Result(traced.shape, parts, base.axis, traced.kind), [
        v for _, own in made for v in own
    ]
