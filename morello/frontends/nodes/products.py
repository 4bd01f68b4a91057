"""Hoisting of scales from the factors of a product to its result: `hoisted`.

A number, or a value for each row, that a factor is multiplied with or divided by, is
applied to the sum: softmax is divided by the sums of its rows after the second product
of attention. So is the choice of 0 for whole rows.
"""

from morello.frontends.grouping.groups import is_product
from morello.frontends.nodes.rewriting import Rewriter, expression_dims, users_of
from morello.frontends.nodes.simplify import simplified
from morello.frontends.nodes.tensors import (
    Access,
    Node,
    Tensors,
    identity_axes,
    through,
)
from morello.spec.graphs.expression import (
    Call,
    Constant,
    Expression,
    Reference,
    references,
    substituted,
)
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import ONE, IndexMap, dims_of, plain_dims


def hoisted(tensors: Tensors) -> Tensors:
    """Moves the scales of products' factors to maps of their results."""
    return _Hoisting(tensors).run()


_Scales = list[tuple[str, Expression, list[Access]]]
"""The scale of factors: a function, an expression, and the values that it reads."""


class _Hoisting(Rewriter):
    def __init__(self, old: Tensors) -> None:
        super().__init__(old)
        self.users = users_of(old)
        self.alone = {i for i, users in self.users.items() if len(users) == 1}

    def node(self, number: int, node: Node) -> int:
        """Add a product of plain factors, then the map that scales it."""
        old = self.old.node(number)
        if not is_product(node) or node.into is not None or not node.dtype.is_float:
            return self.add(node)
        scales: _Scales = []
        match node.expression:
            case Call("mul", (Reference(a), Reference(b))):
                for place in (a, b):
                    node = self._plain(node, old, place, scales)
        product = self.add(node)
        return self._scaled(node, product, scales) if scales else product

    def _plain(self, node: Node, old: Node, place: int, scales: _Scales) -> Node:
        """A product with one factor less its scale, which is noted."""
        while True:
            access = node.reads[place]
            factor = self.read(access)
            root = self.old.root(old.reads[place].tensor)
            if (
                factor is None
                or factor.reduction != MAP
                or root not in self.alone
                or root in self.results
                or any(not a.is_plain and a != ONE for a in access.axes)
            ):
                return node
            pairs = zip(factor.axes, access.axes, strict=True)
            dims = {d.dim: a for d, a in pairs if d.dim is not None}
            parts = self._split(factor, dims, node)
            if parts is None or self._chooses_order(factor, old.reads[place].tensor):
                return node
            function, scale, rest = parts
            if scale is not None:
                reads = [Access(a.tensor, through(a.axes, dims)) for a in factor.reads]
                scales.append((function, scale, reads))
            if isinstance(rest, Reference):
                inner = factor.reads[rest.value]
                outer_axes = through(inner.axes, dims)
                unscaled = Access(inner.tensor, outer_axes)
            else:
                plain = factor.changed(expression=rest)
                unscaled = Access(self.add(plain.compact()), access.axes)
            changed = list(node.reads)
            changed[place] = unscaled
            node = node.changed(reads=tuple(changed))

    def _chooses_order(self, factor: Node, old: int) -> bool:
        """Whether a factor is all of a node in another order, which that node can be
        written in at once."""
        match factor.expression:
            case Call("copy", (Reference(place),)):
                access = factor.reads[place]
            case _:
                return False
        source = self.read(access)
        if source is None or source.shape == factor.shape:
            return False
        before = self.old.node(self.old.root(old))
        alone = self.old.root(before.reads[0].tensor) in self.alone
        plain = plain_dims(access.axes)
        wide = [n for n in source.shape if n > 1]
        return alone and len(plain) == len(wide)

    def _split(
        self, factor: Node, dims: dict[int, IndexMap], node: Node
    ) -> tuple[str, Expression | None, Expression] | None:
        """How a factor is scaled: by which function of what is left and the scale."""

        def is_scale(expression: Expression) -> bool:
            factor_dims = dims_of(dims[d] for d in expression_dims(factor, expression))
            return not factor_dims & node.reduced

        match factor.expression:
            case Call(name, (inner,)) if name == factor.dtype.narrowing:
                parts = self._split(factor.changed(expression=inner), dims, node)
                return parts and (*parts[:2], Call(name, (parts[2],)))
            case Call("copy", (rest,)):
                return "", None, rest
            case Call("mul", (rest, scale)) if is_scale(scale):
                return "mul", scale, rest
            case Call("mul", (scale, rest)) if is_scale(scale):
                return "mul", scale, rest
            case Call("div", (rest, scale)) if is_scale(scale):
                return "div", scale, rest
            case Call("where", (scale, Constant(0.0), rest)) if is_scale(scale):
                return "where", scale, rest
        return None

    def _scaled(self, node: Node, product: int, scales: _Scales) -> int:
        """The map that scales a product, the innermost scale first."""
        place = {
            axis.dim: IndexMap.of(i)
            for i, axis in enumerate(node.axes)
            if axis.dim is not None
        }
        shape = node.shape
        axes = identity_axes(shape)
        reads = [Access(product, axes)]
        expression: Expression = Reference(0)
        for function, scale, accesses in reversed(scales):
            leaves: dict[int, Expression] = {}
            for number in sorted(set(references(scale))):
                inner = accesses[number]
                access = Access(inner.tensor, through(inner.axes, place))
                if access not in reads:
                    reads.append(access)
                leaves[number] = Reference(reads.index(access))
            factor = substituted(scale, leaves.__getitem__)
            if function == "where":
                expression = Call(function, (factor, Constant(0.0), expression))
            else:
                expression = Call(function, (expression, factor))
        expression = simplified(expression)
        return self.add(
            Node.of(shape, axes, MAP, expression, tuple(reads), node.dtype, node.place)
        )
