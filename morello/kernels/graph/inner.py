"""The dimension that vectors of a graph lie along, and what is read along it."""

from functools import lru_cache

from morello.kernels.graph.lines import reads_windows
from morello.kernels.graph.shape import (
    MOST_STEP,
    reduced_of,
    rows_of,
    shares_rows,
)
from morello.kernels.predicates import (
    in_l1,
)
from morello.spec import (
    Compose,
    SpecKey,
)
from morello.spec.graphs.blocks import in_one_block
from morello.spec.graphs.borders import border
from morello.spec.graphs.graph import Graph
from morello.spec.graphs.passes import one_pass
from morello.spec.operand import Operand


def _lead(key: SpecKey) -> int:
    """An operand of the most dimensions: an output, where there is one."""
    operands = key.kind.operands
    return max(
        range(len(operands)),
        key=lambda i: (_is_whole(operands[i]), operands[i].rank, i),
    )


def _is_whole(operand: Operand) -> bool:
    """Whether each element of an operand is read at one point of its dimensions."""
    return all(axis.is_plain or axis.halves for axis in operand.axes)


def wanted_inner(key: SpecKey) -> int | None:
    """The dimension that vectors should lie along: that of an operand that is read at
    several points, which has no other form, else of `_lead`; as it lies, or as it would
    in row-major order."""
    lead = _lead(key)
    for operand, tensor in zip(key.kind.operands, key.tensors, strict=True):
        axis = operand.axes[tensor.layout.innermost] if operand.rank else None
        if axis is not None and not _is_whole(operand) and axis.is_plain:
            return axis.dim
    operand, layout = key.kind.operands[lead], key.tensors[lead].layout
    if not operand.rank:
        return None
    return operand.dims[-1 if layout.is_packed else layout.innermost]


@lru_cache(maxsize=65536)
def inner_of(key: SpecKey) -> int | None:
    """The dimension along vectors: the innermost of an operand of the most dimensions,
    or one of halves of bytes; None where it is not innermost in all operands that have
    it, undivided."""
    operands, tensors = key.kind.operands, key.tensors
    lead = _lead(key)
    if not operands[lead].rank:
        return None
    pairs = zip(operands, tensors, strict=True)
    axes = [operand.axes[t.layout.innermost] for operand, t in pairs if operand.rank]
    halved = [axis.dims[0] for axis in axes if axis.halves]
    inner = operands[lead].dims[tensors[lead].layout.innermost]
    return next((dim for dim in (inner, *halved) if _is_inner(key, dim)), None)


def _is_inner(key: SpecKey, inner: int) -> bool:
    """Whether a dimension is innermost in all operands that have it, undivided."""
    for operand, tensor in zip(key.kind.operands, key.tensors, strict=True):
        if inner in operand.dims:
            innermost = operand.axis(inner) == tensor.layout.innermost
            axis = operand.map(inner)
            apart = not innermost or operand.step(inner) > MOST_STEP
            if apart and (axis.halves or not axis.is_divided):
                return False
        elif tensor.level.is_registers:
            return False
    return True


def reads_far(key: SpecKey) -> bool:
    """Whether operands are read and written where they lie, beyond L1."""
    return not in_l1(*key.tensors) and is_windowed(key)


@lru_cache(maxsize=65536)
def is_windowed(key: SpecKey) -> bool:
    """Whether rows side by side read windows of an operand."""
    kind = key.kind
    if not isinstance(kind, Compose):
        return False
    inner, plan = inner_of(key), one_pass(kind.graph)
    if inner is None or plan is None:
        return False
    graph = in_one_block(kind.graph, inner)
    return shares_rows(graph, inner) and reads_windows(
        graph, rows_of(graph, inner), plan.reduced
    )


def has_borders(key: SpecKey) -> bool:
    """Whether what is beyond images adds nothing, and the last taps are those along
    the rows side by side, where these are padded."""
    graph, inner = graph_seen(key)
    plan = one_pass(graph)
    assert plan is not None
    padded, rows = graph.padded_dims - plan.reduced, rows_of(graph, inner)
    edges = {dim: border(graph, dim) for dim in padded}
    last = reduced_of(graph, inner)[-1]
    return not padded - {*rows} and all(
        edge is not None and (edge.taps == last) == (dim == rows[-1])
        for dim, edge in edges.items()
    )


def graph_of(key: SpecKey) -> Graph:
    """The graph of a Spec that is one."""
    assert isinstance(key.kind, Compose)
    return key.kind.graph


def graph_seen(key: SpecKey) -> tuple[Graph, int]:
    """The graph that is computed, and the dimension along vectors: all of it is in one
    block of what is divided."""
    inner = inner_of(key)
    assert inner is not None
    return in_one_block(graph_of(key), inner), inner
