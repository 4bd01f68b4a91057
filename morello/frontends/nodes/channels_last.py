"""Convolutions with their channels last, or the groups of these: `channels_last`.

The last axis of an image, of the filters and of the result is then the one that vectors
go along, and a program needs no other layout of its operands. Filters that are known
beforehand are turned once (`prepared.py`); others stay as they are, and so does their
convolution. What is computed of such a result, element by element or by windows, has
its channels last too, so that tensors are turned only where the program ends.

Where groups are last, neighbours in memory are channels of different groups: vectors
go along the groups. A product before and one behind then have other columns and rows:
factors that are known beforehand are turned to fit.
"""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

from morello.frontends.nodes.convolution import (
    Convolution,
    ImageOrder,
    Order,
    filters_of_group,
)
from morello.frontends.nodes.prepared import known_beforehand
from morello.frontends.nodes.rewriting import Rewriter
from morello.frontends.nodes.tensors import (
    Access,
    Joined,
    Node,
    Tensor,
    Tensors,
    View,
    Within,
    copying,
)
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import ONE, IndexMap

_T = TypeVar("_T")

Orders = Mapping[int, ImageOrder]
"""The orders of images, by the numbers of convolutions: of others channels are last."""

CHANNELS_LAST: Orders = MappingProxyType({})


def channels_last(tensors: Tensors, orders: Orders = CHANNELS_LAST) -> Tensors:
    """Rewrites convolutions, and what is computed of them, to have channels last."""
    return _Turning(tensors, orders).run()


def by_groups(tensors: Tensors) -> dict[int, int]:
    """The products of channels in groups of several, and the filters of each group."""
    turning = _Turning(tensors, CHANNELS_LAST)
    return {
        number: filters
        for number, tensor in enumerate(tensors.all)
        if isinstance(tensor, Node)
        and (filters := filters_of_group(tensor))
        and turning.turned(number) is not None
    }


def apart_from_products(tensors: Tensors) -> list[frozenset[int]]:
    """The convolutions by groups whose images no product reads, as those that read or
    write one image. Their channels need not be last: vectors may go along a row."""
    return _Turning(tensors, CHANNELS_LAST).apart_from_products()


