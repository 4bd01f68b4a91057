"""Convolutions of images that are spread with zeros, without these: `unspread`.

Front ends write a transposed convolution of step s as the convolution of an image with
s - 1 zeros between its elements. The results at places s apart read the same taps, so
they are a convolution of the image as it is, with every s-th tap. Each such class of
places is a node of its own, which writes its places of the result.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping

from morello.frontends.nodes.convolution import Convolution
from morello.frontends.nodes.rewriting import users_of
from morello.frontends.nodes.tensors import (
    Access,
    Joined,
    Node,
    Tensors,
    Within,
    copying,
    window_of,
)
from morello.frontends.nodes.undilated import Inserted, OfInserted, plainly, undilated
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import ONE, IndexMap, dims_of, plain
from morello.spec.tensors.layout import LINE_BYTES, ceil_div


@dataclasses.dataclass(frozen=True)
class _Every:
    """Every so many elements of a dimension, from a first one on."""

    first: int
    step: int
    count: int


_Class = Mapping[int, _Every]
"""The elements of a class along each dimension that is not whole."""

_Piece = tuple[Node, tuple[int, ...], tuple[int, ...]]
"""A node, where along each axis of the whole it begins, and its steps."""


def unspread(tensors: Tensors) -> Tensors:
    """Rewrites convolutions of images that are spread with zeros."""
    return _Unspreading(undilated(tensors)).run()


@dataclasses.dataclass(frozen=True)
class _Axis:
    """An axis of a spread image, and how a convolution reads it."""

    index: IndexMap
    start: int
    step: int
    size: int
    """Elements of the image as it is."""
    place: int
    """The dimension of places, of an axis with steps."""
    tap: int | None
    """The dimension of taps, if there are several."""

    @property
    def before(self) -> int:
        """Elements of the spread image between the first one that is read and the
        first of the image as it is."""
        return self.index.before + self.start

    def classes(self, node: Node) -> Iterator[_Class]:
        """The classes of places, and the taps that reach elements, if there are any."""
        places, by = node.extents[self.place], self.index.steps[self.place]
        taps = 1 if self.tap is None else node.extents[self.tap]
        gap = 1 if self.tap is None else self.index.steps[self.tap]
        each, every = (self.step // math.gcd(self.step, n) for n in (by, gap))
        for first in range(min(each, places)):
            every_place = _Every(first, each, -(-(places - first) // each))
            reaching = [
                tap
                for tap in range(min(every, taps))
                if (first * by + tap * gap - self.before) % self.step == 0
            ]
            tap = (*reaching, taps)[0]
            reach = _Every(tap, every, max(0, -(-(taps - tap) // every)))
            if self.tap is not None:
                yield {self.place: every_place, self.tap: reach}
            elif reach.count:
                yield {self.place: every_place}
            else:
                yield {self.place: _Every(first, 1, 0)}

    def phases(self, node: Node) -> "_Phases | None":
        """The classes of places as channels of one convolution, if all have as many
        taps: by zeros in the place of taps, infinities of the image would be NaN."""
        taps = 1 if self.tap is None else node.extents[self.tap]
        if {*self.index.steps.values()} != {1} or taps % self.step:
            return None
        offset = (self.step - 1 - self.before) % self.step
        steps = -(-(node.extents[self.place] + offset) // self.step)
        return _Phases(self, offset, steps, taps // self.step)

    def within(self, one: _Class) -> tuple[dict[int, int], int]:
        """The terms of the index into the image as it is, and the places before it."""
        if self.step == 1:
            return dict(self.index.terms), self.before
        terms = {d: n * one[d].step // self.step for d, n in self.index.terms}
        first = sum(n * one[d].first for d, n in self.index.terms)
        return terms, (self.before - first) // self.step


@dataclasses.dataclass(frozen=True)
class _Phases:
    """The classes of an axis: place s * q + s - 1 - r - offset, of class r, is the sum
    over j of tap s * j + r times element q + j - before of the image as it is."""

    axis: _Axis
    offset: int
    steps: int
    """How many values q takes."""
    taps: int
    """How many values j takes."""

    @property
    def before(self) -> int:
        """Zeros before the image."""
        return (self.axis.before + self.offset + 1) // self.axis.step - 1

    def places(self, phase: int, count: int) -> tuple[_Every, int]:
        """The places of a class among so many, and the q of the first one."""
        step = self.axis.step
        first = step - 1 - phase - self.offset
        skipped = int(first < 0)
        first += step * skipped
        return _Every(first, step, -(-(count - first) // step)), skipped


@dataclasses.dataclass(frozen=True)
class _Spread:
    """A convolution of a spread image: the reads that image and filters are, the image
    as it is, its axes, and all classes."""

    image: int
    filters: int
    inserted: Inserted
    axes: tuple[_Axis, ...]
    classes: tuple[_Class, ...]

    @classmethod
    def of(cls, tensors: Tensors, node: Node) -> "_Spread | None":
        """A convolution that reads a spread image through windows."""
        convolution = Convolution.of(node) if node.into is None else None
        if convolution is None:
            return None
        one = Inserted.of(tensors, node.reads[convolution.image].tensor)
        filters = node.reads[convolution.filters].axes
        if one is None or not all(axis.is_plain or axis == ONE for axis in filters):
            return None
        axes = []
        indices = node.reads[convolution.image].axes
        ats = zip(one.starts, one.steps, one.shape, strict=True)
        for index, (start, step, size) in zip(indices, ats, strict=True):
            places = [d for d in index.dims if d in node.unreduced]
            taps = [d for d in index.dims if d not in node.unreduced]
            is_window = len(places) == 1 and len(taps) < 2
            if index.is_divided or (step > 1 and not is_window):
                return None
            place, tap = (places[0], (*taps, None)[0]) if step > 1 else (-1, None)
            axes.append(_Axis(index, start, step, size, place, tap))
        each = [[*axis.classes(node)] for axis in axes if axis.step > 1]
        classes = tuple(
            {dim: part for one in chosen for dim, part in one.items()}
            for chosen in itertools.product(*each)
        )
        if not any(map(_has_taps, classes)):  # a piece of the result has to be there
            return None
        return cls(convolution.image, convolution.filters, one, tuple(axes), classes)

    def phases(self, node: Node) -> tuple[_Phases, ...]:
        """How all classes are one convolution, with the places of a step as channels;
        empty where that fills no fewer lines of channels."""
        phases = [axis.phases(node) for axis in self.axes if axis.step > 1]
        image, filters = ({*dims_of(node.reads[i].axes)} for i in self.reads)
        columns = (filters - image) & node.unreduced
        if None in phases or image & filters & node.unreduced:
            return ()
        known = [one for one in phases if one is not None]
        line = LINE_BYTES // node.dtype.itemsize
        channels = math.prod(node.extents[dim] for dim in columns)
        places = math.prod(one.axis.step for one in known)
        taps = math.prod(one.taps for one in known)
        apart = sum(
            math.prod(part.count for dim, part in one.items() if dim in node.reduced)
            for one in self.classes
        )
        together = taps * ceil_div(channels * places, line)
        return tuple(known) if together < apart * ceil_div(channels, line) else ()

    @property
    def reads(self) -> tuple[int, int]:
        """The reads that image and filters are."""
        return self.image, self.filters

    @property
    def is_covered(self) -> bool:
        """Whether every class has taps."""
        return all(map(_has_taps, self.classes))

    @property
    def is_product(self) -> bool:
        """Whether every class is a product, of one tap."""
        taps = [axis.tap for axis in self.axes if axis.tap is not None]
        is_one = all(one[tap].count == 1 for one in self.classes for tap in taps)
        return is_one and all(a.step > 1 or len(a.index.dims) < 2 for a in self.axes)


def _has_taps(one: _Class) -> bool:
    return all(part.count for part in one.values())


class _Unspreading(OfInserted):
    def __init__(self, old: Tensors) -> None:
        nodes = {i: t for i, t in enumerate(old.all) if isinstance(t, Node)}
        every = {i: _Spread.of(old, node) for i, node in nodes.items()}
        self.spread = {i: spread for i, spread in every.items() if spread is not None}
        super().__init__(old, (spread.inserted for spread in self.spread.values()))
        users = users_of(old)
        self.before = {
            user: i
            for i in self.spread
            if len(users[i]) == 1
            for user in users[i]
            if self._follows(user, i)
        }
        """By a map, the convolution that it alone reads, and is computed with."""
        self.split: dict[int, tuple[int, ...]] = {}
        """The nodes that an old piece has become."""

    def _follows(self, user: int, number: int) -> bool:
        """Whether a map is best computed with the product of each class."""
        node = self.old.node(user)
        reads = [a for a in node.reads if self.old.root(a.tensor) == number]
        return (
            node.reduction == MAP
            and number not in self.results
            and [access.tensor for access in reads] == [number]
            and all(axis.is_plain or axis == ONE for axis in reads[0].axes)
            and self.spread[number].is_product
        )

    def pieces_of(self, number: int) -> tuple[int, ...]:
        """The new nodes of an old piece of a joined tensor."""
        return self.split.get(number, super().pieces_of(number))

    def node(self, number: int, node: Node) -> int | None:
        """Split a convolution of a spread image, or the map that follows it."""
        self.keep(number, node)
        if number in self.before.values():
            return None
        if number in self.before:
            pieces = self._mapped(number, node, self.before[number])
        elif number in self.spread:
            pieces = self._classes(node, self.spread[number])
        else:
            return self.add(node)
        if node.into is None:
            is_covered = number in self.before or self.spread[number].is_covered
            fill = "" if is_covered else "zero"
            return self.new.join(Joined(node.shape, node.dtype, fill), pieces)
        into = node.into
        self.split[number] = tuple(
            self.new.add(dataclasses.replace(piece, into=_inside(into, starts, steps)))
            for piece, starts, steps in pieces
        )
        return self.split[number][0]

    def _classes(self, node: Node, spread: _Spread) -> Iterator[_Piece]:
        phases = spread.phases(node)
        if phases:
            yield from self._phases(node, spread, phases)
            return
        for one in filter(_has_taps, spread.classes):
            yield self._class(node, spread, one), *_places(node, one)

    def _mapped(self, number: int, node: Node, convolution: int) -> Iterator[_Piece]:
        """The map of each class of a convolution."""
        inner, spread = self.old.node(convolution), self.spread[convolution]
        place = self.old.node(number).tensors.index(convolution)
        names = zip(inner.axes, node.reads[place].axes, strict=True)
        read_dims = {axis.dim: read.dim for axis, read in names}
        for one in spread.classes:
            product = self.add(self._class(self.moved(inner), spread, one))
            part_of_dim = {
                read_dims[d]: part for d, part in one.items() if d in read_dims
            }
            here = {dim: part for dim, part in part_of_dim.items() if dim is not None}
            part = self._part(node, here, place)
            reads = list(part.reads)
            reads[place] = Access(product, plainly(reads[place].axes, part.extents))
            class_map = part.changed(reads=tuple(reads))
            yield dataclasses.replace(class_map, into=None), *_places(node, here)

    def _class(self, node: Node, spread: _Spread, one: _Class) -> Node:
        """A convolution at the places of a class, of the image as it is."""
        part = self._part(node, one, spread.image, spread.filters)
        whole = node.reads[spread.filters]
        axes = plainly(whole.axes, part.extents)
        shape = tuple(int(axis.extent(part.extents)) for axis in axes)
        cut = []
        for place, axis in enumerate(whole.axes):
            taps = one.get(-1 if axis.dim is None else axis.dim)
            index = ({place: taps.step}, -taps.first) if taps else ({place: 1}, 0)
            cut.append(
                window_of(*index, shape, self.new.all[whole.tensor].shape[place])
            )
        dtype = self.new.dtype(whole.tensor)
        read = Access(whole.tensor, tuple(cut))
        filters = self.add(copying(read, shape, dtype, node.place))
        image = [window_of(*a.within(one), part.extents, a.size) for a in spread.axes]
        reads = list(part.reads)
        reads[spread.filters] = Access(filters, axes)
        reads[spread.image] = Access(self.alone(spread.inserted), tuple(image))
        return part.changed(reads=tuple(reads))

    def _phases(
        self, node: Node, spread: _Spread, phases: tuple[_Phases, ...]
    ) -> Iterator[_Piece]:
        """Copies of the elements of each class out of one convolution for all
        classes."""
        extents = [*node.extents, *(one.axis.step for one in phases)]
        for one in phases:
            assert one.axis.tap is not None
            extents[one.axis.place], extents[one.axis.tap] = one.steps, one.taps
        wide = tuple(extents)
        added = plain(*range(len(node.extents), len(wide)))
        before = {id(one.axis): one.before for one in phases}
        image = tuple(
            window_of(
                dict(axis.index.terms),
                before.get(id(axis), axis.before),
                wide,
                axis.size,
            )
            for axis in spread.axes
        )
        reads = list(node.reads)
        reads[spread.image] = Access(self.alone(spread.inserted), image)
        reads[spread.filters] = self._by_phases(
            node.reads[spread.filters], phases, wide, added, node.place
        )
        axes = (*plainly(node.axes, wide), *added)
        whole = self.add(
            dataclasses.replace(
                node.changed(extents=wide, axes=axes, reads=tuple(reads)), into=None
            )
        )
        dims = [axis.dim for axis in node.axes]
        for chosen in itertools.product(*(range(one.axis.step) for one in phases)):
            shape, cut = list(node.shape), {}
            starts, steps = [0] * len(dims), [1] * len(dims)
            for one, phase in zip(phases, chosen, strict=True):
                number = dims.index(one.axis.place)
                places, skipped = one.places(phase, shape[number])
                shape[number], cut[number] = places.count, skipped
                starts[number], steps[number] = places.first, places.step
            of_whole = [
                window_of({i: 1}, -cut.get(i, 0), tuple(shape), n)
                for i, n in enumerate(self.new.all[whole].shape[: len(dims)])
            ]
            of_phase = [
                window_of({}, -phase, (), one.axis.step)
                for one, phase in zip(phases, chosen, strict=True)
            ]
            read = Access(whole, (*of_whole, *of_phase))
            piece = copying(read, tuple(shape), node.dtype, node.place)
            yield piece, tuple(starts), tuple(steps)

    def _by_phases(
        self,
        filters: Access,
        phases: tuple[_Phases, ...],
        extents: tuple[int, ...],
        added: tuple[IndexMap, ...],
        place: str,
    ) -> Access:
        """The filters with the taps within one step as trailing axes."""
        old = self.new.all[filters.tensor].shape
        shape = [int(axis.extent(extents)) for axis in filters.axes]
        shape += [one.axis.step for one in phases]
        by_tap = {one.axis.tap: i for i, one in enumerate(phases)}
        cut = []
        for i, (axis, size) in enumerate(zip(filters.axes, old, strict=True)):
            terms, number = {i: 1}, by_tap.get(axis.dim)
            if axis.dim is not None and number is not None:
                terms = {i: phases[number].axis.step, len(old) + number: 1}
            cut.append(window_of(terms, 0, tuple(shape), size))
        read, dtype = Access(filters.tensor, tuple(cut)), self.new.dtype(filters.tensor)
        copied = self.add(copying(read, tuple(shape), dtype, place))
        return Access(copied, (*plainly(filters.axes, extents), *added))

    def _part(self, node: Node, one: _Class, *others: int) -> Node:
        """A node at the elements of a class.

        Args:
            others: the reads that are left as they are.
        """
        counts = {dim: part.count for dim, part in one.items()}
        extents = tuple(counts.get(d, n) for d, n in enumerate(node.extents))
        reads = []
        for place, access in enumerate(node.reads):
            axes = access.axes
            if place not in others:
                shape = self.new.all[access.tensor].shape
                pairs = zip(axes, shape, strict=True)
                axes = tuple(_cut(axis, one, extents, size) for axis, size in pairs)
            reads.append(Access(access.tensor, axes))
        return node.changed(
            extents=extents, axes=plainly(node.axes, extents), reads=tuple(reads)
        )


def _cut(axis: IndexMap, one: _Class, extents: tuple[int, ...], size: int) -> IndexMap:
    """An index at the elements of a class."""
    if not one.keys() & {*axis.dims}:
        return axis
    terms, before = dict(axis.terms), axis.before
    for dim in one.keys() & {*axis.dims}:
        before -= terms[dim] * one[dim].first
        terms[dim] *= one[dim].step
    return window_of(terms, before, extents, size)


def _places(node: Node, one: _Class) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The places of a class in the result of a node: where they begin, and steps."""
    whole = _Every(0, 1, 0)
    parts = [whole if a.dim is None else one.get(a.dim, whole) for a in node.axes]
    return tuple(part.first for part in parts), tuple(part.step for part in parts)


def _inside(into: Within, starts: tuple[int, ...], steps: tuple[int, ...]) -> Within:
    """A part of a part."""
    axes = zip(into.starts, starts, into.steps, strict=True)
    return dataclasses.replace(
        into,
        starts=tuple(begin + start * step for begin, start, step in axes),
        steps=tuple(a * b for a, b in zip(into.steps, steps, strict=True)),
    )
