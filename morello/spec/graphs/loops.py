"""Dimensions of a graph that loops may tile: the one rule, and rescaling.

Tiles along a dimension are Specs of the same graph if

1. every output has the dimension, or reduces it;
2. every node that reduces it is an output that accumulates;
3. every node that lacks it altogether is a map: no reduction is computed again;
4. a node that reduces it and that others depend on is a maximum, and these can be
   rescaled when it grows;
5. no window has it whose array has padding: tiles at the border would be others.
"""

from functools import lru_cache

from morello.spec.elements.dtypes import UPPER_HALVES
from morello.spec.graphs.expression import (
    NUMBERS,
    Call,
    Constant,
    Expression,
    Reference,
)
from morello.spec.graphs.graph import Graph, Output


@lru_cache(maxsize=65536)
def loops(graph: Graph, dim: int) -> bool:
    """Whether tiles along a dimension are Specs of the same graph."""
    if dim in graph.padded_dims:
        return False
    for out in graph.outputs:
        reduces = dim in graph.node(out.value).reduced
        if not reduces and dim not in graph.dims_of(out.value):
            return False
    for value in graph.node_values:
        node = graph.node(value)
        if dim in node.reduced:
            if not graph.modes.get(value):
                return False
            if graph.above(value) and not can_rescale(graph, value):
                return False
        elif dim not in graph.dims_of(value) and not graph.is_map(value):
            return False
    return True


@lru_cache(maxsize=65536)
def can_rescale(graph: Graph, value: int) -> bool:
    """Whether partial results to a maximum can be repaired when it grows.

    All that depends on it are sums that accumulate, or maps inside, whose terms scale
    by exp(-w·δ) when it grows by δ.
    """
    if graph.node(value).reduction != "max":
        return False
    for user in graph.above(value):
        node = graph.node(user)
        if node.reduction == "sum" and graph.modes.get(user):
            if weight(graph, node.expression, value) is None:
                return False
        elif not graph.is_map(user) or user in graph.modes:
            return False
    return True


def weight(graph: Graph, expression: Expression, value: int) -> int | None:
    """How an expression scales when a maximum grows by δ: w of exp(-w·δ).

    0 for what does not depend on it; None where it scales in no such way.
    """
    if isinstance(expression, NUMBERS):
        return 0
    if isinstance(expression, Reference):
        read = expression.value
        if read == value:
            return None
        if not graph.is_node(read) or value not in graph.below[read]:
            return 0
        return weight(graph, graph.node(read).expression, value)
    if _is_relative(graph, expression, value):
        return 1
    parts = [weight(graph, argument, value) for argument in expression.arguments]
    known = [part for part in parts if part is not None]
    return None if len(known) < len(parts) else _combined(expression.function, known)


def _combined(function: str, known: list[int]) -> int | None:
    """The weight of a call, from those of its arguments."""
    match function:
        case "mul":
            return sum(known)
        case "div":
            return known[0] - known[1]
        case "add" | "sub":
            return known[0] if known[0] == known[1] else None
        case "neg":
            return known[0]
        case name if name in _NARROWINGS:
            return known[0]
    return None if any(known) else 0


_NARROWINGS = frozenset(dtype.narrowing for dtype in UPPER_HALVES)
"""Functions that round before or after what scales their arguments."""

LOWEST = -3.4028234663852886e38
"""The lowest finite number of f32."""


def guarded(value: int) -> Call:
    """A maximum, or the lowest finite number where it is -inf: exponents relative to it
    are 0 there, not NaN."""
    return Call("maximum", (Reference(value), Constant(LOWEST)))


def growth(old: int, new: int, factor: int) -> Call:
    """The factor of a sum of a weight when the maximum that it is relative to
    grows; 1, not NaN, where both are -inf."""
    grown = Call("sub", (guarded(old), guarded(new)))
    if factor != 1:
        grown = Call("mul", (Constant(float(factor)), grown))
    return Call("exp", (grown,))


def _is_relative(graph: Graph, call: Call, value: int) -> bool:
    """Whether it is exp(x - value), where x does not depend on the value, which may be
    guarded (`guarded`)."""
    if call.function != "exp":
        return False
    inner = call.arguments[0]
    return (
        isinstance(inner, Call)
        and inner.function == "sub"
        and inner.arguments[1] in (Reference(value), guarded(value))
        and weight(graph, inner.arguments[0], value) == 0
    )


def accumulating(graph: Graph) -> Graph | None:
    """The graph whose reductions add to what their outputs hold; None without one.

    Maxima inside, to which outputs are relative, become outputs.
    """
    reducing = [out.value for out in graph.outputs if graph.node(out.value).reduced]
    if not reducing or any(graph.modes[value] for value in reducing):
        return None
    state = [
        value
        for value in graph.node_values
        if value in reducing
        or (
            value not in graph.modes
            and graph.node(value).reduction == "max"
            and any(value in graph.below[out] for out in reducing)
        )
    ]
    outputs = {out.value: out for out in graph.outputs}
    outputs |= {value: Output(value, accumulates=True) for value in state}
    adding = Graph(graph.inputs, graph.nodes, tuple(sorted(outputs.values())))
    for value in state:
        if adding.above(value) and not can_rescale(adding, value):
            return None
    return adding
