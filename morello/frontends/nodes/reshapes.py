"""Reshapes that collapse axes vanish: what reads them loops over the axes themselves.

A product over rows of (batch · sequence) that reads an array of (batch, sequence, …)
gets a dimension for each; what it computes has an axis for each, and is seen in the
collapsed shape. In a group, dimensions that are never apart become one again.
"""

from collections import defaultdict
from math import prod

from morello.frontends.nodes.convolution import Convolution
from morello.frontends.nodes.rewriting import Rewriter
from morello.frontends.nodes.tensors import Access, Node, Tensors, View
from morello.spec.index_map import ONE, IndexMap, plain

Parts = dict[int, tuple[int, ...]]
"""Dimensions that are divided, each with the sizes of its parts, outermost first."""


def without_reshapes(tensors: Tensors) -> Tensors:
    """Removes views between nodes by splitting the dimensions of their readers."""
    return _Reshapes(tensors).run()


class _Reshapes(Rewriter):
    def __init__(self, old: Tensors) -> None:
        super().__init__(old)
        self.wanted = self._wanted()

    def _wanted(self) -> dict[int, Parts]:
        """Nodes that convolutions see with an axis divided, as channels in groups, and
        nothing else sees; and what they are computed of: the parts of dimensions."""
        seen: dict[int, set[tuple[int, ...]]] = defaultdict(set)
        for number in self.old.seen:
            seen[self.old.root(number)].add(())
        wanted: dict[int, Parts] = {}
        for number, node in reversed([*enumerate(self.old.all)]):
            if not isinstance(node, Node):
                continue
            parts = self._parts(node, seen[number])
            if parts:
                wanted[number] = parts
            divided = {IndexMap.of(dim): sizes for dim, sizes in parts.items()}
            convolution = Convolution.of(node)
            for place, access in enumerate(node.reads):
                shape: list[int] = []
                if parts or (convolution and place == convolution.image):
                    whole = self.old.all[access.tensor].shape
                    for axis, size in zip(access.axes, whole, strict=True):
                        shape += divided.get(axis, (size,))
                seen[self.old.root(access.tensor)].add(tuple(shape))
        return wanted

    def _parts(self, node: Node, seen: set[tuple[int, ...]]) -> Parts:
        """The parts of a node's dimensions, if it is seen in one shape alone."""
        if len(seen) != 1 or node.into is not None:
            return {}
        (shape,) = seen
        if prod(shape) != prod(node.shape):
            return {}
        every = collapsed(shape, node.shape)
        dims = [node.axes[place].dim for place, _ in every]
        return {d: s for d, (_, s) in zip(dims, every, strict=True) if d is not None}

    def node(self, number: int, node: Node) -> int:
        """Split its dimensions until no view that it reads collapses axes."""
        shape = node.shape
        for dim, sizes in self.wanted.get(number, {}).items():
            node = self._divided(node, dim, sizes) or node
        while node.into is None:
            splitting = self._split(node)
            if splitting is None:
                break
            dim, sizes = splitting
            divided = self._divided(node, dim, sizes)
            if divided is None:
                break
            node = divided
        return self.view(self.add(node), shape)

    def _split(self, node: Node) -> tuple[int, tuple[int, ...]] | None:
        """A dimension to be split, and the sizes of its parts."""
        for access in node.reads:
            tensor = self.new.all[access.tensor]
            if not isinstance(tensor, View):
                continue
            whole = self.new.all[tensor.tensor].shape
            for place, sizes in collapsed(whole, tensor.shape):
                dim = access.axes[place].dim
                if dim is not None:
                    return dim, sizes
        return None

    def _divided(self, node: Node, dim: int, sizes: tuple[int, ...]) -> Node | None:
        """A node with several dimensions in the place of one; None where it reads
        through a window along it."""
        if any(
            not axis.is_plain and dim in axis.dims
            for access in node.reads
            for axis in access.axes
        ):
            return None
        count = len(node.extents)
        dims = (dim, *range(count, count + len(sizes) - 1))
        extents = (*node.extents[:dim], sizes[0], *node.extents[dim + 1 :], *sizes[1:])
        reads = tuple(self._expanded(a, dim, dims, sizes) for a in node.reads)
        axes = _expanded_axes(node.axes, dim, dims)
        return node.changed(extents=extents, axes=axes, reads=reads)

    def _expanded(
        self, access: Access, dim: int, dims: tuple[int, ...], sizes: tuple[int, ...]
    ) -> Access:
        if IndexMap.of(dim) not in access.axes:
            return access
        shape = self.new.all[access.tensor].shape
        wide: list[int] = []
        for axis, extent in zip(access.axes, shape, strict=True):
            wide += sizes if axis.dim == dim else (extent,)
        axes = _expanded_axes(access.axes, dim, dims)
        return self._direct(self.view(access.tensor, tuple(wide)), tuple(wide), axes)

    def _direct(
        self, tensor: int, shape: tuple[int, ...], axes: tuple[IndexMap, ...]
    ) -> Access:
        """An access of the root, where the view only adds axes of one element."""
        root = self.new.root(tensor)
        whole = self.new.all[root].shape
        if [n for n in whole if n > 1] != [n for n in shape if n > 1]:
            return Access(tensor, axes)
        rest = iter(a for a, n in zip(axes, shape, strict=True) if n > 1)
        return Access(root, tuple(next(rest) if n > 1 else ONE for n in whole))


def _expanded_axes(
    axes: tuple[IndexMap, ...], dim: int, dims: tuple[int, ...]
) -> tuple[IndexMap, ...]:
    expanded: list[IndexMap] = []
    for axis in axes:
        expanded += plain(*dims) if axis.dim == dim else (axis,)
    return tuple(expanded)


def collapsed(
    whole: tuple[int, ...], shape: tuple[int, ...]
) -> list[tuple[int, tuple[int, ...]]]:
    """The axes of a view that collapse several of the tensor's, with their sizes."""
    wide = (
        ([whole[i] for i in olds if whole[i] > 1], [i for i in news if shape[i] > 1])
        for olds, news in axis_groups(whole, shape)
    )
    return [
        (news[0], tuple(sizes))
        for sizes, news in wide
        if len(sizes) > 1 and len(news) == 1
    ]


def axis_groups(
    old_shape: tuple[int, ...], new_shape: tuple[int, ...]
) -> list[tuple[list[int], list[int]]]:
    """Minimal groups of axes of two shapes, so that groups of both hold the same
    elements."""
    groups: list[tuple[list[int], list[int]]] = []
    old, new = 0, 0
    while old < len(old_shape) or new < len(new_shape):
        olds: list[int] = []
        news: list[int] = []
        one, other = 1, 1
        while not (olds and news and one == other):
            if old < len(old_shape) and (one <= other or new == len(new_shape)):
                olds.append(old)
                one *= old_shape[old]
                old += 1
            elif new < len(new_shape):
                news.append(new)
                other *= new_shape[new]
                new += 1
            else:
                break
        groups.append((olds, news))
    return groups