class _Turning(Rewriter):
    def __init__(self, old: Tensors, orders: Orders) -> None:
        super().__init__(old)
        self.orders = orders
        self.known_before = known_beforehand(old)
        self.fixed = self._fixed()
        self.order: dict[int, Order] = {}
        """Orders of axes of old nodes and joined tensors; others stay as they are."""
        self.images = self._images()
        self.wanted = self._wanted()
        for number, tensor in enumerate(old.all):
            if isinstance(tensor, Node):
                self._decide(number, tensor)

    def _fixed(self) -> set[int]:
        """Tensors whose order is seen: results, and what is seen in another shape."""
        fixed = {self.old.root(result) for result in self.old.seen}
        for tensor in self.old.all:
            if isinstance(tensor, Node):
                for access in tensor.reads:
                    if isinstance(self.old.all[access.tensor], View):
                        fixed.add(self.old.root(access.tensor))
        return fixed

    def _images(self) -> dict[int, Order]:
        """Joined tensors that convolutions read, in the order in which these do."""
        images: dict[int, Order] = {}
        for number, tensor in enumerate(self.old.all):
            convolution = self.turned(number) if isinstance(tensor, Node) else None
            if convolution is not None:
                assert isinstance(tensor, Node)
                image = tensor.tensors[convolution.image]
                order = _lying(convolution, tensor, self._order_of(number))
                is_joined = isinstance(self.old.all[image], Joined)
                if is_joined and order != tuple(range(len(order))):
                    images[image] = order
        return images

    def _wanted(self) -> dict[int, Order]:
        """Images with groups last, and the products that these are maps of."""
        wanted: dict[int, Order] = {}
        for number, tensor in reversed([*enumerate(self.old.all)]):
            if not isinstance(tensor, Node):
                continue
            wanted_order, convolution = self._order_of(number), self.turned(number)
            if wanted_order is ImageOrder.GROUPS_LAST and convolution is not None:
                image = tensor.tensors[convolution.image]
                wanted[image] = _lying(convolution, tensor, wanted_order)
            order = wanted.get(number)
            if order is None or tensor.reduction != MAP or tensor.into is not None:
                continue
            axes = _in_order(tensor.axes, order)
            for read in tensor.reads:
                if {*read.axes} | {ONE} == {*axes, ONE}:
                    places = {axis: place for place, axis in enumerate((ONE, *axes))}
                    every = range(len(read.axes))
                    lying = sorted(every, key=lambda i: places[read.axes[i]])
                    wanted.setdefault(read.tensor, tuple(lying))
        return wanted

    def _order_of(self, number: int) -> ImageOrder:
        return self.orders.get(number, ImageOrder.CHANNELS_LAST)

    def _decide(self, number: int, node: Node) -> None:
        whole = number
        if node.into is not None:
            whole = node.into.tensor
            if self._deciding(node.into) != number:
                return
        order = self.wanted.get(whole, self._preferred(number))
        if order is None:
            order = self.images.get(whole)
        if order is not None and whole not in self.fixed:
            self.order[whole] = order

    def _pieces(self, into: Within) -> tuple[int, ...]:
        joined = self.old.all[into.tensor]
        assert isinstance(joined, Joined)
        return joined.pieces

    def _deciding(self, into: Within) -> int:
        """The piece that decides the order of a joined tensor's axes: a convolution, or
        the first."""
        pieces = self._pieces(into)
        convolutions = (p for p in pieces if Convolution.of(self.old.node(p)))
        return next(convolutions, pieces[0])

    def _convolution(self, node: Node) -> Convolution | None:
        """A convolution, or one of a single tap beside others of the same image."""
        convolution = Convolution.of(node)
        if convolution is not None or node.into is None:
            return convolution
        deciding = self.old.node(self._deciding(node.into))
        beside = Convolution.of(deciding)
        if beside is None:
            return None
        return Convolution.reading(node, deciding.tensors[beside.image])

    def turned(self, number: int) -> Convolution | None:
        """A convolution that is to have its channels last."""
        node = self.old.node(number)
        convolution = self._convolution(node)
        if convolution is None or self._order_of(number) is ImageOrder.IN_PLACE:
            return None
        filters = node.reads[convolution.filters]
        is_known = self.old.root(filters.tensor) in self.known_before
        order = convolution.filter_order(node, self._order_of(number))
        in_order = order == tuple(range(len(filters.axes)))
        return convolution if is_known or in_order else None

    def _preferred(self, number: int) -> Order | None:
        """The order that a node's axes should have; None if they have it."""
        node, convolution = self.old.node(number), self.turned(number)
        last: frozenset[int] = frozenset()
        if convolution is not None:
            image = node.reads[convolution.image].axes
            wanted = self._order_of(number)
            lying = [image[i] for i in _lying(convolution, node, wanted)]
            if wanted is ImageOrder.GROUPS_LAST:
                last = convolution.group_dims(node)
        else:
            lying = self._widest(node)
        sequence: list[int] = []
        for axis in lying:
            sequence += [
                d for d in axis.dims if d in node.unreduced and d not in sequence
            ]
        if not sequence:
            return None

        # What the widest read lacks comes first, of a product last: its columns.
        after = len(sequence) if node.reduction == "sum" else -1

        def place(number: int) -> int:
            dim = node.axes[number].dim
            if dim is None:
                return -2
            if dim in last:
                return after + 1
            return sequence.index(dim) if dim in sequence else after

        order = tuple(sorted(range(len(node.axes)), key=place))
        wide = [i for i in order if node.shape[i] > 1]
        return None if wide == sorted(wide) else order

    def _widest(self, node: Node) -> list[IndexMap]:
        """The axes of the turned tensor of most dimensions that a node reads."""
        best: list[IndexMap] = []
        for access in node.reads:
            order = self.order.get(access.tensor)
            if order is not None:
                lying = [access.axes[i] for i in order if access.axes[i] != ONE]
                if len(lying) > len(best):
                    best = lying
        return best

    def apart_from_products(self) -> list[frozenset[int]]:
        """The convolutions of each region without a product."""
        regions: list[tuple[set[int], set[int]]] = []
        """Tensors that turn together, and the convolutions and products among them."""
        for number, tensor in enumerate(self.old.all):
            if not isinstance(tensor, Node):
                continue
            convolution = self.turned(number)
            touched = {t for t in map(self.old.root, tensor.tensors) if t in self.order}
            if convolution is not None:
                touched.add(self.old.root(tensor.tensors[convolution.image]))
            elif not touched:
                continue
            touched |= {number, number if tensor.into is None else tensor.into.tensor}
            is_product = tensor.reduction == "sum" and len(tensor.reads) > 1
            sums = {number} if is_product else set()
            for region in [r for r in regions if r[0] & touched]:
                regions.remove(region)
                touched, sums = touched | region[0], sums | region[1]
            regions.append((touched, sums))
        return [frozenset(s) for _, s in regions if all(map(self._is_by_groups, s))]

    def _is_by_groups(self, number: int) -> bool:
        """Whether a sum is a convolution each of whose filters reads a part of the
        channels, or one channel."""
        convolution = self.turned(number)
        return convolution is not None and convolution.has_groups(self.old.node(number))

    def _rewritten(self, number: int, tensor: Tensor) -> int | None:
        if isinstance(tensor, Joined) and number in self.order:
            shape = _in_order(tensor.shape, self.order[number])
            tensor = dataclasses.replace(tensor, shape=shape)
        return super()._rewritten(number, tensor)

    def moved(self, node: Node) -> Node:
        """An old node that reads tensors where they lie now."""
        reads = []
        for access in node.reads:
            order = self.order.get(access.tensor)
            axes = access.axes if order is None else _in_order(access.axes, order)
            reads.append(Access(access.tensor, axes))
        return super().moved(node.changed(reads=tuple(reads)))

    def node(self, number: int, node: Node) -> int:
        """Transpose a node as decided, and the operands of a convolution."""
        old = self.old.node(number)
        convolution = self.turned(number)
        if convolution is not None:
            node = self._with_turned_reads(number, node, convolution)
        into = node.into
        order = self.order.get(number if old.into is None else old.into.tensor)
        axes = node.axes if order is None else _in_order(node.axes, order)
        if convolution is None and (order or self.order.keys() & {*old.tensors}):
            node = self._with_known_reads(old, node, axes)
        if order is not None:
            node = node.changed(axes=axes)
            if into is not None:
                starts = _in_order(into.starts, order)
                steps = _in_order(into.steps, order)
                shape = _in_order(into.shape, order)
                into = dataclasses.replace(
                    into, starts=starts, steps=steps, shape=shape
                )
                node = dataclasses.replace(node, into=into)
            return self.add(node)
        preferred = self._preferred(number)
        if convolution is None or preferred is None or into is not None:
            return self.add(node)
        # A result: its channels are last until a copy puts them in their place.
        turned = self.add(node.changed(axes=_in_order(node.axes, preferred)))
        back = tuple(preferred.index(i) for i in range(len(preferred)))
        return self._copied(turned, back, node)

    def _with_turned_reads(
        self, number: int, node: Node, convolution: Convolution
    ) -> Node:
        reads = list(node.reads)
        wanted = self._order_of(number)
        order = _lying(convolution, node, wanted)
        reads[convolution.image] = self._read_in(node, convolution.image, order)
        order = convolution.filter_order(node, wanted)
        reads[convolution.filters] = self._read_in(node, convolution.filters, order)
        return node.changed(reads=tuple(reads))

    def _with_known_reads(
        self, old: Node, node: Node, axes: tuple[IndexMap, ...]
    ) -> Node:
        """A node that reads what is known beforehand in the order of its result, and of
        what else it reads.

        Args:
            axes: of the result.
        """
        roots = map(self.old.root, old.tensors)
        known = [i for i, root in enumerate(roots) if root in self.known_before]
        others = [a.axes for i, a in enumerate(node.reads) if i not in known]
        lying = [*dict.fromkeys(a.dim for each in (axes, *others) for a in each)]
        reads = list(node.reads)
        for place in known if others else ():
            dims = [axis.dim for axis in node.reads[place].axes]
            order = list(range(len(dims)))
            for loops in (node.unreduced, node.reduced):
                fit = loops.intersection(lying)
                old_places = [i for i, dim in enumerate(dims) if dim in fit]
                new_places = sorted(old_places, key=lambda i: lying.index(dims[i]))
                for i, j in zip(old_places, new_places, strict=True):
                    order[i] = j
            reads[place] = self._read_in(node, place, tuple(order))
        return node.changed(reads=tuple(reads))

    def _read_in(self, node: Node, place: int, order: Order) -> Access:
        """How a node reads a tensor whose axes are brought into an order."""
        access = node.reads[place]
        shape = self.new.all[access.tensor].shape
        wide = [i for i in order if shape[i] > 1]
        if wide == sorted(wide):
            return access
        copied = self._copied(access.tensor, order, node)
        return Access(copied, _in_order(access.axes, order))

    def _copied(self, tensor: int, order: Order, node: Node) -> int:
        """A tensor with its axes in another order."""
        whole = self.new.all[tensor].shape
        shape = _in_order(whole, order)
        axes: list[IndexMap] = [ONE] * len(whole)
        for place, axis in enumerate(order):
            axes[axis] = IndexMap.of(place) if shape[place] > 1 else ONE
        read = Access(tensor, tuple(axes))
        dtype = self.new.dtype(tensor)
        return self.add(copying(read, shape, dtype, node.place))


def _lying(convolution: Convolution, node: Node, wanted: ImageOrder) -> Order:
    """The order of the axes of a convolution's image."""
    places = convolution.places(node, wanted)
    return tuple(sorted(range(len(places)), key=places.__getitem__))


def _in_order(values: tuple[_T, ...], order: Order) -> tuple[_T, ...]:
    return tuple(values[i] for i in order)
