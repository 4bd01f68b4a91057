"""Arrays that the kernel of a model brings to each call: its constants, and what is
computed of weights alone."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from morello.frontends.expected import Expected
from morello.frontends.grouping.emission import given_tensors
from morello.frontends.grouping.packing import Packed
from morello.frontends.grouping.parts import Step
from morello.frontends.grouping.steps import counted, fallback_of
from morello.frontends.nodes.prepared import Preparation
from morello.frontends.nodes.tensors import Array, Given, Tensors
from morello.frontends.refusals import Refusal


@dataclasses.dataclass(frozen=True)
class ModelArrays:
    """The arrays of one model; see `morello.compiler.kernel.HeldArrays`.

    Args:
        title: the model in a few words.
        arguments: the names of the arguments of a call.
        given: the parameters that are no arguments of a call, in their order.
        preparation: computes some of them of weights.
        packed: those that are copied into another layout.
        expected: what some arguments have to be in each call.
        fallback: the ops that upstream's plain lowering computes.
        reads: the numbers of the arguments that the function reads.
    """

    title: str
    arguments: tuple[str, ...]
    given: tuple[Given, ...]
    preparation: Preparation | None
    packed: tuple[Packed, ...]
    expected: tuple[Expected, ...]
    fallback: tuple[Refusal, ...]
    reads: frozenset[int]

    @classmethod
    def of(
        cls,
        tensors: Tensors,
        steps: Sequence[Step],
        preparation: Preparation | None,
        packed: Iterable[Packed],
    ) -> "ModelArrays":
        """Constants and packed weights of a model whose parts were searched.

        Args:
            tensors: with the weights that the search has packed.
            steps: what is computed, in order.
        """
        given = [tensors.all[i] for i in given_tensors(tensors)]
        return cls(
            f"{tensors.name}, a model of {counted(tuple(steps))}",
            tuple(tensors.names),
            tuple(g for g in given if isinstance(g, Given) and g.argument < 0),
            preparation,
            tuple(packed),
            tensors.expected,
            fallback_of(steps),
            _reads(tensors, steps),
        )

    @property
    def constants(self) -> dict[str, Array]:
        """The arrays that are the same in each call, by the name of the parameter."""
        return {g.name: g.array for g in self.given if g.array is not None}

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
        return tuple(by_name.get(g.name, g.array) for g in self.given)  # type: ignore[misc]

    def complete(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments of a call and the arrays that are held, by position.

        Args:
            named: loses the arguments that follow those by position.

        Raises:
            ArgumentError: an argument is not what it has to be.
        """
        if not self.given and not self.expected:
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


def _reads(tensors: Tensors, steps: Sequence[Step]) -> frozenset[int]:
    """The arguments that steps read, or that are results themselves."""
    inputs = (tensor for step in steps for tensor in step.inputs)
    roots = map(tensors.root, (*inputs, *tensors.results))
    given = [tensors.all[root] for root in roots]
    numbers = (g.argument for g in given if isinstance(g, Given))
    return frozenset(number for number in numbers if number >= 0)
