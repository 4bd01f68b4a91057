"""A group of nodes whose dimensions are unified: what each reads and writes."""

import dataclasses
from collections.abc import Sequence

from morello.frontends.grouping.group_dims import Dims, UnfitError, row_major
from morello.frontends.nodes.tensors import (
    Access,
    Node,
    Tensors,
)
from morello.spec.index_map import ONE, IndexMap, plain_dims, renamed


@dataclasses.dataclass(frozen=True)
class Value:
    """A value of a group: the tensor in whose memory it is, from which element on, and
    how far apart its elements are along each axis."""

    tensor: int
    offset: int
    axes: tuple[IndexMap, ...]
    strides: tuple[int, ...]


class Draft:
    """A group while its dimensions are found."""

    def __init__(self, tensors: Tensors, nodes: tuple[int, ...], shares: bool) -> None:
        self.tensors = tensors
        self.nodes = nodes
        self.dims = Dims()
        self.group_dims: dict[int, dict[int, int]] = {}
        """The dimensions of each node as dimensions of the group."""
        for tensor in nodes:
            extents = enumerate(self.tensors.node(tensor).extents)
            self.group_dims[tensor] = {i: self.dims.new(n) for i, n in extents if n > 1}
        for tensor in nodes:
            for access in self.tensors.node(tensor).reads:
                self._unify(tensor, access)
        if shares:
            self._share()

    def renamed(self, tensor: int, axes: tuple[IndexMap, ...]) -> tuple[IndexMap, ...]:
        """Axes of a node's own dimensions, by those of the group."""
        return renamed(axes, self.group_dims[tensor])

    def _unify(self, reader: int, access: Access) -> None:
        root = self.tensors.root(access.tensor)
        if root not in self.group_dims:
            return
        left: list[int] = []
        for axis in self.renamed(reader, access.axes):
            if axis.dim is not None:
                left.append(axis.dim)
            elif axis != ONE:
                raise UnfitError  # a window over what is computed here
        axes = self.renamed(root, self.tensors.node(root).axes)
        self.dims.join(left, plain_dims(axes))

    def _share(self) -> None:
        """Read what is read twice along the same dimensions.

        Raises:
            UnfitError: then it is read along others.
        """
        first: dict[tuple[int, int], tuple[int, ...]] = {}
        for tensor in self.nodes:
            for access in self.tensors.node(tensor).reads:
                axes = self.renamed(tensor, access.axes)
                read_dims = plain_dims(axes)
                if all(axis.is_plain or axis == ONE for axis in axes):
                    key = self.tensors.root(access.tensor), len(read_dims)
                    self.dims.join(first.setdefault(key, read_dims), read_dims)

    def read(self, tensor: int, access: Access) -> "int | Value":
        """The operand of a read: a node of the group, or an input."""
        root = self.tensors.root(access.tensor)
        if root in self.group_dims:
            return root
        axes: list[IndexMap] = []
        root, offset, strides = self._memory(access.tensor)
        named = self.renamed(tensor, access.axes)
        for axis, stride in zip(named, strides, strict=True):
            offset += stride * max(0, -axis.before)
            axes.append(_trimmed(axis))
        return Value(root, offset, *self.dims.placed(axes, strides))

    def written(self, tensor: int) -> Value:
        """The value of a node."""
        memory, offset, strides = self._memory(tensor)
        axes = self.renamed(tensor, self.tensors.node(tensor).axes)
        return Value(memory, offset, *self.dims.placed(axes, strides))

    def _memory(self, tensor: int) -> tuple[int, int, Sequence[int]]:
        """The root in whose memory a tensor is, from which element on, and how far
        apart its elements are along each axis."""
        value = self.tensors.all[tensor]
        into = value.into if isinstance(value, Node) else None
        if into is None:
            return self.tensors.root(tensor), 0, row_major(value.shape)
        whole = row_major(into.shape)
        offset = sum(a * b for a, b in zip(into.starts, whole, strict=True))
        steps = [a * b for a, b in zip(into.steps, whole, strict=True)]
        return into.tensor, offset, steps

    def reduced(self, tensor: int) -> tuple[int, ...]:
        """The parts of the group's dimensions along which a node reduces."""
        dims = self.group_dims[tensor]
        parts = [self.dims.leaves(dims[d]) for d in self.tensors.node(tensor).reduced]
        return tuple(sorted({leaf for leaves in parts for leaf in leaves}))


def _trimmed(axis: IndexMap) -> IndexMap:
    """The map over the part of an axis that it reaches."""
    before, after = max(0, axis.before), max(0, axis.after)
    return dataclasses.replace(axis, before=before, after=after)
