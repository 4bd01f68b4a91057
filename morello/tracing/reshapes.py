"""Arrays in another shape."""

import math
from typing import Any

from morello.lazy import cached_property
from morello.tracing.refusals import refusal
from morello.tracing.renewal import ONE, Cut, OutOfReachError, renewed, whole
from morello.tracing.tracer import INDEXING, Deferred, Tracer, as_input, stored
from morello.tracing.views import Reshape


def reshaped(array: Tracer, shape: tuple[int, ...]) -> Tracer:
    """An array in another shape."""
    known = 1
    for extent in shape:
        known *= extent if extent != ONE else 1
    if shape.count(-1) == 1 and known and array.size % known == 0:
        shape = tuple(array.size // known if n == -1 else n for n in shape)
    if min(shape, default=1) < 1 or math.prod(shape) != array.size:
        raise refusal(f"{array.shape} cannot be reshaped to {shape}")
    kept = [d for d in array._dims if d != ONE]
    extents = [extent for extent in array.shape if extent != 1]
    if [extent for extent in shape if extent != 1] == extents:
        rest = iter(kept)
        return array._seen(tuple(ONE if n == 1 else next(rest) for n in shape))
    argument = _reshaped_argument(array, shape)
    return Reshaped(array, shape) if argument is None else argument


def _reshaped_argument(array: Tracer, shape: tuple[int, ...]) -> Tracer | None:
    """An argument that is reshaped before the call; None for what is computed."""
    builder, found = array._builder, array._builder.inputs.get(array._value)
    if found is None:
        return None
    axes = [axis.dim for axis in builder.settled(found.axes)]
    kept = [builder.root(d) for d in array._dims if d != ONE]
    if {*kept} != {*axes}:  # it is seen through windows
        return None
    places = [found.kept[axes.index(d)] for d in kept]
    single = [place for place in range(found.rank) if place not in places]
    views = (*found.views, Reshape((*single, *places), shape))
    source = found.source
    return as_input(builder, found.argument, shape, found.array, views, source)


class Reshaped(Deferred):
    """Computed array in another shape, free of cost as a result. For a reader it is
    computed again with axes split in two; for other shapes it is stored first."""

    def __init__(self, base: Tracer, shape: tuple[int, ...]) -> None:
        self.base = base
        self._builder = base._builder
        self._shape = shape
        self._own = base._own = False
        self.kind = base.kind

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis."""
        return self._shape

    @cached_property
    def _made(self) -> Tracer:
        in_two = _in_two(self.base, self._shape)
        if in_two is None:
            in_two = _reshaped_argument(stored(self.base), self._shape)
        if in_two is None:  # it is seen through windows
            in_two = _reshaped_argument(stored(self.base.copied()), self._shape)
        assert in_two is not None
        return in_two

    def reshape(self, *shape: Any, order: str = "C") -> Tracer:
        """Another shape of the same."""
        return self.base.reshape(*shape, order=order)


def _in_two(base: Tracer, shape: tuple[int, ...]) -> Tracer | None:
    """A value of which axes are taken in two or more; None where they are joined."""
    builder = base._builder
    dims: list[Any] = []
    cuts: dict[int, Cut] = {}
    rest = [n for n in shape if n != 1][::-1]
    for dim, size in zip(base._dims, base.shape, strict=True):
        parts: list[int] = []
        while dim != ONE and rest and math.prod(parts) < size:
            parts.append(rest.pop())
        if math.prod(parts) != size:
            return None
        if len(parts) < 2:
            dims += [dim] * len(parts)
            continue
        new = tuple(builder.dimension(extent) for extent in parts)
        cuts[builder.root(dim)] = whole(new, size)
        dims += new
    try:
        value = renewed(builder, base._value, cuts)
    except OutOfReachError:
        return None
    left = iter(dims)
    own = tuple(ONE if extent == 1 else next(left) for extent in shape)
    return Tracer(builder, value, own)


INDEXING["reshape"] = reshaped
