"""Maps as they are best computed: `absorbed`, then `shared`.

Exporters write an operation a tensor. A map that only other maps read, which end in one
map, is written out there, so that `simplified` sees whole functions; what an expression
then has twice, or has along fewer dimensions, is a map of its own again.
"""

import dataclasses
from collections import Counter
from functools import partial
from math import prod

from morello.frontends.nodes.rewriting import (
    Rewriter,
    expression_dims,
    outlined,
    users_of,
)
from morello.frontends.nodes.simplify import nice, simplified
from morello.frontends.nodes.tensors import Access, Node, Tensors, through
from morello.spec.elements.dtypes import BYTES, Dtype, computed_in
from morello.spec.functions import ROWS
from morello.spec.graphs.expression import (
    MOST_DEPTH,
    NUMBERS,
    Call,
    Constant,
    Expression,
    Reference,
    call_count,
    calls,
    commuted,
    depth,
    references,
    replaced,
    rewritten,
    substituted,
)
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import ONE, IndexMap, dims_of

_MOST_CALLS = 200
"""The most calls of an expression: a map that would exceed it stays by itself."""


def absorbed(tensors: Tensors) -> Tensors:
    """Inlines each map that only one other map needs, so that few maps are left."""
    return _Absorbing(tensors).run()


def shared(tensors: Tensors) -> Tensors:
    """Moves expressions that are computed twice or too often to maps of their own."""
    return _Sharing(tensors).run()


class _Absorbing(Rewriter):
    """Inlines maps into their only reader."""

    def __init__(self, old: Tensors) -> None:
        super().__init__(old)
        self.users = users_of(old)
        self.ends = self._ends()
        self.calls: dict[int, int] = {}
        self.gone = self._gone()

    def _ends(self) -> dict[int, int]:
        """For each node the map in which all that it is needed for ends."""
        end_of: dict[int, int] = {}
        for i in sorted(self.users, reverse=True):
            node, ends = self.old.node(i), {end_of.get(u, u) for u in self.users[i]}
            readers = [self.old.node(u) for u in self.users[i]]
            may_end = (
                node.reduction == MAP
                and i not in self.results
                and node.into is None
                and len(ends) == 1
                and all(r.reduction == MAP for r in readers)
                and node.dtype not in BYTES
                and all(
                    computed_in((r.dtype,)) is computed_in((node.dtype,))
                    for r in readers
                )
                and all(prod(r.shape) == prod(node.shape) for r in readers)
                and all(self._is_plain(i, r) for r in readers)
            )
            end_of[i] = ends.pop() if may_end else i
        return end_of

    def _is_plain(self, number: int, reader: Node) -> bool:
        """Whether a reader has each element of a map where it has it itself."""
        return all(
            access.tensor == number
            and all(axis.is_plain or axis == ONE for axis in access.axes)
            for access in reader.reads
            if self.old.root(access.tensor) == number
        )

    def _gone(self) -> set[int]:
        gone: set[int] = set()
        for i in sorted(self.users):
            node = self.old.node(i)
            calls = call_count(node.expression)
            inner = [
                r
                for place in references(node.expression)
                if (r := node.reads[place].tensor) in gone
            ]
            self.calls[i] = calls + sum(self.calls[r] for r in inner)
            while inner and self.calls[i] > _MOST_CALLS:
                largest = max(inner, key=lambda r: (self.calls[r], r))
                gone.discard(largest)
                self.calls[i] -= self.calls[largest] * inner.count(largest)
                inner = [r for r in inner if r != largest]
            if self.ends[i] != i and self.calls[i] <= _MOST_CALLS:
                gone.add(i)
        return gone

    def node(self, number: int, node: Node) -> int | None:
        """Nothing for a map that is written out; else it with those that are."""
        if number in self.gone:
            return None
        old = self.old.node(number)
        reads: list[Access] = []
        same = {d: IndexMap.of(d) for d in range(len(old.extents))}
        expression = self._written(old, same, reads)
        if old.dtype is not Dtype.S32:  # integers wrap, and have fewer functions
            expression = simplified(expression)
        combined = node.changed(expression=expression, reads=tuple(reads))
        if combined.reduction == MAP:
            order = partial(commuted, order=partial(_large_first, combined))
            combined = combined.changed(expression=rewritten(expression, order))
        return self.add(combined.compact())

    def _written(
        self, node: Node, dims: dict[int, IndexMap], reads: list[Access]
    ) -> Expression:
        """An old map's expression, by the dimensions of the map that it ends in."""
        leaves: list[Expression] = []
        for access in node.reads:
            axes = through(access.axes, dims)
            if access.tensor in self.gone:
                inner = self.old.node(access.tensor)
                pairs = zip(inner.axes, axes, strict=True)
                by_dim = {d.dim: axis for d, axis in pairs if d.dim is not None}
                leaves.append(self._written(inner, by_dim, reads))
                continue
            read = Access(self.known[access.tensor], axes)
            if read not in reads:
                reads.append(read)
            leaves.append(Reference(reads.index(read)))
        return substituted(node.expression, leaves.__getitem__)


