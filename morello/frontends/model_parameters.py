"""Parameters of a compiled model: its arguments, its constants, its results."""

from morello.frontends.grouping.emission import given_tensors
from morello.frontends.nodes.tensors import Given, Tensors
from morello.runtime.calls.parameter import Parameter, SizeAxis


def parameters(tensors: Tensors) -> tuple[Parameter, ...]:
    """The arguments of the function, its constants, and its results."""
    every = []
    size = tensors.size
    axis = None if size is None else SizeAxis(size.name, 0, size.sizes)
    for i in given_tensors(tensors):
        given = tensors.all[i]
        assert isinstance(given, Given)
        own = axis if size is not None and given.argument in size.given else None
        every.append(Parameter(given.name, given.dtype.numpy, given.shape, size=own))
    for place, result in enumerate(tensors.results):
        shape, dtype = tensors.all[result].shape, tensors.element(result).numpy
        name = result_name(tensors, place)
        own = axis if size is not None and place in size.results else None
        every.append(Parameter(name, dtype, shape, is_output=True, size=own))
    return tuple(every)


def result_name(tensors: Tensors, place: int) -> str:
    """The name of a result: the program's, or ``out``, with a number if there are
    several."""
    if place < len(tensors.result_names):
        return tensors.result_names[place]
    return "out" if len(tensors.results) == 1 else f"out{place}"
