"""Arguments that a model was read for: `Expected`, which a call checks.

Shapes, axes and counts that a program takes as arguments follow, where its results have
sizes, from these. They are constants then, and a call with others is refused.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from morello.errors import ArgumentError


@dataclasses.dataclass(frozen=True)
class Expected:
    """An argument that has to mean what the model was read for."""

    argument: int
    """The position of the argument."""
    name: str
    accepts: Callable[[np.ndarray[Any, Any]], bool]
    text: str
    """The shape or value that is required, for messages."""

    def check(self, arguments: Sequence[Any]) -> None:
        """Check it in a call.

        Raises:
            ArgumentError: it has another meaning.
        """
        if self.argument >= len(arguments):
            return  # whoever counts the arguments says so
        array = np.asarray(arguments[self.argument])
        if not self.accepts(array):
            raise ArgumentError(
                f"input '{self.name}' is {array.tolist()}, and the model was read for "
                f"{self.text}",
                f"read it for this one: constants={{'{self.name}': …}}",
            )
