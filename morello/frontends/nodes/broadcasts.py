"""Tensors that repeat the elements of others are not computed: `without_broadcasts`.

Heads of queries that share keys read a copy of these for each, as exporters write it.
Once the axes of the copy are dimensions of its readers (`reshapes`), these read the
source, which lacks some of them.
"""

import numpy as np

from morello.frontends.nodes.rewriting import Rewriter, live
from morello.frontends.nodes.tensors import Access, Node, Source, Tensors, substituted
from morello.spec.graphs.expression import Call, Expression, Reference
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import ONE, dims_of


def without_broadcasts(tensors: Tensors) -> Tensors:
    """Makes what reads repeated elements read the tensor that has them once."""
    return live(_Broadcasts(tensors).run())


class _Broadcasts(Rewriter):
    def node(self, number: int, node: Node) -> int:
        """Read sources instead of copies that repeat their elements, as long as
        something is read along each dimension."""
        reads = tuple(self._direct(access, node.extents) for access in node.reads)
        direct = node.changed(reads=reads).distinct()
        read = {d for access in reads for d in dims_of(access.axes)}
        is_read = reads != node.reads and direct.unreduced <= read
        return self.add(direct if is_read else node)

    def _direct(self, access: Access, extents: tuple[int, ...]) -> Access:
        """An access, of a source where it is one of a copy."""
        copy = self.read(access)
        source = None if copy is None else repeated(self.new, copy)
        if copy is None or source is None:
            return access
        if not all(axis.is_plain or axis == ONE for axis in source.axes):
            return access  # it has a part of the source's elements
        inner = [ONE] * len(copy.extents)
        for axis, axis_read in zip(copy.axes, access.axes, strict=True):
            if axis.dim is not None:
                inner[axis.dim] = axis_read
        shape = self.new.all[source.tensor].shape
        axes = substituted(source.axes, tuple(inner), extents, shape)
        return access if axes is None else Access(source.tensor, axes)


def repeated(tensors: Tensors, node: Node) -> Access | None:
    """The access whose elements a node repeats; None where it is no such copy."""
    if node.reduction != MAP or node.into is not None:
        return None
    expression: Expression = node.expression
    repeats = False
    while True:
        match expression:
            case Call("add", (inner, Reference(place))) if _is_zero(
                tensors, node.reads[place].tensor
            ):
                expression, repeats = inner, True
            case _:
                break
    match expression:
        case Call("copy", (Reference(place),)) if repeats:
            return node.reads[place]
    return None


def _is_zero(tensors: Tensors, tensor: int) -> bool:
    """Whether a tensor is -0, which changes nothing that it is added to."""
    source = tensors.all[tensor]
    return (
        isinstance(source, Source)
        and source.array is not None
        and bool(np.all(source.array == 0) and np.all(np.signbit(source.array)))
    )
