"""Tensors that are computed where a concatenation has them: `with_computed_pieces`.

A skip of a U-Net is read by the next layer, and copied beside what comes up later. It
is written into the concatenation at once, and its other readers read it there.
"""

import dataclasses

from morello.frontends.nodes.rewriting import Rewriter
from morello.frontends.nodes.tensors import Joined, Node, Tensor, Tensors, View, Within
from morello.spec.graphs.expression import COPY


def with_computed_pieces(tensors: Tensors) -> Tensors:
    """Computes what is copied into a concatenation as it is in its place there."""
    return _Placing(tensors).run()


class _Placing(Rewriter):
    def __init__(self, old: Tensors) -> None:
        super().__init__(old)
        self.fixed = self.results | {t.tensor for t in old.all if isinstance(t, View)}
        self.place: dict[int, Within] = {}
        """The place of each tensor that is computed in a concatenation."""
        self.copies: dict[int, int] = {}
        """The tensor whose copy each piece is that goes."""
        for joined in old.all:
            if not isinstance(joined, Joined) or joined.fill:
                continue
            if any(old.node(piece).after for piece in joined.pieces):
                continue
            for piece in joined.pieces:
                self._try_place(piece)

    def _try_place(self, number: int) -> None:
        """Note the tensor that a piece copies as it is, unless it has a place already
        or has to stay."""
        piece = self.old.node(number)
        into = piece.into
        if piece.expression != COPY or into is None or max(into.steps) > 1:
            return
        (read,) = piece.reads
        value = self.old.all[read.tensor]
        parted = sum(a != b for a, b in zip(piece.shape, into.shape, strict=True))
        if (
            isinstance(value, Node)
            and value.into is None
            and read.tensor not in self.fixed | self.place.keys()
            and value.dtype == piece.dtype
            and value.shape == piece.shape
            and read.axes == piece.axes
            and parted <= 1  # its rows stay neighbours for those that read it
        ):
            self.place[read.tensor] = into
            self.copies[number] = read.tensor

    def _rewritten(self, number: int, tensor: Tensor) -> int | None:
        if number in self.copies:
            return None
        if number in self.known:
            return self.known[number]  # its first piece came before it
        if isinstance(tensor, Node) and number in self.place:
            into = self.place[number]
            if into.tensor not in self.known:
                self.known[into.tensor] = self.new.add(self.old.all[into.tensor])
            tensor = dataclasses.replace(tensor, into=into)
        return super()._rewritten(number, tensor)

    def pieces_of(self, number: int) -> tuple[int, ...]:
        """The new nodes of an old piece: what it copied, where that has its place."""
        return super().pieces_of(self.copies.get(number, number))
