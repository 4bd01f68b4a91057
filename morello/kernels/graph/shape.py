"""Questions about a graph that decide how its code goes over rows and places."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from morello.spec import Dtype, SpecKey, TensorSpec
from morello.spec.elements.dtypes import BYTES
from morello.spec.graphs.expression import Call, Expression, call_count
from morello.spec.graphs.graph import Graph
from morello.spec.graphs.passes import one_pass
from morello.spec.tensors.layout import ceil_div

MOST_STEP = 2
"""Windows move along vectors in steps of so many elements, at most."""

_FOR_NUMBERS, _FOR_WORK = 8, 2
"""Registers for constants, and for each vector beside what is read and written."""

_MOST_CALLS = 128
"""Calls of functions that the body of a loop has at most, unless two vectors have more:
a core overlaps the chains of two. LLVM takes seconds for longer bodies."""


class Blocking(NamedTuple):
    """The most that the code of a loop takes at a time."""

    unroll: int
    """Vectors."""
    together: int
    """Rows that are computed side by side."""
    taps: int
    """Places of the reduced dimensions that are written out one by one."""


def most_written(graph: Graph) -> int:
    """How many vectors' maps are written out in a loop: a power of two."""
    calls = sum(call_count(graph.node(v).expression) for v in graph.node_values)
    share = _MOST_CALLS // max(1, calls)
    return max(2, 1 << max(0, share.bit_length() - 1))


def most_side_by_side(wide: int, unroll: int, registers: int) -> int:
    """The most vectors that fit in registers, each with the ``wide`` values that are
    read and written, and temporaries of the computation."""
    return max(1, min(unroll, (registers - _FOR_NUMBERS) // (wide + _FOR_WORK)))


def ends_of(
    key: SpecKey, graph: Graph, inner: int
) -> tuple[tuple[Dtype, ...], tuple[Dtype, ...]]:
    """The dtypes of the operands that have vectors: of all, and of those written."""
    tensors = dict(zip(key.kind.values, key.tensors, strict=True))
    wide = [v for v in tensors if inner in graph.dims_of(v)]
    written = tuple(tensors[v].dtype for v in wide if graph.is_node(v))
    return tuple(tensors[v].dtype for v in wide), written


def taps_of(across: Sequence[int], sizes: tuple[Any, ...], most: int) -> frozenset[int]:
    """The innermost of some dimensions, as many as have ``most`` places together."""
    taps: list[int] = []
    for dim in reversed(across):
        if math.prod(sizes[d] for d in (*taps, dim)) > most:
            break
        taps.append(dim)
    return frozenset(taps)


@lru_cache(maxsize=4096)
def rows_of(graph: Graph, inner: int) -> list[int]:
    """The dimensions that are neither vectorized nor reduced."""
    plan = one_pass(graph)
    assert plan is not None
    return [d for d in range(graph.rank) if d != inner and d not in plan.reduced]


@lru_cache(maxsize=4096)
def reduced_of(graph: Graph, inner: int) -> tuple[int, ...]:
    """The reduced dimensions, outermost first: the last one is that of the places of
    windows along rows side by side, where there are any."""
    plan, rows = one_pass(graph), rows_of(graph, inner)
    assert plan is not None
    windows = [
        {*axis.dims}
        for value in range(len(graph.inputs))
        for axis in graph.axes(value)
        if rows and not axis.is_plain and rows[-1] in axis.dims
    ]
    taps = plan.reduced.intersection(*windows) if windows else frozenset()
    return tuple(sorted(plan.reduced, key=lambda dim: (dim in taps, dim)))


@lru_cache(maxsize=4096)
def shares_rows(graph: Graph, inner: int) -> bool:
    """Whether rows side by side, along the last dimension of `rows_of`, read something
    alike while they are reduced: a filter, or a part of an image."""
    plan, rows = one_pass(graph), rows_of(graph, inner)
    assert plan is not None
    if not rows or inner in plan.reduced:
        return False
    return any(
        graph.dims_of(value) & plan.reduced
        and (
            rows[-1] not in graph.dims_of(value)
            or any(
                not axis.is_plain and rows[-1] in axis.dims
                for axis in graph.axes(value)
            )
        )
        for value in range(len(graph.inputs))
    )


def step_of(graph: Graph, value: int, inner: int) -> int:
    """How many elements of a value two neighbours along vectors are apart."""
    for axis in graph.axes(value):
        if inner in axis.dims:
            return axis.steps[inner]
    return 1


def factors_of(graph: Graph, value: int) -> tuple[Expression, ...]:
    """The factors of a sum of products; none of anything else."""
    node = graph.node(value)
    match node.reduction, node.expression:
        case "sum", Call("mul", factors):
            return factors
        case "sum", Call("square", (factor,)):
            return factor, factor
    return ()


def stored_rounded(
    graph: Graph, values: Sequence[int], tensors: Sequence[TensorSpec]
) -> dict[int, Dtype]:
    """The outputs in memory that are rounded to what they are stored in, bytes or
    narrow floats, and that nothing else reads, each with its dtype.

    Args:
        values: those that are operands.
        tensors: the operands.
    """
    return {
        value: tensor.dtype
        for value, tensor in zip(values, tensors, strict=True)
        if value in graph.modes
        and (tensor.dtype in BYTES or _rounds(graph, value, tensor.dtype))
        and not tensor.level.is_registers
        and not graph.above(value)
    }


def _rounds(graph: Graph, value: int, dtype: Dtype) -> bool:
    """Whether a map rounds to a dtype."""
    node = graph.node(value)
    call = node.expression
    return isinstance(call, Call) and dtype.is_rounded_by(call.function)


def together_of(graph: Graph, inner: int, sizes: tuple[Any, ...], most: int) -> Any:
    """Rows that are computed side by side along the last dimension of `rows_of`,
    ``most`` at most, in groups as equal as they can be (integers or arrays). Windows
    that do not overlap, as of most pools, share nothing: one row."""
    plan, along = one_pass(graph), rows_of(graph, inner)[-1]
    assert plan is not None
    shared: Any = False
    for value in range(len(graph.inputs)):
        if not graph.dims_of(value) & plan.reduced:
            continue
        if along not in graph.dims_of(value):
            return _in_groups(sizes[along], most)
        for axis in graph.axes(value):
            if not axis.is_plain and along in axis.dims:
                last = sum(
                    apart * (sizes[dim] - 1)
                    for dim, apart in axis.terms
                    if dim in plan.reduced
                )
                shared = shared | (last >= axis.steps[along])
    groups = _in_groups(sizes[along], most)
    return 1 + (groups - 1) * shared


def _in_groups(size: Any, most: int) -> Any:
    return ceil_div(size, ceil_div(size, most))
