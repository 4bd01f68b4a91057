"""Elements of several vectors side by side: each operation on all of them in turn.

What waits for a result then has other instructions between: a core that looks a few
hundred instructions ahead sees a chain of twenty in each of a few vectors, and would
look at one vector after the other otherwise.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from morello.kernels.code.elements import EmittedElements


class Side(tuple[Any, ...]):
    """Values of one name for several vectors that are computed side by side."""

    __slots__ = ()


@dataclasses.dataclass(frozen=True)
class SideBySide:
    """`Elements` whose values are a `Side`, or one value that all of them share."""

    elements: EmittedElements
    reads: Callable[[int, int], Side] | None = None
    """The reads of `EmittedElements`, of every vector."""

    def read(self, operand: int, step: int = 0) -> Side:
        """`Elements.read`."""
        assert self.reads is not None
        return self.reads(operand, step)

    @property
    def steps(self) -> int:
        """`Elements.steps`."""
        return self.elements.steps

    @property
    def has_scale(self) -> bool:
        """`Elements.has_scale`."""
        return self.elements.has_scale

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """An operation of `Elements`, of every vector."""
        operation = getattr(self.elements, name)

        def every(*given: Any) -> Any:
            return each(operation, *given)

        return every


def of_vector(value: Any, place: int) -> Any:
    """The part of a value that belongs to one of several vectors."""
    return value[place] if isinstance(value, Side) else value


def each(operation: Callable[..., Any], *given: Any) -> Any:
    """Apply an operation to the values of each vector in turn."""
    counts = {len(value) for value in given if isinstance(value, Side)}
    if not counts:
        return operation(*given)
    (count,) = counts
    return Side(
        operation(*(v[i] if isinstance(v, Side) else v for v in given))
        for i in range(count)
    )