def _large_first(node: Node, argument: Expression) -> tuple[bool, int, int]:
    """The place of an argument among those that it commutes with: that of more
    dimensions, or operations, is the first, and numbers are last."""
    width = len(expression_dims(node, argument))
    return isinstance(argument, NUMBERS), -width, -depth(argument)


class _Sharing(Rewriter):
    """Makes maps of common subexpressions, and of those that lack a dimension."""

    def node(self, number: int, node: Node) -> int:
        """Add the maps, then the node."""
        if not computed_in((node.dtype,)).is_float:
            return self.add(node)
        if node.reduction == MAP:
            node = self._folded(node)
        if node.reduction == MAP and node.into is None:
            node = self._small(node)
            node = self._shared(node)
        node = self._narrowed(node)
        return self.add(node.compact())

    def _outlined(self, node: Node, part: Expression) -> Node:
        """A node of which a subexpression is computed by another map."""
        inner_map, access = self._inverse_root(node, part) or outlined(node, part)
        tensor = self.add(self._narrowed(inner_map).compact())
        reads = (*node.reads, Access(tensor, access.axes))
        expression = replaced(node.expression, part, Reference(len(node.reads)))
        return node.changed(expression=expression, reads=reads)

    def _inverse_root(self, node: Node, part: Expression) -> tuple[Node, Access] | None:
        """The map rsqrt(x), and how a node reads it, of a part 1 / y that reads a map
        y = sqrt(x); None for other parts."""
        match part:
            case Call("div", (Constant(1.0), Reference(place))):
                root = self.read(node.reads[place])
                if root is None or root.reduction != MAP or root.into is not None:
                    return None
                inverse = simplified(Call("div", (Constant(1.0), root.expression)))
                if isinstance(inverse, Call) and inverse.function == "rsqrt":
                    inverse_map = root.changed(expression=inverse)
                    return inverse_map, Access(-1, node.reads[place].axes)
        return None

    def _shared(self, node: Node) -> Node:
        """Computes each repeated operand by a map of its own, the smallest first, so
        that larger ones read it as one value; cheap operations with a number stay."""
        while True:
            uses: Counter[Expression] = Counter()
            seen: set[Expression] = set()
            for call in calls(node.expression):
                if call not in seen:
                    seen.add(call)
                    uses.update(a for a in call.arguments if _is_worth(a))
            part = next((p for p, n in sorted(uses.items(), key=_size) if n > 1), None)
            if part is None:
                return node
            node = self._outlined(node, part)

    def _small(self, node: Node) -> Node:
        """Moves slow functions that lack a dimension of the node to maps without it."""
        whole = {d for d, n in enumerate(node.extents) if n > 1}
        while True:
            rule = partial(self._multiplied, node)
            node = node.changed(expression=rewritten(node.expression, rule))
            part = next(
                (
                    call
                    for call in calls(node.expression)
                    if expression_dims(node, call) < whole
                    and expression_dims(node, call)
                    and any(ROWS[c.function].is_long for c in calls(call))
                ),
                None,
            )
            if part is None or part == node.expression:
                return node
            node = self._outlined(node, part)

    def _multiplied(self, node: Node, call: Call) -> Expression:
        """Divisions by what lacks a dimension, as products with 1 over it: where that
        is a rounded number in any case, and its inverse is finite; and those of sums by
        a number. Not where a sum of products is divided, as in attention."""
        match call.function, call.arguments:
            case "div", (top, Constant(number)) if number and self._is_sum(node, top):
                return Call("mul", (top, Constant(nice(1.0 / number))))
            case "div", (top, bottom) if not isinstance(top, Constant):
                fewer = expression_dims(node, bottom) < expression_dims(node, top)
                is_alike = fewer and self._is_bounded_sum(node, bottom)
                if is_alike and not self._is_product(node, top):
                    return Call("mul", (top, Call("div", (Constant(1.0), bottom))))
        return call

    def _is_bounded_sum(self, node: Node, divisor: Expression) -> bool:
        """Whether a divisor is made of a sum, and far from 0: the sum of exponentials
        of a softmax, or a sum to which a positive number is added, or which is at least
        such a number."""
        match divisor:
            case Reference(place):
                read = self.read(node.reads[place])
                if read is None or read.reduction not in (MAP, "sum"):
                    return False
                if read.reduction == MAP:
                    return self._is_bounded_sum(read, read.expression)
                return _is_exponential(self, read)
            case Call("sqrt", (inner,)) | Call("mul" | "div", (inner, Constant())):
                return self._is_bounded_sum(node, inner)
            case Call("add" | "maximum", (inner, Constant(number))):
                return number >= _LEAST and self._is_sum(node, inner)
        return False

    def _is_sum(self, node: Node, expression: Expression) -> bool:
        """Whether an expression reads a sum, at once or by maps."""
        reads = [self.read(node.reads[place]) for place in references(expression)]
        return any(
            read is not None
            and (
                read.reduction == "sum"
                or (read.reduction == MAP and self._is_sum(read, read.expression))
            )
            for read in reads
        )

    def _is_product(self, node: Node, top: Expression) -> bool:
        if not isinstance(top, Reference):
            return False
        read = self.read(node.reads[top.value])
        return (
            read is not None
            and isinstance(read.expression, Call)
            and (read.reduction == "sum" and read.expression.function == "mul")
        )

    def _folded(self, node: Node) -> Node:
        """Each normalisation by columns, ((x - m)·r)·g + b, as x·scale + shift."""
        for call in calls(node.expression):
            form = _affine(node, call)
            if form is not None and _is_worth_folding(node, form):
                return self._folded(self._with_scale(node, call, form))
        return node

    def _with_scale(self, node: Node, call: Call, form: "_Affine") -> Node:
        """A node in which a call is a product with one vector and a sum with one."""
        before = _tidy(Call("mul", (form.before, form.scale)))
        shift = _tidy(Call("add", (form.after, before)))
        scaled = Call("mul", (form.value, form.scale))
        if shift != Constant(0.0):
            scaled = Call("add", (scaled, shift))
        expression = replaced(node.expression, call, scaled)
        node = node.changed(expression=expression)
        if isinstance(form.scale, Call):
            scale = Reference(len(node.reads))
            node = self._outlined(node, form.scale)
            shift = replaced(shift, form.scale, scale)
        return self._outlined(node, shift) if isinstance(shift, Call) else node

    def _narrowed(self, node: Node) -> Node:
        """A node that reads few tensors and is not deep: others have no program."""
        while len(set(references(node.expression))) > _MOST_READS:
            parts = [
                call
                for call in calls(node.expression)
                if 1 < len(set(references(call))) <= _MOST_READS
                and call != node.expression
            ]
            if not parts:
                return node
            node = self._outlined(node, max(parts, key=_reads))
        while depth(node.expression) > MOST_DEPTH:
            deep = (c for c in calls(node.expression) if depth(c) == MOST_DEPTH)
            node = self._outlined(node, next(deep))
        return node


