"""Arrays that the kernel of a model brings to each call: its constants, and what is
computed of weights alone. Whoever loads a kernel imports this."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from morello.frontends.expected import Expected
from morello.frontends.nodes.tensors import Array, Source
from morello.frontends.refusals import Refusal

if TYPE_CHECKING:
    from morello.frontends.grouping.packing import Packed
    from morello.frontends.nodes.prepared import Preparation


@dataclasses.dataclass(frozen=True)
class ModelArrays:
    """The arrays of one model; see `morello.compiler.kernel.HeldArrays`.

    Args:
        title: the model in a few words.
        arguments: the names of the arguments of a call.
        parameters: those that are no arguments of a call, in their order.
        preparation: computes some of them of weights.
        packed: those that are copied into another layout.
        expected: what some arguments have to be in each call.
        fallback: the ops that upstream's plain lowering computes.
        reads: the numbers of the arguments that the function reads.
    """

    title: str
    arguments: tuple[str, ...]
    parameters: tuple[Source, ...]
    preparation: "Preparation | None"
    packed: "tuple[Packed, ...]"
    expected: tuple[Expected, ...]
    fallback: tuple[Refusal, ...]
    reads: frozenset[int]

    @property
    def constants(self) -> dict[str, Array]:
        """The arrays that are the same in each call, by the name of the parameter."""
        return {g.name: g.array for g in self.parameters if g.array is not None}

    @property
    def argument_checks(self) -> tuple[tuple[str, str], ...]:
        """The arguments that have to be something in each call, and what."""
        return tuple((expected.name, expected.text) for expected in self.expected)

    @property
    def weights(self) -> frozenset[int]:
        """The numbers of the arguments that `arrays` depends on."""
        numbers = {packed.source.argument for packed in self.packed}
        if self.preparation is not None:
            numbers |= self.preparation.arguments
        return frozenset(number for number in numbers if number >= 0)

    @property
    def copied_bytes(self) -> int:
        """Bytes of the copies of arguments that are kept in other layouts."""
        return sum(packed.copied_bytes for packed in self.packed)

    def arrays(self, weights: Mapping[int, Array]) -> tuple[Array, ...]:
        """The arrays between the arguments of a call and its results.

        Args:
            weights: C-contiguous arrays by the number of the argument.
        """
        by_name = {} if self.preparation is None else self.preparation.run(weights)
        for packed in self.packed:
            source = packed.source
            array = by_name.get(source.name)
            if array is None:
                array = weights[source.argument]
            by_name[packed.name] = packed.run(array)
        return tuple(by_name.get(g.name, g.array) for g in self.parameters)  # type: ignore[misc]

    def complete(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments of a call and the arrays that are held, by position.

        Args:
            named: loses the arguments that follow those by position.

        Raises:
            ArgumentError: an argument is not what it has to be.
        """
        if not self.parameters and not self.expected:
            return args
        count = len(self.arguments)
        for name in self.arguments[len(args) :] if named else ():
            if name not in named:
                break
            args = (*args, named.pop(name))
        for expected in self.expected:
            expected.check(args)
        is_constant = self.preparation is None and not self.packed
        arrays = self.arrays({} if is_constant else dict(enumerate(args)))
        return (*args[:count], *arrays, *args[count:])
