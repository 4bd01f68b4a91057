"""Nodes of a program, as traced arrays."""

import itertools
from collections.abc import Sequence
from typing import Any

from morello.frontends.nodes.tensors import Access, identity_axes
from morello.spec.elements.dtypes import Dtype
from morello.spec.graphs.expression import Call, Expression, Reference, renumbered
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import renamed
from morello.tracing.numbers import computed_in, constant_of
from morello.tracing.operands import traced
from morello.tracing.recording import Recording
from morello.tracing.refusals import refusal
from morello.tracing.tracer import Shape, Tracer, whole


def node(
    recording: Recording,
    shape: Shape,
    reduction: str,
    expression: Expression,
    reads: Sequence[Access],
    gone: Shape = (),
    dtype: Dtype = Dtype.F32,
) -> Tracer:
    """A value that is computed.

    Args:
        shape: of its axes, which are the first dimensions.
        gone: the extents of the dimensions that it reduces, which come after.
        dtype: f32 or s32, in which it is computed.
    """
    used = tuple(dict.fromkeys(reads))
    places = {place: used.index(access) for place, access in enumerate(reads)}
    tensor = recording.node(
        (*shape, *gone),
        identity_axes(shape),
        reduction,
        renumbered(expression, places),
        used,
        dtype,
    )
    tracer = whole(recording, tensor, dtype.numpy)
    tracer._owns_memory = True
    return tracer


def pointwise(recording: Recording, name: str, *operands: Any) -> Tracer:
    """A function of elements; shapes broadcast as NumPy's do."""
    arguments = [traced(recording, one) for one in operands]
    arrays = [a for a in arguments if a is not None]
    rank = max(a.ndim for a in arrays)
    labels = [range(rank - a.ndim, rank) for a in arrays]
    reads, extents = aligned(arrays, labels, name)
    places = itertools.count()
    expression = Call(
        name,
        tuple(
            constant_of(one) if a is None else Reference(next(places))
            for one, a in zip(operands, arguments, strict=True)
        ),
    )
    shape = tuple(extents[place] for place in range(rank))
    dtype = computed_in(name, arrays)
    return node(recording, shape, MAP, expression, reads, dtype=dtype)


def aligned(
    arrays: list[Tracer], labels: Sequence[Sequence[int]], name: str
) -> tuple[list[Access], dict[int, int]]:
    """How arrays are read along dimensions, and the extent of each dimension.

    Args:
        arrays: of one program.
        labels: the dimension of each axis of each array.
        name: of the function that reads them.

    Raises:
        MorelloError: axes of one dimension have different extents.
    """
    extents: dict[int, int] = {}
    reads = []
    for array, dims in zip(arrays, labels, strict=True):
        for dim, extent in zip(dims, array.shape, strict=True):
            if extent > 1 and extents.get(dim, 1) not in (1, extent):
                shapes = " and ".join(str(one.shape) for one in arrays)
                raise refusal(f"the shapes {shapes} do not broadcast in {name}")
            extents[dim] = max(extent, extents.get(dim, 1))
        axes = renamed(array._access.axes, dict(enumerate(dims)))
        reads.append(Access(array._access.tensor, axes))
    return reads, extents
