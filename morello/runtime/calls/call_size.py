"""A size that each call says, by the shapes of its arrays."""

import dataclasses
from collections.abc import Sequence

from morello.errors import ArgumentError
from morello.runtime.calls.parameter import Parameter


@dataclasses.dataclass(frozen=True)
class CallSize:
    """The size that the arrays of one function have in common.

    Args:
        parameters: those of the function; some of them have a `SizeAxis`.
    """

    parameters: tuple[Parameter, ...]

    def of(self, shapes: Sequence[tuple[int, ...] | None]) -> int:
        """The size that arrays have: that of the first which has one.

        Args:
            shapes: of the arrays for the first of the parameters, or for all; None of
                what has none, which is refused elsewhere.

        Raises:
            ArgumentError: it is not one that the function takes.
        """
        for shape, parameter in zip(shapes, self.parameters, strict=False):
            axis = parameter.size
            if axis is None:
                continue
            is_shape = isinstance(shape, tuple)
            places = parameter.places_in(shape) if shape and is_shape else ()
            if shape is None or not places:
                continue
            size = int(shape[places[0]])
            if size not in axis.sizes:
                raise ArgumentError(
                    f"{parameter.role}: {axis.name} is {size}, and the kernel takes "
                    f"{axis}",
                    "compile a Spec with a range that has it",
                )
            return size
        return self.greatest

    @property
    def greatest(self) -> int:
        """The greatest size that the function takes."""
        return next(p.size.sizes[-1] for p in self.parameters if p.size is not None)

    def settled(self, size: int) -> tuple[Parameter, ...]:
        """The parameters of a call with one size."""
        return tuple(parameter.at(size) for parameter in self.parameters)


def call_size(parameters: tuple[Parameter, ...]) -> CallSize | None:
    """The size that calls of a function say; None where every shape is settled."""
    varies = any(parameter.size is not None for parameter in parameters)
    return CallSize(parameters) if varies else None
