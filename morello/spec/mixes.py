"""Mixes of dtypes that a kind has a meaning for."""

import itertools
import math
from functools import lru_cache

from morello.errors import SpecError
from morello.spec.elements.dtypes import BYTES, ELEMENT_TYPES, Dtype, computed_in
from morello.spec.graphs.products import rounded_to
from morello.spec.kind import Kind


def complete_mix(kind: Kind, dtypes: tuple[Dtype, ...]) -> tuple[Dtype, ...]:
    """The dtype of each operand, from one for all or one each.

    Raises:
        SpecError: another number of dtypes.
    """
    count = len(kind.operands)
    full = dtypes * count if len(dtypes) == 1 else dtypes
    if len(full) != count:
        names = ",".join(o.name for o in kind.operands)
        raise SpecError(
            f"{kind.label} has {count} operands ({names}) but {len(dtypes)} dtypes",
            "give one dtype, or one for each operand",
        )
    return full


def has_dtypes(kind: Kind, dtypes: tuple[Dtype, ...]) -> bool:
    """Whether a mix has a meaning."""
    try:
        kind.check_dtypes(dtypes)
    except SpecError:
        return False
    return True


@lru_cache(maxsize=256)
def legal_mixes(kind: Kind) -> tuple[tuple[Dtype, ...], ...]:
    """Every mix that has a meaning."""
    mixes = itertools.product(ELEMENT_TYPES, repeat=len(kind.operands))
    return tuple(mix for mix in mixes if has_dtypes(kind, mix))


@lru_cache(maxsize=4096)
def may_widen(
    kind: Kind, dtypes: tuple[Dtype, ...], operand: int, dtype: Dtype
) -> bool:
    """Whether the Spec means the same with one operand in a wider dtype.

    An input may take one that holds all its values; an integer output one from which
    the result is cut off, if the kind `wraps`.
    """
    stored = dtypes[operand]
    if not stored.widens_to(dtype):
        return False
    if kind.operands[operand].is_written and (stored.is_float or not kind.wraps):
        return False
    graph = kind.as_graph
    if graph is not None and dtype.is_float:
        value = kind.values[operand]
        if any(value in graph.arguments(v) for v in summed_whole(kind, dtypes)):
            return False
    return has_dtypes(kind, (*dtypes[:operand], dtype, *dtypes[operand + 1 :]))


@lru_cache(maxsize=4096)
def summed_whole(kind: Kind, dtypes: tuple[Dtype, ...]) -> frozenset[int]:
    """The products of bytes inside of a graph of floats, which are added up in s32: the
    dtype of a reduction that is an output is f32."""
    graph = kind.as_graph
    if graph is None or not computed_in(dtypes).is_float:
        return frozenset()
    dtype_of = dict(zip(kind.values, dtypes, strict=True))
    return frozenset(
        v
        for v in graph.contractions
        if v not in graph.modes
        and all(dtype_of.get(factor) in BYTES for factor in graph.arguments(v))
    )


def sums_fit(kind: Kind, dtypes: tuple[Dtype, ...], sizes: tuple[int, ...]) -> bool:
    """Whether products that are `summed_whole` fit s32, whatever the bytes are."""
    whole, graph = summed_whole(kind, dtypes), kind.as_graph
    if not whole or graph is None:
        return True
    dtype_of = dict(zip(kind.values, dtypes, strict=True))
    most = 0.0
    for value in whole:
        terms = math.prod(sizes[dim] for dim in graph.node(value).reduced)
        factors = [dtype_of[factor] for factor in graph.arguments(value)]
        largest = math.prod(max(-d.lowest, d.highest) for d in factors)
        most = max(most, terms * largest)
    return most <= Dtype.S32.highest


def flushing_as(other: Kind, kind: Kind, dtypes: tuple[Dtype, ...]) -> Kind:
    """A kind that is part of another, flushing where that one does."""
    return kind.as_flushing(dtypes) if other.flushing else kind


def dtype_between(kind: Kind, dtypes: tuple[Dtype, ...], value: int) -> Dtype:
    """The dtype of a value of a graph in a buffer between two parts.

    A factor of a product that flushes is stored as the dtype that it is rounded to.
    """
    graph, number = kind.as_graph, computed_in(dtypes)
    if value in summed_whole(kind, dtypes):
        return Dtype.S32
    if graph is None or not kind.flushing:
        return number
    is_factor = any(value in graph.arguments(v) for v in graph.contractions)
    return (rounded_to(graph, value) if is_factor else None) or number


def dtypes_between(kind: Kind, dtypes: tuple[Dtype, ...]) -> dict[int, Dtype]:
    """`dtype_between` of each node of a graph that is no operand, and the dtypes of
    the operands; empty where there is no graph."""
    graph = kind.as_graph
    if graph is None:
        return {}
    between = {v: dtype_between(kind, dtypes, v) for v in graph.node_values}
    return between | dict(zip(kind.values, dtypes, strict=True))
