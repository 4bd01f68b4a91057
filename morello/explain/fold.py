"""Moves that make no code, folded: half of the nodes of a program are such.

A move into a cache that leaves the layout as it is only says what is counted on there:
the hardware brings the lines. Such nodes are shown with the first one below them that
makes code.
"""

import dataclasses
from itertools import groupby

from morello.actions import Move
from morello.explain.model import Node


@dataclasses.dataclass(frozen=True)
class Folded:
    """A node, and the moves above it that are shown with it."""

    moves: tuple[Node, ...]
    """The moves above the node that generate no code, outermost first."""
    node: Node

    @property
    def first(self) -> Node:
        """The outermost."""
        return (*self.moves, self.node)[0]

    @property
    def numbers(self) -> str:
        """The numbers of the row's nodes as text: ``7``, or ``3-6``."""
        first, last = self.first.number, self.node.number
        return str(last) if first == last else f"{first}-{last}"

    @property
    def own_share(self) -> float:
        """Share of the whole program's cost that is paid in these nodes."""
        return sum(node.own_share for node in (*self.moves, self.node))

    @property
    def same_as(self) -> int | None:
        """The number of the node at the end of the first equal piece, if that is
        another."""
        first = self.first.same_as
        return None if first is None else first + len(self.moves)

    @property
    def words(self) -> str:
        """Describe the moves and the action: ``lhs, rhs to L2; lhs to L1;
        tile(n, 16)``."""
        pairs = [
            (move.operand, str(move.level))
            for move in (node.impl.action for node in self.moves)
            if isinstance(move, Move)
        ]
        moves = [
            f"{', '.join(name for name, _ in group)} to {level}"
            for level, group in groupby(pairs, key=lambda pair: pair[1])
        ]
        return "; ".join((*moves, str(self.node.impl.action)))


def fold(node: Node, unfold: bool = False) -> Folded:
    """Fold moves that emit no code into the node below them.

    Args:
        node: where to begin.
        unfold: show each move as a node of its own.
    """
    moves = []
    while not unfold and _makes_no_code(node):
        moves.append(node)
        node = node.children[0]
    return Folded(tuple(moves), node)


def _makes_no_code(node: Node) -> bool:
    """Whether it is a move without a copy: one with a copy has a hole for that, too."""
    return isinstance(node.impl.action, Move) and len(node.children) == 1
