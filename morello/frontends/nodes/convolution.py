"""A convolution among the nodes of a program: which axis is which, and their order."""

import dataclasses
import enum
from collections.abc import Set
from math import prod

from morello.frontends.nodes.tensors import Node
from morello.spec.graphs.expression import Call, Reference
from morello.spec.index_map import ONE, IndexMap, dims_of, plain_dims

_FIRST, _BATCH, _PLACE, _GROUP, _CHANNEL, _LAST_GROUP = range(6)
"""Roles of the axes of an image, in order; axes of one element come first."""

Order = tuple[int, ...]
"""The axes of a tensor in the order in which they lie in memory."""


class ImageOrder(enum.Enum):
    """The order of the axes of the image of a convolution, and of its result."""

    CHANNELS_LAST = enum.auto()
    """Batches, places, groups, channels of a group."""
    GROUPS_LAST = enum.auto()
    """Batches, places, channels of a group, groups."""
    IN_PLACE = enum.auto()
    """The order that they have in the program."""


@dataclasses.dataclass(frozen=True)
class Convolution:
    """The operands of a convolution: the reads that are its image and its filters."""

    image: int
    filters: int

    @classmethod
    def of(cls, node: Node) -> "Convolution | None":
        """A sum of products, one factor of which is read through windows."""
        windowed = {p for p, a in enumerate(node.reads) if _is_windowed(a.axes)}
        return cls._of(node, windowed)

    @classmethod
    def reading(cls, node: Node, image: int) -> "Convolution | None":
        """A sum of products of which a tensor is one factor, by one tap or more."""
        return cls._of(node, {p for p, t in enumerate(node.tensors) if t == image})

    @classmethod
    def _of(cls, node: Node, images: Set[int]) -> "Convolution | None":
        match node.expression:
            case Call("mul", (Reference(a), Reference(b))) if a != b:
                if node.reduction == "sum" and (a in images) != (b in images):
                    return cls(a, b) if a in images else cls(b, a)
        return None

    def places(
        self, node: Node, order: ImageOrder = ImageOrder.CHANNELS_LAST
    ) -> tuple[int, ...]:
        """For each axis of the image, where it belongs."""
        filtered = dims_of(node.reads[self.filters].axes)
        image = node.reads[self.image].axes
        places = [_place(axis, node, filtered) for axis in image]
        if order is ImageOrder.GROUPS_LAST:
            places = [_LAST_GROUP if p == _GROUP else p for p in places]
        return tuple(places)

    def has_groups(self, node: Node) -> bool:
        """Whether the channels are in groups, of which each filter reads one."""
        return _GROUP in self.places(node)

    def group_dims(self, node: Node) -> frozenset[int]:
        """The dimensions of the groups."""
        axes = zip(node.reads[self.image].axes, self.places(node), strict=True)
        return frozenset(d for a, place in axes if place == _GROUP for d in a.dims)

    def filter_order(
        self, node: Node, order: ImageOrder = ImageOrder.CHANNELS_LAST
    ) -> Order:
        """Groups, taps, channels, filters; groups last if so wanted, or where a group
        has one channel."""
        image = node.reads[self.image].axes
        plain = {*plain_dims(image)}
        axes = node.reads[self.filters].axes
        has_channels = any(a.dim in plain & node.reduced for a in axes)
        groups = 0 if has_channels else 2
        groups = 4 if order is ImageOrder.GROUPS_LAST else groups

        def place(number: int) -> int:
            dim = axes[number].dim
            if dim is None:
                return -1
            if dim in node.unreduced:
                if dim not in plain:
                    return 3
                return groups
            return 2 if dim in plain else 1

        return tuple(sorted(range(len(axes)), key=place))

    def is_last(self, node: Node) -> bool:
        """Whether image, filters and result have their channels last, or the groups of
        these."""
        return any(
            self._is_in(node, order)
            for order in (ImageOrder.CHANNELS_LAST, ImageOrder.GROUPS_LAST)
        )

    def _is_in(self, node: Node, order: ImageOrder) -> bool:
        image = self.places(node, order)
        filters = node.reads[self.filters].axes
        wide = [axis for axis in node.axes if axis.is_plain]
        return (
            list(image) == sorted(image)
            and self.filter_order(node, order) == tuple(range(len(filters)))
            and bool(wide)
            and wide[-1] == filters[-1]
        )


def filters_of_group(node: Node) -> int:
    """The filters of each group of a convolution of floats whose channels are in groups
    of several; 0 of all else."""
    convolution = Convolution.of(node)
    is_product = node.dtype.is_float and bool(node.graph.contractions)
    if convolution is None or not (is_product and convolution.has_groups(node)):
        return 0
    of_image = dims_of(node.reads[convolution.image].axes)
    return prod(node.extents[dim] for dim in node.unreduced - of_image)


def _is_windowed(axes: tuple[IndexMap, ...]) -> bool:
    return any(
        axis.terms and not axis.is_plain and not axis.is_divided for axis in axes
    )


def _place(axis: IndexMap, node: Node, filtered: frozenset[int]) -> int:
    if axis.is_divided:
        return _BATCH
    if axis.dim is None:
        return _FIRST if axis == ONE else _PLACE
    if axis.dim in node.reduced:
        return _CHANNEL
    return _GROUP if axis.dim in filtered else _BATCH
