"""The sizes that each call says, by the shapes of its arrays."""

import dataclasses
from collections.abc import Sequence

from morello.errors import ArgumentError
from morello.lazy import cached_property
from morello.runtime.calls.parameter import Parameter, SizeAxis


@dataclasses.dataclass(frozen=True)
class CallSizes:
    """The sizes that the arrays of one function have in common.

    Args:
        parameters: those of the function; some of them have a `SizeAxis`.
    """

    parameters: tuple[Parameter, ...]

    @cached_property
    def axes(self) -> tuple[SizeAxis, ...]:
        """For each size one that has it."""
        every = {axis.number: axis for p in self.parameters for axis in p.sizes}
        return tuple(every[number] for number in sorted(every))

    def of(self, shapes: Sequence[tuple[int, ...] | None]) -> tuple[int, ...]:
        """The sizes that arrays have: each that of the first which has one.

        Args:
            shapes: of the arrays for the first of the parameters, or for all; None of
                what has none, which is refused elsewhere.

        Raises:
            ArgumentError: one is not one that the function takes.
        """
        sizes: dict[int, int] = {}
        for shape, parameter in zip(shapes, self.parameters, strict=False):
            if not shape or not isinstance(shape, tuple):
                continue
            places = parameter.places_in(shape)
            for place, number in places.items():
                if number not in sizes:
                    sizes[number] = int(shape[place])
                    self.check(parameter, number, sizes[number])
        return tuple(sizes.get(axis.number, axis.sizes[-1]) for axis in self.axes)

    def check(self, parameter: Parameter, number: int, size: int) -> None:
        """Refuse a size that is none of its range.

        Raises:
            ArgumentError: the size is not one that the function takes.
        """
        axis = next(
            size_axis for size_axis in parameter.sizes if size_axis.number == number
        )
        if size not in axis.sizes:
            raise ArgumentError(
                f"{parameter.role}: {axis.name} is {size}, and the kernel takes {axis}",
                "compile a Spec with a range that has it",
            )

    def settled(self, sizes: Sequence[int]) -> tuple[Parameter, ...]:
        """The parameters of a call with some sizes."""
        return tuple(parameter.at(*sizes) for parameter in self.parameters)


def call_sizes(parameters: tuple[Parameter, ...]) -> CallSizes | None:
    """The sizes that calls of a function say; None where every shape is settled."""
    varies = any(parameter.sizes for parameter in parameters)
    return CallSizes(parameters) if varies else None
