"""Arrays one after the other: `concatenate`, and what NumPy has besides."""

from typing import Any

import numpy as np

from morello.tracing.functions.elementwise import recording_of
from morello.tracing.numbers import F32
from morello.tracing.operands import traced
from morello.tracing.refusals import refusal
from morello.tracing.slicing import axis_of
from morello.tracing.tracer import Tracer, whole

_MOST_RUNS = 8
"""The most slices that the places of `take` are written as."""


def concatenate(arrays: Any, axis: int | None = 0) -> Tracer:
    """Joins arrays along an axis (`numpy.concatenate`)."""
    recording = recording_of(*arrays)
    tracers = [traced(recording, array) for array in arrays]
    parts = [part for part in tracers if part is not None]
    if len(parts) < len(tracers) or not all(part.ndim for part in parts):
        raise refusal("arrays without axes cannot be concatenated", "use np.stack")
    if axis is None:
        parts, axis = [part.reshape(-1) for part in parts], 0
    if len(parts) == 1:
        return parts[0].copy()
    ranks = {part.ndim for part in parts}
    place = axis_of(parts[0].ndim, axis) if len(ranks) == 1 else 0
    others = {part.shape[:place] + part.shape[place + 1 :] for part in parts}
    if len(ranks) > 1 or len(others) > 1:
        shapes = " and ".join(str(part.shape) for part in parts)
        raise refusal(f"the shapes {shapes} cannot be concatenated along axis {axis}")
    dtypes = {part.dtype for part in parts}
    pieces = [(part._access, part.shape) for part in parts]
    joined = whole(recording, recording.joined(pieces, place))
    joined.dtype = dtypes.pop() if len(dtypes) == 1 else F32
    joined._owns_memory = True
    return joined


def stack(arrays: Any, axis: int = 0) -> Tracer:
    """Joins arrays along a new axis (`numpy.stack`)."""
    recording = recording_of(*arrays)
    parts = [_expanded(traced(recording, array), axis) for array in arrays]
    return concatenate(parts, axis)


def _expanded(part: Tracer | None, axis: int) -> Tracer:
    if part is None:
        raise refusal("numbers cannot be stacked", "write np.full(shape, number)")
    rank = part.ndim + 1
    if not -rank <= axis < rank:
        raise refusal(f"axis {axis} of an array of {rank} axes")
    index = [slice(None)] * part.ndim
    index.insert(axis % rank, None)  # type: ignore[arg-type]
    return part[tuple(index)]


def hstack(tup: Any) -> Tracer:
    """Joins arrays along the second axis, vectors along the first (`numpy.hstack`)."""
    return concatenate(tup, 0 if np.ndim(tup[0]) == 1 else 1)


def vstack(tup: Any) -> Tracer:
    """Joins arrays along the first axis, vectors as rows (`numpy.vstack`)."""
    return concatenate([part[None] if np.ndim(part) == 1 else part for part in tup], 0)


def append(arr: Any, values: Any, axis: int | None = None) -> Tracer:
    """Appends values to an array (`numpy.append`)."""
    return concatenate([arr, values], axis)


def roll(a: Any, shift: int, axis: int | None = None) -> Tracer:
    """Rotates elements along one axis, or all as one vector (`numpy.roll`)."""
    if axis is None:
        flat: Tracer = roll(a.reshape(-1), shift, 0).reshape(a.shape)
        return flat
    place = axis_of(a.ndim, axis)
    size = a.shape[place]
    back = shift % size
    if not back:
        return a.copy()  # type: ignore[no-any-return]
    before = (slice(None),) * place
    ends = slice(size - back, None), slice(None, size - back)
    return concatenate([a[(*before, end)] for end in ends], place)


def take(a: Any, indices: Any, axis: int | None = None) -> Tracer:
    """Takes elements at constant indices (`numpy.take`), one slice for each run of
    evenly spaced indices."""
    if isinstance(indices, Tracer):
        raise refusal(
            "np.take at places that are computed is not traced",
            "give them as a list or an array of integers, or take outside of the "
            "function",
        )
    if axis is None:
        a, axis = a.reshape(-1), 0
    place = axis_of(a.ndim, axis)
    size = a.shape[place]
    places = np.asarray(indices)
    if places.dtype.kind not in "iu" or not places.size:
        raise refusal("np.take takes integers, at least one")
    if (places < -size).any() or (places >= size).any():
        raise refusal(f"the places {indices} of an axis of {size} elements")
    before = (slice(None),) * place
    if not places.ndim:
        taken: Tracer = a[(*before, int(places))]
        return taken
    parts = [a[(*before, run)] for run in _runs((places.ravel() % size).tolist())]
    joined = parts[0] if len(parts) == 1 else concatenate(parts, place)
    if places.ndim > 1:
        shape = (*a.shape[:place], *places.shape, *a.shape[place + 1 :])
        return joined.reshape(shape)
    return joined


def _runs(places: list[int]) -> list[slice]:
    """Places as slices."""
    runs = []
    while places:
        count, step = 1, 1
        if len(places) > 1 and places[1] != places[0]:
            step = places[1] - places[0]
            while count < len(places) and places[count] == places[0] + count * step:
                count += 1
        end = places[0] + count * step
        runs.append(slice(places[0], end if end >= 0 else None, step))
        places = places[count:]
    if len(runs) > _MOST_RUNS:
        raise refusal(
            f"np.take at places of {len(runs)} runs is not traced",
            f"take outside of the function, or at most {_MOST_RUNS} runs that go up or "
            "down evenly",
        )
    return runs
