"""Rewriting a DAG of tensors: each pass makes a new one, tensor by tensor.

A pass is a `Rewriter` that says what becomes of a node. Tensors are added in order, so
that each is after what it reads.
"""

import dataclasses
import functools

from morello.frontends.nodes.tensors import (
    Access,
    Joined,
    Node,
    Plain,
    Source,
    Tensor,
    Tensors,
    View,
    copying,
    identity_axes,
)
from morello.spec.elements.dtypes import BYTES, computed_in
from morello.spec.graphs.expression import (
    COMMUTATIVE,
    COPY,
    Expression,
    calls,
    commuted,
    references,
    renumbered,
    rewritten,
)
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import dims_of, plain, plain_dims, renamed


class Rewriter:
    """Copies a DAG; a subclass rewrites its nodes.

    Args:
        old: what is rewritten; it is not changed.
    """

    def __init__(self, old: Tensors) -> None:
        self.old = old
        self.new = dataclasses.replace(old, all=[], results=[])
        self.known: dict[int, int] = {}
        """The new tensor for each old one."""
        self.results = {w for r in old.seen for w in old.writers(r)}
        self._nodes: dict[Node, int] = {}

    def add(self, node: Node) -> int:
        """Add a node, or return the earlier one that computes the same."""
        if node.into is not None:
            return self.new.add(node)
        key = dataclasses.replace(_in_order(node), place="")
        if key not in self._nodes:
            self._nodes[key] = self.new.add(node)
        return self._nodes[key]

    def run(self) -> Tensors:
        """The new DAG."""
        for number, tensor in enumerate(self.old.all):
            rewritten = self._rewritten(number, tensor)
            if rewritten is not None:
                self.known[number] = rewritten
        for number, tensor in enumerate(self.old.all):
            whole = self.new.all[self.known[number]] if number in self.known else None
            if isinstance(tensor, Joined) and isinstance(whole, Joined):
                pieces = tuple(q for p in tensor.pieces for q in self.pieces_of(p))
                joined = dataclasses.replace(whole, pieces=pieces)
                self.new.all[self.known[number]] = joined
        for result in self.old.results:
            self.new.results.append(self._unshared(self.known[result]))
        return self.new

    def apart(self, node: Node) -> int:
        """A node that was a piece of a joined tensor, as a tensor of its own: the one
        that it copies, if it does nothing else."""
        if node.expression == COPY:
            (read,) = node.reads
            is_same = self.new.element(read.tensor) == node.dtype
            if is_same and read.axes == identity_axes(node.shape):
                return read.tensor
        return self.add(node)

    def pieces_of(self, number: int) -> tuple[int, ...]:
        """The new nodes of an old piece of a joined tensor."""
        return (self.known[number],)

    def _unshared(self, result: int) -> int:
        """A result that is no other result: nodes that compute the same are one, and
        results are arrays of their own."""
        taken = {self.new.root(other) for other in self.new.results}
        if self.new.root(result) not in taken:
            return result
        computed = self.new.all[self.new.root(result)]
        place = computed.place if isinstance(computed, Node) else "the results"
        shape, dtype = self.new.all[result].shape, self.new.dtype(result)
        read = Access(result, identity_axes(shape))
        return self.new.add(copying(read, shape, dtype, place))

    def _rewritten(self, number: int, tensor: Tensor) -> int | None:
        if isinstance(tensor, View):
            if tensor.tensor not in self.known:
                return None
            return self.view(self.known[tensor.tensor], tensor.shape)
        if isinstance(tensor, Plain):
            operands = tuple(self.known[o] for o in tensor.operands)
            return self.new.add(dataclasses.replace(tensor, operands=operands))
        if not isinstance(tensor, Node):
            return self.new.add(tensor)
        return self.node(number, self.moved(tensor))

    def moved(self, node: Node) -> Node:
        """An old node that reads new tensors, as far as these are there."""
        tensors = tuple(self.known.get(tensor, -1) for tensor in node.tensors)
        into = node.into
        if into is not None:
            into = dataclasses.replace(into, tensor=self.known[into.tensor])
        after = tuple(self.known[i] for i in node.after)
        return dataclasses.replace(node, tensors=tensors, into=into, after=after)

    def node(self, number: int, node: Node) -> int | None:
        """Add what becomes of an old node, which reads new tensors; None for nothing.

        Args:
            number: the old one.
        """
        return self.add(node)

    def view(self, tensor: int, shape: tuple[int, ...]) -> int:
        """A new tensor in another shape."""
        return self.new.view(tensor, shape)

    def read(self, access: Access) -> Node | None:
        """The new node that is read as it is, not in another shape."""
        writer = self.new.all[access.tensor] if access.tensor >= 0 else None
        return writer if isinstance(writer, Node) else None


def _in_order(node: Node) -> Node:
    """A node in which arguments that commute, and reads, have one order."""
    if all(call.function not in COMMUTATIVE for call in calls(node.expression)):
        return node
    reads = sorted({*node.reads}, key=lambda a: (a.tensor, a.axes))
    places = {place: reads.index(read) for place, read in enumerate(node.reads)}
    order = functools.partial(commuted, order=repr)
    expression = rewritten(renumbered(node.expression, places), order)
    return node.changed(expression=expression, reads=tuple(reads))


class _Live(Rewriter):
    def __init__(self, old: Tensors) -> None:
        super().__init__(old)
        self._needed = {*old.results}
        rest = [*old.results]
        while rest:
            more = set(old.all[rest.pop()].sources) - self._needed
            self._needed |= more
            rest += more

    def _rewritten(self, number: int, tensor: Tensor) -> int | None:
        is_needed = number in self._needed or isinstance(tensor, Source)
        return super()._rewritten(number, tensor) if is_needed else None


def live(tensors: Tensors) -> Tensors:
    """The tensors that are given, and those that the results need."""
    return _Live(tensors).run()


def users_of(tensors: Tensors) -> dict[int, set[int]]:
    """For each node the nodes that read it, in whatever shape."""
    users: dict[int, set[int]] = {
        i: set() for i, t in enumerate(tensors.all) if isinstance(t, Node)
    }
    for i, tensor in enumerate(tensors.all):
        if isinstance(tensor, Node):
            for access in tensor.reads:
                root = tensors.root(access.tensor)
                for writer in tensors.writers(root):
                    if writer in users:
                        users[writer].add(i)
    return users


def expression_dims(node: Node, expression: Expression) -> set[int]:
    """The dimensions of what an expression of a node reads."""
    dims: set[int] = set()
    for place in set(references(expression)):
        dims |= dims_of(node.reads[place].axes)
    return dims


def outlined(node: Node, expression: Expression) -> tuple[Node, Access]:
    """A part of a node's expression as a map of its own, and how the node reads it.

    The tensor of the access is to be filled in.
    """
    order = [*plain_dims(node.axes)]
    order += [d for d in range(len(node.extents)) if d not in order]
    dims = sorted(expression_dims(node, expression), key=order.index)
    place = {dim: i for i, dim in enumerate(dims)}
    shape = tuple(node.extents[d] for d in dims)
    dtype = computed_in((node.dtype,)) if node.dtype in BYTES else node.dtype
    part = node.changed(expression=expression, dtype=dtype).compact()
    reads = tuple(Access(a.tensor, renamed(a.axes, place)) for a in part.reads)
    inner = part.changed(
        extents=shape, axes=identity_axes(shape), reduction=MAP, reads=reads
    )
    inner = dataclasses.replace(inner, into=None, after=())
    return inner, Access(-1, plain(*dims))
