"""Parameters of a compiled model: its arguments, its constants, its results."""

from collections.abc import Iterable, Mapping, Sequence

from morello.frontends.grouping.emission import source_tensors
from morello.frontends.grouping.packing import Packed
from morello.frontends.grouping.parts import Step
from morello.frontends.grouping.steps import counted, fallback_of
from morello.frontends.held_arrays import ModelArrays
from morello.frontends.nodes.prepared import Preparation
from morello.frontends.nodes.tensors import CallSize, Source, Tensors
from morello.runtime.calls.parameter import Parameter, SizeAxis


def parameters(tensors: Tensors) -> tuple[Parameter, ...]:
    """The arguments of the function, its constants, and its results."""
    every = []
    size = tensors.size
    for i in source_tensors(tensors):
        source = tensors.all[i]
        assert isinstance(source, Source)
        sizes = () if size is None else _axis(size, size.arguments, source.argument)
        every.append(
            Parameter(source.name, source.dtype.numpy, source.shape, sizes=sizes)
        )
    for place, result in enumerate(tensors.results):
        shape, dtype = tensors.all[result].shape, tensors.element(result).numpy
        name = result_name(tensors, place)
        sizes = () if size is None else _axis(size, size.results, place)
        every.append(Parameter(name, dtype, shape, is_output=True, sizes=sizes))
    return tuple(every)


def _axis(
    size: CallSize, places: Mapping[int, tuple[int, ...]], place: int
) -> tuple[SizeAxis, ...]:
    """The dimensions of one tensor that have the size."""
    return (SizeAxis(size.name, places[place], size.sizes),) if place in places else ()


def result_name(tensors: Tensors, place: int) -> str:
    """The name of a result: the program's, or ``out``, with a number if there are
    several."""
    if place < len(tensors.result_names):
        return tensors.result_names[place]
    return "out" if len(tensors.results) == 1 else f"out{place}"


def held_arrays(
    tensors: Tensors,
    steps: Sequence[Step],
    preparation: Preparation | None,
    packed: Iterable[Packed],
) -> ModelArrays:
    """Constants and packed weights of a model whose parts were searched.

    Args:
        tensors: with the weights that the search has packed.
        steps: in the order in which they are computed.
    """
    values = [tensors.all[i] for i in source_tensors(tensors)]
    return ModelArrays(
        f"{tensors.name}, a model of {counted(tuple(steps))}",
        tuple(tensors.names),
        tuple(g for g in values if isinstance(g, Source) and g.argument < 0),
        preparation,
        tuple(packed),
        tensors.expected,
        fallback_of(steps),
        _reads(tensors, steps),
    )


def _reads(tensors: Tensors, steps: Sequence[Step]) -> frozenset[int]:
    """The arguments that steps read, or that are results themselves."""
    inputs = (tensor for step in steps for tensor in step.inputs)
    roots = map(tensors.root, (*inputs, *tensors.results))
    values = [tensors.all[root] for root in roots]
    numbers = (g.argument for g in values if isinstance(g, Source))
    return frozenset(number for number in numbers if number >= 0)
