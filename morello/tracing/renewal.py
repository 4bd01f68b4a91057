"""A value of a graph once more: along other dimensions, or some of its elements.

A graph has no view of a value that is computed. So what a function says of one, that it
is read along two axes at once, in part, or with an axis in two, becomes another value,
which is computed from the inputs anew. Equal values are one in the end.
"""

import dataclasses

from morello.errors import MorelloError
from morello.spec.graphs.expression import Reference, substituted
from morello.spec.index_map import IndexMap, plain
from morello.tracing.builder import Builder, Input, every_dim
from morello.tracing.views import WHOLE, Padding, Part, Reshape, Slice

ONE = -1
"""The dimension of an axis of one element."""


@dataclasses.dataclass(frozen=True)
class Cut:
    """Slice of ``count`` elements of a dimension, and its replacement."""

    dims: tuple[int, ...]
    """The new dimension; none where one element is left; several, outermost first."""
    start: int
    step: int
    count: int
    size: int
    """Of the old dimension."""
    around: tuple[int, int] = (0, 0)
    """Elements before and after these, which hold 0."""

    @property
    def slice(self) -> Slice:
        """Start, stop and step of the elements, as in a Python slice."""
        if (self.start, self.step, self.count) == (0, 1, self.size):
            return WHOLE
        end = self.start + self.step * self.count
        return self.start, (end if end >= 0 else None), self.step


def whole(dims: tuple[int, ...], size: int) -> Cut:
    """A dimension under other names."""
    return Cut(dims, 0, 1, size, size)


def padded(dim: int, size: int, before: int, after: int) -> Cut:
    """A whole dimension with more elements around it."""
    return Cut((dim,), 0, 1, size, size, (before, after))


Cuts = dict[int, Cut]
"""By dimension, as it is known by now."""


class OutOfReachError(MorelloError):
    """A part of a value that no graph has."""


def fresh(builder: Builder, value: int) -> tuple[int, dict[int, int]]:
    """Copies a value along new dimensions only, and maps old dimensions to new ones."""
    dims = {d: builder.dimension(builder.sizes[d]) for d in every_dim(builder, [value])}
    cuts = {d: whole((new,), builder.sizes[d]) for d, new in dims.items()}
    return _Renewal(builder, inside=True).visit(value, cuts), dims


def renewed(builder: Builder, value: int, cuts: Cuts) -> int:
    """A value of which some dimensions are cut.

    Raises:
        OutOfReachError: what would be read is no part of a graph.
    """
    return _Renewal(builder, inside=False).visit(value, cuts)


class _Renewal:
    """Makes values anew, each once.

    Args:
        builder: the graph.
        inside: whether dimensions that a node reduces are cut, too.
    """

    def __init__(self, builder: Builder, inside: bool) -> None:
        self._builder = builder
        self._inside = inside
        self._known: dict[tuple[int, frozenset[int]], int] = {}

    def visit(self, old: int, cuts: Cuts) -> int:
        """The value that ``old`` becomes."""
        if not self._inside:
            own = self._builder.dims_of(old)
            cuts = {dim: cut for dim, cut in cuts.items() if dim in own}
        key = old, frozenset(cuts)
        if key not in self._known:
            self._known[key] = self._made(old, cuts)
        return self._known[key]

    def _made(self, old: int, cuts: Cuts) -> int:
        found = self._builder.inputs.get(old)
        if found is not None:
            untouched = not self._builder.dims_of(old) & {*cuts}
            if untouched:
                return old
            return self._builder.input(_input(self._builder, found, cuts))
        node = self._builder.nodes[old]
        expression = substituted(
            node.expression, lambda value: Reference(self.visit(value, cuts))
        )
        if expression == node.expression:
            return old
        names = [(dim, cuts.get(self._builder.root(dim))) for dim in node.axes]
        dims = ((dim,) if cut is None else cut.dims for dim, cut in names)
        return self._builder.node(
            tuple(dim for own in dims for dim in own), node.reduction, expression
        )


def _input(builder: Builder, found: Input, cuts: Cuts) -> Input:
    slices = [WHOLE] * found.rank
    around = [(0, 0)] * found.rank
    parts: dict[int, tuple[IndexMap, ...]] = {}
    for old, place in zip(found.axes, found.kept, strict=True):
        parts[place], slices[place] = _axis(builder, old, cuts)
        if old.dim is not None and builder.root(old.dim) in cuts:
            around[place] = cuts[builder.root(old.dim)].around
    if found.source >= 0 and any(step < 0 for _, _, step in slices):
        raise OutOfReachError("an array that is computed is not traced backwards")
    views = found.views
    if any(each != WHOLE for each in slices):
        views = (*views, Part(tuple(slices)))
    if any(each != (0, 0) for each in around):
        views = (*views, Padding(tuple(around), 0.0))
    if all(len(axes) < 2 for axes in parts.values()):
        kept = tuple(place for place in found.kept if parts[place])
        axes = tuple(axis for place in kept for axis in parts[place])
        return dataclasses.replace(found, axes=axes, kept=kept, views=views)
    every = [axis for place in range(found.rank) for axis in parts.get(place, ())]
    shape = [int(axis.extent(tuple(builder.sizes))) for axis in every]
    views = (*views, Reshape(tuple(range(found.rank)), tuple(shape)))
    return dataclasses.replace(
        found,
        axes=tuple(every),
        kept=tuple(range(len(every))),
        rank=len(every),
        views=views,
    )


def _axis(
    builder: Builder, axis: IndexMap, cuts: Cuts
) -> tuple[tuple[IndexMap, ...], Slice]:
    """Axes that replace an axis, and the slice of it that is left."""
    if axis.dim is None:
        return _window(builder, axis, cuts)
    cut = cuts.get(builder.root(axis.dim))
    return ((axis,), WHOLE) if cut is None else (plain(*cut.dims), cut.slice)


def _window(
    builder: Builder, window: IndexMap, cuts: Cuts
) -> tuple[tuple[IndexMap, ...], Slice]:
    extent = window.extent(tuple(builder.sizes))
    first, reach = -window.before, 1
    terms = []
    for dim, stride in window.terms:
        size = builder.sizes[dim]
        cut = cuts.get(builder.root(dim), whole((dim,), size))
        if len(cut.dims) > 1 or (cut.step < 1 and cut.count > 1) or any(cut.around):
            raise OutOfReachError(
                "an axis along which windows move is not traced in another order, as "
                "two, or beside others"
            )
        first += stride * cut.start
        reach += stride * cut.step * (cut.count - 1)
        terms += [(new, stride * cut.step) for new in cut.dims]
    low, high = max(first, 0), min(first + reach, extent)
    padded = high - low < reach
    if low >= high or (padded and not terms):
        raise OutOfReachError("a window beyond its array is not traced")
    if not terms:
        return (), (low, high, 1)
    if len(terms) == 1 and not padded:
        return plain(terms[0][0]), (low, high, terms[0][1])
    part = WHOLE if (low, high) == (0, extent) else (low, high, 1)
    before, after = max(-first, 0), max(first + reach - extent, 0)
    return (IndexMap(tuple(terms), before, after),), part
