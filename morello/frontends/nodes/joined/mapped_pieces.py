"""Maps of concatenations as maps of the pieces: `with_mapped_pieces`.

A batch norm of a concatenation reads each piece where it was computed, and writes its
part of the result: nothing is copied to be side by side with the others first.
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
    window_of,
)
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import ONE, dims_of


def with_mapped_pieces(tensors: Tensors) -> Tensors:
    """Computes the one map of a concatenation piece by piece."""
    return _Mapping(tensors).run()


class _Mapping(Rewriter):
    def __init__(self, old: Tensors) -> None:
        super().__init__(old)
        users = users_of(old)
        viewed = {tensor.tensor for tensor in old.all if isinstance(tensor, View)}
        self.mapped: dict[int, int] = {}
        """The concatenation that each map reads."""
        for number, joined in enumerate(old.all):
            if not isinstance(joined, Joined) or joined.fill or number in viewed:
                continue
            readers = {user for piece in joined.pieces for user in users[piece]}
            if len(readers) == 1 and self._may_map(number, joined, *readers):
                self.mapped[readers.pop()] = number
        self.gone = {*self.mapped.values()}
        self.pieces = {piece for j in self.gone for piece in old.all[j].sources}

    def _may_map(self, number: int, joined: Joined, reader: int) -> bool:
        """Whether the one node that reads a concatenation is a map of its elements that
        reads nothing else as large."""
        node = self.old.node(reader)
        accesses = [access for access in node.reads if access.tensor == number]
        others = [dims_of(a.axes) for a in node.reads if a.tensor != number]
        whole = frozenset(d for d, n in enumerate(node.extents) if n > 1)
        return (
            node.reduction == MAP
            and node.into is None
            and not self.results & {reader, *joined.pieces}
            and len(accesses) == 1
            and dims_of(accesses[0].axes) == whole
            and all(dims < whole for dims in others)
            and all(axis.is_plain or axis == ONE for a in node.reads for axis in a.axes)
            and all(self._is_part(joined, piece) for piece in joined.pieces)
        )

    def _is_part(self, joined: Joined, number: int) -> bool:
        """Whether a piece is without gaps, and of more than one element wherever the
        whole is."""
        piece = self.old.node(number)
        if piece.into is None or max(piece.into.steps) > 1 or piece.after:
            return False
        return all(
            n > 1 or whole == 1
            for n, whole in zip(piece.shape, joined.shape, strict=True)
        )

    def _rewritten(self, number: int, tensor: Tensor) -> int | None:
        if number in self.gone:
            return None
        if number in self.pieces and isinstance(tensor, Node):
            return self.apart(self.moved(dataclasses.replace(tensor, into=None)))
        return super()._rewritten(number, tensor)

    def node(self, number: int, node: Node) -> int:
        """A map as a concatenation of the maps of pieces, where it is such a map."""
        joined = self.mapped.get(number)
        if joined is None:
            return self.add(node)
        place = self.old.node(number).tensors.index(joined)
        pieces = [
            self._piece(node, place, piece) for piece in self.old.all[joined].sources
        ]
        return self.new.join(Joined(node.shape, node.dtype), pieces)

    def _piece(
        self, node: Node, place: int, number: int
    ) -> tuple[Node, tuple[int, ...], tuple[int, ...]]:
        """The map of one piece, and where it is in the whole."""
        axes = node.reads[place].axes
        piece = self.old.node(number)
        assert piece.into is not None
        sizes, starts = dict(enumerate(node.extents)), {}
        for axis, size, start in zip(axes, piece.shape, piece.into.starts, strict=True):
            if axis.dim is not None:
                sizes[axis.dim], starts[axis.dim] = size, start
        extents = tuple(sizes.values())
        reads = [
            self._read(access, starts, extents) if i != place else access
            for i, access in enumerate(node.reads)
        ]
        reads[place] = Access(self.known[number], axes)
        piece = node.changed(extents=extents, reads=tuple(reads))
        begins = tuple(0 if a.dim is None else starts.get(a.dim, 0) for a in node.axes)
        return piece, begins, (1,) * len(begins)

    def _read(
        self, access: Access, starts: dict[int, int], extents: tuple[int, ...]
    ) -> Access:
        """How the map of a piece reads a tensor that goes along with the whole."""
        shape = self.new.all[access.tensor].shape
        axes = [
            axis
            if axis.dim is None
            else window_of({axis.dim: 1}, -starts.get(axis.dim, 0), extents, size)
            for axis, size in zip(access.axes, shape, strict=True)
        ]
        return Access(access.tensor, tuple(axes))
