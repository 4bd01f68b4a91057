"""Sums without constants of zeros, as masks that hide nothing: `without_zeros`.

x + 0 is x, but for x of -0. So a term goes where no result shows the sign of a zero:
exp, for one, makes 1 of either, and a sum, maximum or product of such elements differs
in the sign of a zero alone.
"""

from morello.frontends.nodes.rewriting import Rewriter
from morello.frontends.nodes.tensors import Node, Source, Tensor, Tensors
from morello.spec import Dtype
from morello.spec.graphs.expression import Call, Expression, Reference, references

_SIGNLESS = frozenset(("abs", "equal", "exp", "exp2", "less", "less_equal", "square"))
"""Functions that are equal to the bit for zeros of either sign."""

_LINEAR = frozenset(
    ("add", "copy", "maximum", "minimum", "mul", "neg", "relu", "sub", "where")
)
"""Functions whose results differ at most in the sign of a zero where arguments do."""


def without_zeros(tensors: Tensors) -> Tensors:
    """Removes terms of zero where nothing depends on the sign of a zero."""
    work = _WithoutZeros(tensors)
    return work.run() if work.shorter else tensors


class _WithoutZeros(Rewriter):
    def __init__(self, old: Tensors) -> None:
        super().__init__(old)
        self.zeros = {n for n, tensor in enumerate(old.all) if _is_zero(tensor)}
        self.shorter: dict[int, Expression] = {}
        """The expressions of nodes that have terms less."""
        if self.zeros:
            self._shorten()

    def _shorten(self) -> None:
        """Find the terms, from the results on; then zeros are those that none reads."""
        old = self.old
        seen = {*map(old.root, old.seen)}
        signed, read = set(seen), set(seen)
        for number, tensor in reversed([*enumerate(old.all)]):
            if not isinstance(tensor, Node):
                continue
            shows = number in signed or tensor.into is not None
            places: set[int] = set()
            expression = self._without(tensor, tensor.expression, shows, places)
            if expression != tensor.expression:
                self.shorter[number] = expression
            read |= {old.root(tensor.tensors[p]) for p in references(expression)}
            signed |= {old.root(tensor.tensors[place]) for place in places}
        self.zeros -= read

    def _without(
        self, node: Node, expression: Expression, shows: bool, places: set[int]
    ) -> Expression:
        """The expression without terms of zero.

        Args:
            shows: whether the sign of a zero that it gives shows.
            places: gets the reads of which the sign of a zero shows.
        """
        if isinstance(expression, Reference) and shows:
            places.add(expression.value)
        if not isinstance(expression, Call):
            return expression
        name, arguments = expression.function, expression.arguments
        if not shows and name in ("add", "sub"):
            left = arguments[: 1 if name == "sub" else 2]
            for kept, term in zip(left, reversed(arguments), strict=False):
                if self._reads_zero(node, term):
                    return self._without(node, kept, False, places)
        below = [shows or name not in _LINEAR] * len(arguments)
        if name in _SIGNLESS:
            below = [False] * len(arguments)
        elif name == "where":
            below[0] = False
        pairs = zip(arguments, below, strict=True)
        return Call(name, tuple(self._without(node, a, s, places) for a, s in pairs))

    def _reads_zero(self, node: Node, term: Expression) -> bool:
        """Whether a term of floats is a constant of zeros."""
        dtypes = (node.dtype, *map(self.old.element, node.tensors))
        return (
            isinstance(term, Reference)
            and self.old.root(node.tensors[term.value]) in self.zeros
            and all(isinstance(d, Dtype) and d.is_float for d in dtypes)
        )

    def _rewritten(self, number: int, tensor: Tensor) -> int | None:
        if number in self.zeros:
            return None
        return super()._rewritten(number, tensor)

    def node(self, number: int, node: Node) -> int | None:
        """Add a node without its terms; one that only copies is what it read."""
        expression = self.shorter.get(number)
        if expression is None:
            return self.add(node)
        if isinstance(expression, Call):
            return self.add(node.changed(expression=expression).compact())
        copy = node.changed(expression=Call("copy", (expression,))).compact()
        return self.apart(copy) if copy.reduction == "map" else self.add(copy)


def _is_zero(tensor: Tensor) -> bool:
    if not isinstance(tensor, Source) or tensor.array is None:
        return False
    return bool(tensor.array.size) and not tensor.array.any()
