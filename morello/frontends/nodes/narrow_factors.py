"""Factors of products that may flush, as narrow as the program has them: `narrowed`.

What is computed between ops is not rounded where nobody stores it. A product that takes
denormals for zero reads narrow floats, as the op of the program does; what scales such
a factor may still be applied after it is rounded.
"""

from morello.frontends.grouping.groups import is_product
from morello.frontends.nodes.rewriting import Rewriter
from morello.frontends.nodes.tensors import Node, Tensors
from morello.spec.graphs.expression import Call, Expression, Reference
from morello.spec.graphs.graph import MAP


def narrowed(tensors: Tensors) -> Tensors:
    """Rounds the factors of products that may flush, in programs that allow these."""
    return _Narrowing(tensors).run() if tensors.flushing else tensors


class _Narrowing(Rewriter):
    def __init__(self, old: Tensors) -> None:
        super().__init__(old)
        self.factors: set[int] = set()
        """The old maps that such products read."""
        for tensor in old.all:
            if isinstance(tensor, Node) and is_product(tensor):
                self._note(tensor)

    def _note(self, product: Node) -> None:
        roots = [self.old.root(tensor) for tensor in product.tensors]
        elements = map(self.old.element, roots)
        if all(getattr(element, "is_upper_half", False) for element in elements):
            self.factors.update(roots)

    def node(self, number: int, node: Node) -> int:
        """Round a factor, unless the program does."""
        is_factor = number in self.factors and node.reduction == MAP
        if is_factor and not self._is_narrow(node):
            node = node.changed(expression=_rounded(node))
        return self.add(node)

    def _is_narrow(self, node: Node) -> bool:
        """Whether a map copies numbers of its dtype, as where heads are repeated."""
        match node.expression:
            case Reference(place) | Call("copy", (Reference(place),)):
                return self.new.element(node.reads[place].tensor) == node.dtype
        return False


def _rounded(node: Node) -> Expression:
    match node.expression:
        case Call("copy", (inner,)):
            return Call(node.dtype.narrowing, (inner,))
        case Call(name, _) if node.dtype.is_rounded_by(name):
            return node.expression
    return Call(node.dtype.narrowing, (node.expression,))
