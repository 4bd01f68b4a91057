"""Scales of a product's result in the weights of the product: `with_scaled_weights`.

A batch norm after a convolution is a scale and a shift of each channel. Where filters
and scale are known before a call, the filters are multiplied with the scale once, and
calls add the shift alone.
"""

from morello.frontends.grouping.groups import is_product
from morello.frontends.nodes.convolution import Convolution
from morello.frontends.nodes.prepared import known_beforehand
from morello.frontends.nodes.rewriting import Rewriter, expression_dims, users_of
from morello.frontends.nodes.tensors import (
    Access,
    Node,
    Source,
    Tensors,
    identity_axes,
    through,
)
from morello.spec.elements.dtypes import Dtype
from morello.spec.graphs.expression import (
    Call,
    Expression,
    Reference,
    calls,
    references,
    replaced,
    substituted,
)
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import ONE, IndexMap


def with_scaled_weights(tensors: Tensors) -> Tensors:
    """Multiplies weights with what scales the result of their product in a map."""
    return _Scaling(tensors).run()


class _Scaling(Rewriter):
    def __init__(self, old: Tensors) -> None:
        super().__init__(old)
        self.users = users_of(old)
        self.known_before = known_beforehand(old)
        self.scaled = {n: self._scales(old.node(n)) for n in self.users}
        """For each map its reads of products, and the call that scales each."""
        self.delayed = {
            old.node(number).reads[place].tensor
            for number, calls_of in self.scaled.items()
            for place in calls_of
        }
        """Products that are added to the new program only with the maps that scale
        them."""

    def _scales(self, node: Node) -> dict[int, Call]:
        """The calls that scale a product and do nothing else, by its read."""
        if node.reduction != MAP or not node.dtype.is_float:
            return {}
        used = [*references(node.expression)]
        scales: dict[int, Call] = {}
        for place, access in enumerate(node.reads):
            if used.count(place) == 1 and self._may_scale(access):
                for call in calls(node.expression):
                    if call != node.expression and self._is_scale(node, place, call):
                        scales.setdefault(place, call)
        return scales

    def _is_scale(self, node: Node, place: int, call: Call) -> bool:
        """Whether an expression multiplies a read value by a factor that is known
        before the model runs and has axes of the weights. A factor that is one number
        is left after the product, where it takes no time."""
        scale = _scale_of(call, Reference(place))
        if scale is None:
            return False
        reads = [node.reads[place] for place in set(references(scale))]
        is_known = bool(reads) and all(map(self._is_before, reads))
        return is_known and self._places(node, place, scale) is not None

    def _may_scale(self, access: Access) -> bool:
        """Whether a tensor is a product in f32 that one map reads as it is, and whose
        weights may be others."""
        number = access.tensor
        product = self.old.all[number]
        if (
            not isinstance(product, Node)
            or product.dtype is not Dtype.F32
            or product.reduction != "sum"
            or product.into is not None
            or number in self.results
            or len(self.users[number]) != 1
            or any(not axis.is_plain and axis != ONE for axis in access.axes)
        ):
            return False
        return self._weights(product) is not None

    def _weights(self, product: Node) -> int | None:
        """The factor of a product that is known before a call, and may be copied."""
        match product.expression:
            case Call("mul", (Reference(a), Reference(b))):
                factors = [p for p in (a, b) if self._is_before(product.reads[p])]
            case _:
                return None
        convolution = Convolution.of(product)
        if len(factors) != 1 or not (convolution or is_product(product)):
            return None
        (place,) = factors
        root = self.old.root(product.reads[place].tensor)
        weights = self.old.all[root]
        may_copy = (
            self.old.copies
            or not isinstance(weights, Source)
            or weights.argument < 0
            or (convolution is not None and convolution.filters == place)
        )
        is_alone = self._readers(root) == 1
        is_real = self.old.element(root) is Dtype.F32
        return place if may_copy and is_alone and is_real else None

    def _readers(self, root: int) -> int:
        nodes = (tensor for tensor in self.old.all if isinstance(tensor, Node))
        return sum(root in map(self.old.root, node.tensors) for node in nodes)

    def _is_before(self, access: Access) -> bool:
        return self.old.root(access.tensor) in self.known_before

    def _places(
        self, node: Node, place: int, scale: Expression
    ) -> dict[int, IndexMap] | None:
        """For each dimension of a scale the axis of the weights that it goes along."""
        access = node.reads[place]
        product = self.old.node(access.tensor)
        weights = self._weights(product)
        assert weights is not None
        axes = product.reads[weights].axes
        along: dict[int, IndexMap] = {}
        for scale_axis, axis in zip(access.axes, product.axes, strict=True):
            if scale_axis.dim is not None and axis.dim is not None and axis in axes:
                along[scale_axis.dim] = IndexMap.of(axes.index(axis))
        return along if expression_dims(node, scale) <= along.keys() else None

    def node(self, number: int, node: Node) -> int | None:
        """A map of a product with scaled weights; nothing for a product that waits."""
        if number in self.delayed:
            return None
        scales = self.scaled.get(number)
        if not scales:
            return self.add(node)
        old, reads, expression = self.old.node(number), [*node.reads], node.expression
        for place, call in scales.items():
            product = self.add(self._product(old, place, call))
            reads[place] = Access(product, old.reads[place].axes)
            expression = replaced(expression, call, Reference(place))
        scaled = node.changed(expression=expression, reads=tuple(reads))
        return self.add(scaled.compact())

    def _product(self, old: Node, place: int, call: Call) -> Node:
        """The product that an old map reads, with weights that are scaled."""
        scale = _scale_of(call, Reference(place))
        assert scale is not None
        before = self.old.node(old.reads[place].tensor)
        along, factor = self._places(old, place, scale), self._weights(before)
        assert along is not None
        assert factor is not None
        product = self.moved(before)
        weights = product.reads[factor]
        shape = self.new.all[weights.tensor].shape
        whole = identity_axes(shape)
        reads = [Access(weights.tensor, whole)]
        leaves: dict[int, Expression] = {}
        for read in sorted(set(references(scale))):
            axes = through(old.reads[read].axes, along)
            leaves[read] = Reference(len(reads))
            reads.append(Access(self.known[old.reads[read].tensor], axes))
        expression = Call("mul", (Reference(0), substituted(scale, leaves.__getitem__)))
        scaled = Node.of(
            shape, whole, MAP, expression, tuple(reads), Dtype.F32, product.place
        )
        changed = list(product.reads)
        changed[factor] = Access(self.add(scaled), weights.axes)
        return product.changed(reads=tuple(changed))


def _scale_of(expression: Expression, product: Reference) -> Expression | None:
    """The factor of a product in a call that only scales it; None of other calls."""
    match expression:
        case Call("mul", pair):
            for one, other in (pair, pair[::-1]):
                if one == product:
                    return other
                inner = _scale_of(one, product)
                if inner is not None:
                    return Call("mul", (inner, other))
    return None
