"""Softmax as the short names have it: `guarded`.

In exp(x - m) a maximum counts as at least the lowest finite number, so that a row of
-inf has powers of 0, and what is divided by their sum is NaN, as it is without. Where
an exporter asks whether a whole row is -inf, to write 0 there, it is asked whether that
sum is 0: then nothing reads the scores again.
"""

import math

from morello.frontends.nodes.rewriting import Rewriter, users_of
from morello.frontends.nodes.tensors import Access, Node, Tensors
from morello.spec.graphs.expression import (
    Call,
    Constant,
    Expression,
    Reference,
    replaced,
)
from morello.spec.graphs.graph import MAP
from morello.spec.graphs.loops import guarded as guarded_maximum
from morello.spec.index_map import ONE, IndexMap


def guarded(tensors: Tensors) -> Tensors:
    """Rewrites softmax to the form that `morello.spec.graphs.loops` recognises."""
    return _Guarding(tensors).run()


class _Guarding(Rewriter):
    def __init__(self, old: Tensors) -> None:
        super().__init__(old)
        self.users = users_of(old)
        self.maxima: dict[int, int] = {}
        """The maximum that the powers in a sum are relative to, both old."""
        for number in self.users:
            self._note(number)

    def _note(self, number: int) -> None:
        """Note a sum of powers, if it is only divided by."""
        node = self.old.node(number)
        if node.reduction != "sum" or node.expression != Reference(0):
            return
        powers = node.reads[0].tensor
        if powers not in self.users or powers in self.results or number in self.results:
            return
        maximum = self._relative_to(self.old.node(powers))
        if maximum is None:
            return
        self.maxima[number] = maximum
        for user in self.users[number]:
            if not self._only_divides(self.old.node(user), number) and not (
                self._is_log_of_sum(user, number)
            ):
                del self.maxima[number]
                return

    def _relative_to(self, node: Node) -> int | None:
        """The maximum m, where a map is exp(x - m)."""
        match node.reduction, node.expression:
            case "map", Call("exp", (Call("sub", (_, Reference(place))),)):
                tensor = node.reads[place].tensor
                maximum = self.old.all[tensor]
                if isinstance(maximum, Node) and maximum.reduction == "max":
                    return tensor
        return None

    def _only_divides(self, reader: Node, number: int) -> bool:
        places = [i for i, a in enumerate(reader.reads) if a.tensor == number]
        if not places or reader.reduction != MAP:
            return False
        return all(_is_denominator(reader.expression, p) for p in places)

    def _is_log_of_sum(self, user: int, number: int) -> bool:
        """Whether a map is m + log(sum), which is only subtracted from the scores: of a
        row of -inf that is NaN in either form."""
        node, maximum = self.old.node(user), self.maxima[number]
        match node.expression:
            case Call("add", (Call("log", (Reference(b),)), Reference(a))) if (
                (node.reads[a].tensor, node.reads[b].tensor) == (maximum, number)
                and self.old.node(maximum).expression == Reference(0)
                and user not in self.results
            ):
                scores = self.old.node(maximum).reads[0].tensor
                readers = [self.old.node(reader) for reader in self.users[user]]
                return all(_is_difference(r, scores, user) for r in readers)
        return False

    def node(self, number: int, node: Node) -> int:
        """Guard powers; ask sums instead of scores."""
        if any(number == self.old.node(s).reads[0].tensor for s in self.maxima):
            match node.expression:
                case Call("exp", (Call("sub", (x, Reference(place))),)):
                    lowest = guarded_maximum(place)
                    inner = Call("sub", (x, lowest))
                    node = node.changed(expression=Call("exp", (inner,)))
        if node.reduction == MAP:
            node = self._asked(self.old.node(number), node)
        return self.add(node)

    def _asked(self, old: Node, node: Node) -> Node:
        for place, access in enumerate(old.reads):
            scores = self._all_lowest(access)
            if scores is None:
                continue
            for other, read in enumerate(old.reads):
                maximum = self.maxima.get(read.tensor)
                if maximum is None or _wide(read.axes) != _wide(access.axes):
                    continue
                if tuple(map(_without_ones, self.old.node(maximum).reads)) != (scores,):
                    continue
                is_zero: Expression = Call("equal", (Reference(other), Constant(0.0)))
                expression = replaced(node.expression, Reference(place), is_zero)
                node = node.changed(expression=expression)
        return node

    def _all_lowest(self, access: Access) -> Access | None:
        """The scores of a softmax, of which a value says whether a whole row is
        -inf."""
        minimum = self.old.all[access.tensor]
        if not isinstance(minimum, Node) or minimum.reduction != "min":
            return None
        if minimum.expression != Reference(0):
            return None
        asked = self.old.all[minimum.reads[0].tensor]
        if not isinstance(asked, Node) or asked.reduction != MAP:
            return None
        match asked.expression:
            case Call("equal", (Reference(place), Constant(number))) if (
                number == -math.inf
                and _wide(asked.reads[place].axes) == _wide(asked.axes)
            ):
                read = Access(asked.reads[place].tensor, minimum.reads[0].axes)
                return _without_ones(read)
        return None


def _is_difference(node: Node, first: int, second: int) -> bool:
    """Whether a map is one tensor less another."""
    match node.reduction, node.expression:
        case "map", Call("sub", (Reference(a), Reference(b))):
            return (node.reads[a].tensor, node.reads[b].tensor) == (first, second)
    return False


def _wide(axes: tuple[IndexMap, ...]) -> tuple[IndexMap, ...]:
    """Axes of more than one element."""
    return tuple(axis for axis in axes if axis != ONE)


def _without_ones(access: Access) -> Access:
    return Access(access.tensor, _wide(access.axes))


def _is_denominator(expression: Expression, place: int) -> bool:
    """Whether a value is nowhere but below a division."""
    if expression == Reference(place):
        return False
    match expression:
        case Call("div", (top, bottom)) if bottom == Reference(place):
            return _is_denominator(top, place)
        case Call(_, arguments):
            return all(_is_denominator(a, place) for a in arguments)
    return True