_LEAST = 1e-30
"""Numbers from which on an inverse is finite and has all its digits."""


def _is_exponential(rewriter: Rewriter, node: Node) -> bool:
    """Whether the terms of a sum are exponentials."""
    match node.expression:
        case Call("exp"):
            return True
        case Reference(place):
            read = rewriter.read(node.reads[place])
            return read is not None and _is_exponential(rewriter, read)
    return False


_ZERO, _ONE = Constant(0.0), Constant(1.0)


@dataclasses.dataclass(frozen=True)
class _Affine:
    """(value + before)·scale + after, of which the last three lack dimensions that the
    value has."""

    value: Expression
    before: Expression = _ZERO
    scale: Expression = _ONE
    after: Expression = _ZERO


def _affine(node: Node, call: Expression) -> _Affine | None:
    """A call as such a form; None where it is none."""
    if not isinstance(call, Call) or call.function not in _AFFINE:
        return None
    x, low = call.arguments
    turned = expression_dims(node, x) < expression_dims(node, low)
    if turned:
        x, low = low, x
    if not expression_dims(node, low) < expression_dims(node, x):
        return None
    if not set(references(low)):
        return None
    form = _affine(node, x) or _Affine(x)
    if call.function == "mul":
        scale = _tidy(Call("mul", (form.scale, low)))
        after = _tidy(Call("mul", (form.after, low)))
        return dataclasses.replace(form, scale=scale, after=after)
    if turned and call.function == "sub":
        return None
    if form.scale == Constant(1.0):
        before = _tidy(Call(call.function, (form.before, low)))
        return dataclasses.replace(form, before=before)
    after = _tidy(Call(call.function, (form.after, low)))
    return dataclasses.replace(form, after=after)


