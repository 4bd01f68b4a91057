"""Structure of a kind, as actions and the search ask for it: it follows from its graph.

A kind without a graph is one product, copy or fill: its operands go by themselves.
"""

from functools import lru_cache

from morello.spec.embedding import Embedding
from morello.spec.graphs.convolution import few_sizes, products_inside
from morello.spec.graphs.graph import NEUTRAL, Graph
from morello.spec.graphs.scaled import scaled_part, scaled_product
from morello.spec.kind import Kind


def contractions(kind: Kind) -> int:
    """Number of products, one after another."""
    return 1 if kind.as_graph is None else len(kind.as_graph.contractions)


def has_several_products(kind: Kind) -> bool:
    """Whether it holds several products: the search brings no operand to L1, which is
    for what has one."""
    return contractions(kind) > 1


def products(kind: Kind, operand: int) -> tuple[tuple[Embedding, int], ...]:
    """Products that an operand is in, and which of their operands it is: kernels ask
    for it in the forms that these want."""
    if kind.as_graph is None:
        return ()
    value = kind.values[operand]
    return tuple(
        (inner, inner.values.index(value))
        for inner in products_inside(kind.as_graph)
        if value in inner.values
    )


def is_batch(kind: Kind, dim: int) -> bool:
    """Whether the search takes a dimension whole, element by element, or by shares of
    threads, as nothing is used again: of a convolution all but those of the product of
    matrices that it is made of."""
    graph = kind.as_graph
    return graph is not None and (few_sizes(graph, dim) or _is_common(graph, dim))


@lru_cache(maxsize=65536)
def is_place(kind: Kind, dim: int) -> bool:
    """Whether a dimension is reduced and one of the places of a window, but no part of
    a product: of a depthwise filter or a pool."""
    graph = kind.as_graph
    if graph is None or graph.contractions or dim not in kind.reductions:
        return False
    inputs = range(len(graph.inputs))
    axes = (axis for value in inputs for axis in graph.axes(value))
    return any(dim in axis.dims and len(axis.dims) > 1 for axis in axes)


def is_common(kind: Kind, dim: int) -> bool:
    """Whether something is a product and every value has a dimension, beside others and
    but for inputs of one dimension, as the places that a mask compares, and for those
    that only maps read, that follow none, and that lack all such dimensions, as one
    mask of all scores: two elements of it have nothing else in common."""
    return kind.as_graph is not None and _is_common(kind.as_graph, dim)


def _is_common(graph: Graph, dim: int) -> bool:
    if graph.rank < 2 or not (graph.contractions or _multiplies_rows(graph, dim)):
        return False
    dims = [graph.dims_of(v) for v in range(graph.count)]
    without = [v for v in range(graph.count) if dim not in dims[v]]
    every = frozenset.intersection(*(d for d in dims if dim in d))
    factors = {a for v in graph.contractions for a in graph.arguments(v)}
    return not any(map(graph.is_node, without)) and all(
        len(dims[v]) == 1
        or not (v in factors or dims[v] & every or _leaders(graph)[v] != v)
        for v in without
    )


def _multiplies_rows(graph: Graph, dim: int) -> bool:
    """Whether the products are of a row and a matrix each, for each element of a
    dimension, as those of a head of attention with one query."""
    products = [v for v in graph.node_values if graph.is_product_of_two(v)]
    factors = [a for v in products for a in graph.arguments(v)]
    every = [graph.dims_of(v) | {*graph.node(v).reduced} for v in products]
    return (
        any(graph.dims_of(f) < dims for dims in every for f in factors)
        and all(dim in graph.dims_of(factor) for factor in factors)
        and all(axis.is_plain for f in factors for axis in graph.axes(f))
    )


def neutral_of(kind: Kind, operand: int) -> str:
    """The neutral element of the reduction that an output is: a value of `Fill`."""
    graph = kind.as_graph
    if graph is None:
        return NEUTRAL["sum"]
    return NEUTRAL[graph.node(kind.values[operand]).reduction]


def leader(kind: Kind, operand: int) -> int:
    """The operand that an operand follows from memory to memory; itself if it leads."""
    return operand if kind.as_graph is None else _leaders(kind.as_graph)[operand]


def packed_with(kind: Kind, operand: int) -> int:
    """The operand that an operand is packed with, if any is: the integers that it
    scales, also where maps follow the product, or its `leader`."""
    graph = kind.as_graph
    scaled = {} if graph is None else _leaders_of_scales(graph)
    return scaled.get(operand, leader(kind, operand))


def followers(kind: Kind, operand: int) -> tuple[int, ...]:
    """Operands that have to be in the memory of an operand, and move with it: they have
    some of its dimensions, and not all, or scale its elements."""
    if kind.as_graph is None:
        return ()
    leaders = _leaders(kind.as_graph)
    return tuple(i for i, at in enumerate(leaders) if at == operand != i)


@lru_cache(maxsize=65536)
def _leaders(graph: Graph) -> tuple[int, ...]:
    """For each operand the first, outputs before inputs, of those of the most
    dimensions that have all of its own, and more; itself where there is none. What is
    read through windows leads none: the filter is to stay while the image moves on. Of
    a product of scaled integers these lead all that scales them."""
    count = len(graph.operands)
    if graph.visits_once:
        return tuple(range(count))
    if scaled_product(graph) is not None:
        leaders = _leaders_of_scales(graph)
        return tuple(leaders.get(i, i) for i in range(count))
    dims = [graph.dims_of(value) for value in graph.operands]
    plain = [all(a.is_plain for a in graph.axes(value)) for value in graph.operands]
    inputs = len(graph.inputs)
    order = [*range(inputs, count), *range(inputs)]

    def leader_of(operand: int) -> int:
        larger = [i for i in order if dims[operand] < dims[i] and plain[i]]
        largest = [i for i in larger if not any(dims[i] < dims[j] for j in larger)]
        return next(iter(largest), operand)

    return tuple(leader_of(i) for i in range(count))


@lru_cache(maxsize=65536)
def _leaders_of_scales(graph: Graph) -> dict[int, int]:
    """The operand that each operand that scales integers of a product follows."""
    part = scaled_part(graph)
    scaled = None if part is None else scaled_product(part.graph)
    if part is None or scaled is None:
        return {}
    beside = (*scaled.scales, *scaled.zeros, *scaled.offsets)
    leaders = dict.fromkeys(beside, scaled.integers)
    leaders |= dict.fromkeys(scaled.row_scales, scaled.factors)
    by_operand = {part.values[i]: part.values[first] for i, first in leaders.items()}
    inputs = range(len(graph.inputs))
    return {i: first for i, first in by_operand.items() if {i, first} <= {*inputs}}
