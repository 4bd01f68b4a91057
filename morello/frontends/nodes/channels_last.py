"""Convolutions with their channels last: `channels_last`.

The last axis of an image, of the filters and of the result is then the one that vectors
go along, and a program needs no other layout of its operands. Filters that are known
beforehand are turned once (`prepared.py`); others stay as they are, and so does their
convolution. What is computed of such a result, element by element or by windows, has
its channels last too, so that tensors are turned only where the program ends.
"""

import dataclasses
from collections.abc import Set
from typing import TypeVar

from morello.frontends.nodes.convolution import Convolution, Order
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
from morello.spec.index_map import ONE, IndexMap

_T = TypeVar("_T")


def channels_last(tensors: Tensors, in_place: Set[int] = frozenset()) -> Tensors:
    """Rewrites convolutions, and what is computed of them, to have channels last.

    Args:
        in_place: the convolutions that keep the order of their axes, by number.
    """
    return _Turning(tensors, in_place).run()


def apart_from_products(tensors: Tensors) -> list[frozenset[int]]:
    """The convolutions by groups whose images no product reads, as those that read or
    write one image. Their channels need not be last: vectors may go along a row."""
    return _Turning(tensors, frozenset()).apart_from_products()


class _Turning(Rewriter):
    def __init__(self, old: Tensors, in_place: Set[int]) -> None:
        super().__init__(old)
        self.in_place = in_place
        self.known_before = known_beforehand(old)
        self.fixed = self._fixed()
        self.order: dict[int, Order] = {}
        """Orders of axes of old nodes and joined tensors; others stay as they are."""
        self.images = self._images()
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
                order = _lying(convolution, tensor)
                is_joined = isinstance(self.old.all[image], Joined)
                if is_joined and order != tuple(range(len(order))):
                    images[image] = order
        return images

    def _decide(self, number: int, node: Node) -> None:
        whole = number
        if node.into is not None:
            whole = node.into.tensor
            if self._deciding(node.into) != number:
                return
        order = self._preferred(number)
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
        if convolution is None or number in self.in_place:
            return None
        filters = node.reads[convolution.filters]
        is_known = self.old.root(filters.tensor) in self.known_before
        in_order = convolution.filter_order(node) == tuple(range(len(filters.axes)))
        return convolution if is_known or in_order else None

    def _preferred(self, number: int) -> Order | None:
        """The order that a node's axes should have; None if they have it."""
        node, convolution = self.old.node(number), self.turned(number)
        if convolution is not None:
            image = node.reads[convolution.image].axes
            places = convolution.places(node)
            lying = [
                image[i] for i in sorted(range(len(image)), key=places.__getitem__)
            ]
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
            node = self._with_turned_reads(node, convolution)
        into = node.into
        order = self.order.get(number if old.into is None else old.into.tensor)
        if order is not None:
            node = node.changed(axes=_in_order(node.axes, order))
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

    def _with_turned_reads(self, node: Node, convolution: Convolution) -> Node:
        reads = list(node.reads)
        order = _lying(convolution, node)
        reads[convolution.image] = self._read_in(node, convolution.image, order)
        order = convolution.filter_order(node)
        reads[convolution.filters] = self._read_in(node, convolution.filters, order)
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


def _lying(convolution: Convolution, node: Node) -> Order:
    """The order of an image's axes in which its channels are last."""
    places = convolution.places(node)
    return tuple(sorted(range(len(places)), key=places.__getitem__))


def _in_order(values: tuple[_T, ...], order: Order) -> tuple[_T, ...]:
    return tuple(values[i] for i in order)
