"""A graph as a program of several parts, for one that has no program as a whole."""

from morello.frontends.model import Model, model_of
from morello.frontends.tensors import (
    ONE,
    Access,
    Given,
    Node,
    Tensors,
    window_of,
)
from morello.spec.dtypes import Dtype
from morello.spec.graphs.expression import references, renumbered
from morello.spec.graphs.graph import Graph
from morello.spec.operand import Axis


def model_of_graph(
    graph: Graph, sizes: tuple[int, ...], shapes: list[tuple[int, ...]], name: str
) -> Model:
    """A model whose parts together compute a graph of f32 that overwrites its outputs.

    Args:
        sizes: of each dimension.
        shapes: of the inputs.
        name: of the function, and the place of each node in messages.

    Raises:
        ModelError: a node is no Spec by itself.
    """
    tensors = Tensors(name)
    for number, shape in enumerate(shapes[: len(graph.inputs)]):
        tensors.names.append(f"arg{number}")
        tensors.add(Given(f"arg{number}", shape, Dtype.F32, number))
    for value in graph.node_values:
        tensors.add(_node(graph, value, sizes, tensors, name))
    tensors.results = [output.value for output in graph.outputs]
    return model_of(tensors)


def _node(
    graph: Graph, value: int, sizes: tuple[int, ...], tensors: Tensors, place: str
) -> Node:
    node = graph.node(value)
    dims = [*node.axes, *node.reduced]
    own = {dim: i for i, dim in enumerate(dims) if isinstance(dim, int)}
    extents = tuple(sizes[dim] for dim in own)

    def axis(given: Axis, extent: int) -> Axis:
        """An axis of a value, by the dimensions of the node."""
        if isinstance(given, int):
            return own[given] if sizes[given] > 1 else ONE
        terms = {own[dim]: step for dim, step in given.terms}
        return window_of(terms, given.before, extents, extent)

    read = list(dict.fromkeys(references(node.expression)))
    reads = tuple(
        Access(v, tuple(map(axis, graph.axes(v), tensors.all[v].shape))) for v in read
    )
    expression = renumbered(node.expression, {v: i for i, v in enumerate(read)})
    axes = tuple(axis(a, 1) for a in node.axes)
    return Node(extents, axes, node.reduction, expression, reads, Dtype.F32, place)