def _is_worth_folding(node: Node, form: _Affine) -> bool:
    """Whether a form has vectors along the same dimensions that become fewer."""
    scales = {*references(form.scale)}
    vectors = {*references(form.before), *scales, *references(form.after)}
    axes = {dims_of(node.reads[i].axes) for i in vectors}
    return len(vectors) >= _FEW and len(axes) == 1 and bool(scales)


def _reads(call: Call) -> tuple[int, int]:
    return len(set(references(call))), -call_count(call)


_MOST_READS = 4
"""Tensors that a map reads: with its result these are the operands of a Spec."""

_AFFINE = frozenset({"add", "sub", "mul"})
_FEW = 3
"""Vectors that are read: fewer are not worth a map of their own."""


def _tidy(expression: Expression) -> Expression:
    match expression:
        case Call("mul", (Constant(1.0), x)):
            return x
        case Call("mul", (Constant(0.0), _)):
            return Constant(0.0)
        case Call("mul", (_, Constant(0.0))):
            return Constant(0.0)
        case Call("add", (Constant(0.0), x)) | Call("add", (x, Constant(0.0))):
            return x
        case Call("sub", (Constant(0.0), x)):
            return Call("neg", (x,))
    return expression


def _is_worth(expression: Expression) -> bool:
    """Whether an expression is more than a value and a number."""
    if not isinstance(expression, Call):
        return False
    simple = all(isinstance(a, Reference | Constant) for a in expression.arguments)
    numbers = sum(isinstance(a, Constant) for a in expression.arguments)
    is_cheap = simple and (numbers == 1 or expression.function in ("neg", "square"))
    return not is_cheap


def _size(item: tuple[Expression, int]) -> tuple[int, str]:
    return call_count(item[0]), repr(item[0])
