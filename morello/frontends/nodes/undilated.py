"""Convolutions of filters that are spread with zeros, as dilated ones: `undilated`.

StableHLO spreads a dilated filter with zeros between its taps, so that 3x3 taps become
5x5 products. A convolution by these taps alone reads its image at place + dilation ·
tap.
"""

import dataclasses
from collections.abc import Iterable

from morello.frontends.nodes.convolution import Convolution
from morello.frontends.nodes.reshapes import axis_groups
from morello.frontends.nodes.rewriting import Rewriter
from morello.frontends.nodes.tensors import Access, Joined, Node, Tensors, window_of
from morello.spec.index_map import ONE, IndexMap


@dataclasses.dataclass(frozen=True)
class Inserted:
    """A tensor that a node computes, spread with zeros: where its elements are along
    each axis, as a view of the whole has them."""

    piece: int
    """The node."""
    starts: tuple[int, ...]
    steps: tuple[int, ...]
    shape: tuple[int, ...]
    """The shape of the tensor without the zeros."""

    @classmethod
    def of(cls, tensors: Tensors, tensor: int) -> "Inserted | None":
        """A tensor that is spread along axes which it is seen with."""
        whole = tensors.all[tensors.root(tensor)]
        if not isinstance(whole, Joined) or len(whole.pieces) != 1:
            return None
        piece = tensors.node(whole.pieces[0])
        if piece.into is None or whole.fill != "zero" or max(piece.into.steps) == 1:
            return None
        along = list(zip(piece.into.starts, piece.into.steps, piece.shape, strict=True))
        seen = tensors.all[tensor].shape
        axes = [(0, 1, size) for size in seen]
        for olds, news in axis_groups(whole.shape, seen):
            wide = [i for i in olds if whole.shape[i] > 1]
            if len(wide) == 1 and seen[news[-1]] == whole.shape[wide[0]]:
                axes[news[-1]] = along[wide[0]]
            elif any(along[i][2] != whole.shape[i] for i in wide):
                return None
        starts, steps, shape = zip(*axes, strict=True)
        return cls(whole.pieces[0], starts, steps, shape)


class OfInserted(Rewriter):
    """Adds each tensor that is spread with zeros without them, beside the whole."""

    def __init__(self, old: Tensors, every: Iterable[Inserted]) -> None:
        super().__init__(old)
        self._apart = {one.piece: -1 for one in every}
        """The new tensor without zeros, by the old node that is spread."""

    def keep(self, number: int, node: Node) -> None:
        """Add a node that is spread, without the zeros."""
        if number in self._apart:
            self._apart[number] = self.apart(dataclasses.replace(node, into=None))

    def alone(self, one: Inserted) -> int:
        """A new tensor without zeros."""
        return self.view(self._apart[one.piece], one.shape)


def undilated(tensors: Tensors) -> Tensors:
    """Rewrites convolutions of filters that are spread with zeros."""
    nodes = {i: t for i, t in enumerate(tensors.all) if isinstance(t, Node)}
    every = {i: _spread_filters(tensors, node) for i, node in nodes.items()}
    spread = {i: pair for i, pair in every.items() if pair is not None}
    return _Undilating(tensors, spread).run() if spread else tensors


def _spread_filters(
    tensors: Tensors, node: Node
) -> tuple[Convolution, Inserted] | None:
    """A convolution of filters that are spread along taps alone."""
    convolution = Convolution.of(node)
    if convolution is None:
        return None
    filters, image = node.reads[convolution.filters], node.reads[convolution.image]
    one = Inserted.of(tensors, filters.tensor)
    if one is None or not all(a.is_plain or a == ONE for a in filters.axes):
        return None
    taps = set(_gaps(one, filters, node.extents))
    is_read = all(not a.is_divided for a in image.axes if taps & {*a.dims})
    return (convolution, one) if taps <= node.reduced and is_read else None


def _gaps(
    one: Inserted, filters: Access, extents: tuple[int, ...]
) -> dict[int, tuple[int, int, int]]:
    """The first tap, the step to the next and the number of taps of each dimension that
    the filters are spread along."""
    along = zip(filters.axes, one.starts, one.steps, one.shape, strict=True)
    return {
        axis.dim: (start, step, size)
        for axis, start, step, size in along
        if axis.dim is not None and size != extents[axis.dim]
    }


class _Undilating(OfInserted):
    def __init__(
        self, old: Tensors, spread: dict[int, tuple[Convolution, Inserted]]
    ) -> None:
        super().__init__(old, (one for _, one in spread.values()))
        self.spread = spread

    def node(self, number: int, node: Node) -> int:
        self.keep(number, node)
        if number in self.spread:
            node = self._dilated(node, *self.spread[number])
        return self.add(node)

    def _dilated(self, node: Node, convolution: Convolution, one: Inserted) -> Node:
        """A convolution by the taps alone."""
        filters, image = node.reads[convolution.filters], node.reads[convolution.image]
        gaps = _gaps(one, filters, node.extents)
        counts = {dim: size for dim, (_, _, size) in gaps.items()}
        extents = tuple(counts.get(d, n) for d, n in enumerate(node.extents))

        def dilated(axis: IndexMap, size: int) -> IndexMap:
            terms, before = dict(axis.terms), axis.before
            for dim in gaps.keys() & terms.keys():
                start, step, _ = gaps[dim]
                before -= terms[dim] * start
                terms[dim] *= step
            changed = terms != dict(axis.terms) or before != axis.before
            return window_of(terms, before, extents, size) if changed else axis

        shape = self.new.all[image.tensor].shape
        reads = list(node.reads)
        reads[convolution.image] = Access(
            image.tensor, tuple(map(dilated, image.axes, shape))
        )
        reads[convolution.filters] = Access(
            self.alone(one), plainly(filters.axes, extents)
        )
        return node.changed(extents=extents, reads=tuple(reads))


def plainly(
    axes: tuple[IndexMap, ...], extents: tuple[int, ...]
) -> tuple[IndexMap, ...]:
    """Axes that are dimensions, of which some may have one element now."""
    return tuple(
        ONE if axis.dim is None or extents[axis.dim] == 1 else axis for axis in axes
    )
