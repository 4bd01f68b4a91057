"""What a model takes and gives: its arguments, its constants, its results."""

from morello.frontends.emission import given_tensors
from morello.frontends.tensors import Given, Tensors
from morello.runtime.parameter import Parameter


def parameters(tensors: Tensors) -> tuple[Parameter, ...]:
    """The arguments of the function, its constants, and its results."""
    found = []
    for i in given_tensors(tensors):
        given = tensors.all[i]
        assert isinstance(given, Given)
        found.append(Parameter(given.name, given.dtype.numpy, given.shape))
    count = len(tensors.results)
    for place, result in enumerate(tensors.results):
        shape, dtype = tensors.all[result].shape, tensors.element(result).numpy
        name = result_name(place, count)
        found.append(Parameter(name, dtype, shape, is_output=True))
    return tuple(found)


def result_name(place: int, count: int) -> str:
    """The name of one of several results."""
    return "out" if count == 1 else f"out{place}"
