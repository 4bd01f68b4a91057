"""Tensors with something around them that nobody reads: `without_surroundings`.

A pool that rounds its size up brings a border in which no window may end up. Where all
that is read of a filled tensor lies within the one piece that is written into it, the
piece is read as it is, and nothing is filled or copied.
"""

import dataclasses

from morello.frontends.nodes.rewriting import Rewriter, users_of
from morello.frontends.nodes.tensors import (
    Access,
    Joined,
    Node,
    Tensor,
    Tensors,
    View,
    Within,
    window_of,
)
from morello.spec.index_map import IndexMap


def without_surroundings(tensors: Tensors) -> Tensors:
    """Reads the pieces of filled tensors whose borders nobody reads."""
    return _Bare(tensors).run()


class _Bare(Rewriter):
    def __init__(self, old: Tensors) -> None:
        super().__init__(old)
        users = users_of(old)
        viewed = {t.tensor for t in old.all if isinstance(t, View)}
        self.bare: dict[int, Within] = {}
        """The joined tensors that are read within their piece, which is there."""
        for number, joined in enumerate(old.all):
            if not isinstance(joined, Joined) or len(joined.pieces) != 1:
                continue
            (piece,) = joined.pieces
            into = old.node(piece).into
            is_seen = number in viewed or piece in self.results
            if into is None or is_seen or max(into.steps) > 1 or not joined.fill:
                continue
            readers = [old.node(user) for user in users[piece]]
            size = old.node(piece).shape
            if all(_is_within(node, number, into, size) for node in readers):
                self.bare[number] = into
        self.pieces = {piece for j in self.bare for piece in old.all[j].sources}

    def _rewritten(self, number: int, tensor: Tensor) -> int | None:
        if number in self.bare:
            return None
        if number in self.pieces and isinstance(tensor, Node):
            return self.apart(self.moved(dataclasses.replace(tensor, into=None)))
        return super()._rewritten(number, tensor)

    def moved(self, node: Node) -> Node:
        """An old node that reads new tensors: pieces as they are."""
        reads = []
        for access in node.reads:
            into = self.bare.get(access.tensor)
            if into is not None:
                (piece,) = self.old.all[access.tensor].sources
                size = self.old.node(piece).shape
                access = Access(piece, _moved(access.axes, into, node.extents, size))
            reads.append(access)
        return super().moved(node.changed(reads=tuple(reads)))


def _moved(
    axes: tuple[IndexMap, ...],
    into: Within,
    extents: tuple[int, ...],
    shape: tuple[int, ...],
) -> tuple[IndexMap, ...]:
    """Axes of a whole tensor as those of its piece."""
    return tuple(
        window_of(dict(axis.terms), axis.before + start, extents, size)
        for axis, start, size in zip(axes, into.starts, shape, strict=True)
    )


def _is_within(node: Node, number: int, into: Within, shape: tuple[int, ...]) -> bool:
    """Whether a node reads nothing but a piece, and zeros where it read zeros."""
    return all(
        not axis.is_divided
        and max(inner.before, 0) == max(axis.before, 0)
        and max(inner.after, 0) == max(axis.after, 0)
        for access in node.reads
        if access.tensor == number
        for axis, inner in zip(
            access.axes, _moved(access.axes, into, node.extents, shape), strict=True
        )
    )
