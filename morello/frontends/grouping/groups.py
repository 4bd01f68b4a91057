"""Grouping of nodes, each group one graph: `grouped`.

Every node begins alone. A node joins the group of what it reads if the two together are
a graph that the search is good at: one product, then maps of its elements; attention;
or rows, of which everything is reduced along the same dimensions. Otherwise the value
between them is stored.
"""

import dataclasses
import heapq
import math
from collections.abc import Sequence

from morello.errors import SpecError
from morello.frontends.grouping.cheapest import Candidate
from morello.frontends.grouping.group_dims import UnfitError
from morello.frontends.grouping.parts import (
    Part,
    PlainPart,
    Step,
    fill_parts,
    part_of_nodes,
)
from morello.frontends.nodes.convolution import Convolution
from morello.frontends.nodes.tensors import Joined, Node, Plain, Source, Tensors
from morello.frontends.refusals import ModelError, Refusal
from morello.spec.graphs.graph import MAP

MOST_OUTPUTS = 2
"""Outputs of a group: a value that is read elsewhere too is one."""


MOST_OF_MAPS = 5
"""Operands of a group without a product: more have no program."""


@dataclasses.dataclass
class _Group:
    nodes: set[int]


def grouped(tensors: Tensors) -> tuple[Step, ...]:
    """The parts of a program, in an order in which they can be computed."""
    grouping = Grouping(tensors)
    return grouping.steps(grouping.by_rule())


def is_product(node: Node) -> bool:
    """Whether a node is a sum of products of two tensors, of which each lacks a
    dimension: a contraction or a convolution. What reads halves of bytes is one."""
    if any(axis.halves for access in node.reads for axis in access.axes):
        return True
    return bool(node.graph.contractions)


def is_short(tensors: Tensors, node: Node) -> bool:
    """Whether a product takes few steps for each element that it reads or writes, as
    that of a tensor and a small matrix does."""
    shapes = [node.shape, *(tensors.all[tensor].shape for tensor in node.tensors)]
    return math.prod(node.extents) <= _FEW_STEPS * sum(map(math.prod, shapes))


def is_convolution(node: Node) -> bool:
    """Whether a node is a product of channels with channels last: its program then
    needs no other layouts."""
    convolution = Convolution.of(node)
    return convolution is not None and is_product(node) and convolution.is_last(node)


_FEW_STEPS = 4
"""Multiplications for an element, in about the time that moving it takes."""

_TOO_LARGE = (
    "it has more operands or dimensions than a Spec",
    "write it as several ops",
)


class Grouping:
    """Nodes, what they read and are read by, and the group of each."""

    def __init__(self, tensors: Tensors) -> None:
        self.tensors = tensors
        self.nodes = {i: t for i, t in enumerate(tensors.all) if isinstance(t, Node)}
        self.plain = {i: t for i, t in enumerate(tensors.all) if isinstance(t, Plain)}
        self.reads = {i: self._read(node) for i, node in self.nodes.items()}
        self.reads |= {i: self._read_plainly(t) for i, t in self.plain.items()}
        self.results = {w for r in tensors.results for w in tensors.writers(r)}
        self._drop_unread()
        self.readers: dict[int, set[int]] = {i: set() for i in self.reads}
        for i, read in self.reads.items():
            for r in read:
                self.readers[r].add(i)
        self.group = {i: _Group({i}) for i in self.nodes} | self._plain_groups()
        self.farthest = list(range(len(tensors.all)))
        """For each node the last one in a group that begins no later."""
        for group in self.group.values():
            self._reach(group)

    def _reach(self, group: _Group) -> None:
        """Count a new group in `farthest`."""
        last = max(group.nodes)
        for i in range(min(group.nodes), last):
            self.farthest[i] = max(self.farthest[i], last)

    def _read(self, node: Node) -> list[int]:
        """The nodes that a node waits for."""
        writers = [w for a in node.reads for w in self.tensors.writers(a.tensor)]
        return list(dict.fromkeys([*writers, *node.after]))

    def _read_plainly(self, plain: Plain) -> list[int]:
        writers = [w for o in plain.operands for w in self.tensors.writers(o)]
        return list(dict.fromkeys(writers))

    def _plain_groups(self) -> dict[int, _Group]:
        """A group for each call of plain code, with all of its results: calls of the
        same code on the same tensors have each result once."""
        calls: dict[tuple[object, tuple[int, ...]], list[_Group]] = {}
        group_of = {}
        for i, plain in self.plain.items():
            same = calls.setdefault((plain.code, plain.operands), [])
            group = next((g for g in same if not self._has(g, plain.number)), None)
            if group is None:
                group = _Group(set())
                same.append(group)
            group.nodes.add(i)
            group_of[i] = group
        return group_of

    def _has(self, call: _Group, number: int) -> bool:
        """Whether a group has a result of one call of fallback code already."""
        return any(self.plain[i].number == number for i in call.nodes)

    def joins(self, nodes: frozenset[int]) -> bool:
        """Whether one of some nodes reads a joined tensor that another writes, or two
        write one."""
        written = [
            into.tensor for i in nodes if (into := self.nodes[i].into) is not None
        ]
        roots = {
            self.tensors.root(a.tensor) for i in nodes for a in self.nodes[i].reads
        }
        read = {*map(self.tensors.memory, roots - nodes)}
        return bool(read & {*written}) or len(set(written)) < len(written)

    def _drop_unread(self) -> None:
        needed = set(self.results)
        for i in sorted(self.reads, reverse=True):
            if i in needed:
                needed.update(self.reads[i])
        self.nodes = {i: n for i, n in self.nodes.items() if i in needed}
        self.plain = {i: t for i, t in self.plain.items() if i in needed}
        self.reads = {i: r for i, r in self.reads.items() if i in needed}

    def by_rule(self) -> list[Candidate]:
        """The groups that the rule makes, in an order in which they can be computed."""
        for i in self.nodes:
            self._attention(i)
        for i in self.nodes:
            for read in self.reads[i]:
                self._try_join(read, i)
        distinct = {id(g): g for g in self.group.values()}
        order = self._ordered([g.nodes for g in distinct.values()])
        return [Candidate(frozenset(nodes)) for nodes in order]

    def steps(self, groups: Sequence[Candidate]) -> tuple[Step, ...]:
        """The parts of groups, and what fills tensors before pieces are written.

        Raises:
            ModelError: a node is no Spec.
        """
        steps: list[Step] = []
        filled: set[int] = set()
        for group in groups:
            nodes = group.nodes
            if nodes & self.plain.keys():
                steps.append(self._plain_part(nodes))
                continue
            for i in sorted(nodes):
                into = self.nodes[i].into
                if into is not None and into.tensor not in filled:
                    filled.add(into.tensor)
                    joined = self.tensors.all[into.tensor]
                    if isinstance(joined, Joined) and joined.fill:
                        steps += fill_parts(self.tensors, into.tensor)
            steps.append(self._final(group))
        return tuple(steps)

    def _final(self, group: Candidate) -> Part:
        try:
            return self.part(group.nodes, group.copies)
        except UnfitError as error:  # groups are made of what fits: it is one node
            place = self.nodes[min(group.nodes)].place
            cause, reason = error.__cause__, _TOO_LARGE
            if isinstance(cause, SpecError):
                reason = cause.what, cause.remedy
            raise ModelError((Refusal("map", place, *reason),)) from error

    def _plain_part(self, nodes: frozenset[int]) -> PlainPart:
        results = {self.plain[i].number: i for i in nodes}
        first = self.plain[min(nodes)]
        outputs = tuple(results.get(n, -1) for n in range(max(results) + 1))
        return PlainPart(first.code, first.operands, outputs)

    def _try_join(self, producer: int, consumer: int) -> None:
        if producer in self.plain:
            return
        first, second = self.group[producer], self.group[consumer]
        if first is second:
            return
        both = frozenset(first.nodes | second.nodes)
        if not self._fits(both):
            return
        self._merge(both)

    def _merge(self, nodes: frozenset[int]) -> None:
        """Make one group of some nodes."""
        merged = _Group(set(nodes))
        for i in nodes:
            self.group[i] = merged
        self._reach(merged)

    def _fits(self, nodes: frozenset[int]) -> bool:
        if self._is_cyclic(nodes) or len(self.outputs(nodes)) > MOST_OUTPUTS:
            return False
        if self.joins(nodes) or not self._is_known(nodes):
            return False
        try:
            part = self.part(nodes)
        except UnfitError:
            return False
        if self.convolves(nodes) and (part.is_turned or len(part.outputs) > 1):
            return False
        has_product = any(is_product(self.nodes[i]) for i in nodes)
        is_small = len(part.operands) <= MOST_OF_MAPS
        return has_product or (is_small and not part.crosses)

    def _is_known(self, nodes: frozenset[int]) -> bool:
        """Whether the search is good at such a graph."""
        products = [i for i in sorted(nodes) if is_product(self.nodes[i])]
        if not products:
            return self._are_rows(nodes)
        last = products[-1]
        between: frozenset[int] = frozenset()
        if len(products) == 2:
            pair = self._between(last)
            if pair is not None and pair[0] == products[0]:
                between = pair[1]
            elif not self._are_transforms(*products):
                return False
        if len(products) > 2:
            return False
        after = nodes - {*products} - between
        return all(
            self.nodes[i].reduction == MAP and self._depends(i, last) for i in after
        )

    def _are_transforms(self, first: int, last: int) -> bool:
        """Whether a product reads another, and both are short ones of a constant
        matrix: along each axis of a tile. Tiles then stay in the cache."""
        return first in self.reads[last] and all(map(self._is_transform, (first, last)))

    def _is_transform(self, node: int) -> bool:
        product, every = self.nodes[node], self.tensors.all
        roots = map(self.tensors.root, product.tensors)
        matrix = every[min(roots, key=lambda root: math.prod(every[root].shape))]
        is_constant = isinstance(matrix, Source) and matrix.argument < 0
        return is_constant and is_short(self.tensors, product)

    def _depends(self, node: int, on: int) -> bool:
        """Whether a map has every element of a product, and reads it."""
        size = math.prod(self.nodes[node].shape) == math.prod(self.nodes[on].shape)
        return size and on in self._below(node, on)

    def _below(self, node: int, first: int) -> set[int]:
        """The nodes from a number on that a node depends on."""
        inputs: set[int] = set()
        stack = [node]
        while stack:
            for read in self.reads[stack.pop()]:
                if read >= first and read not in inputs:
                    inputs.add(read)
                    stack.append(read)
        return inputs

    def _are_rows(self, nodes: frozenset[int]) -> bool:
        """Whether every reduction takes the same dimensions of the same rows."""
        reducing = [self.nodes[i] for i in nodes if self.nodes[i].reduction != MAP]
        whole = {
            math.prod([n.extents[d] for d in n.unreduced | n.reduced]) for n in reducing
        }
        rows = {math.prod(n.shape) for n in reducing}
        if len(whole) > 1 or len(rows) > 1:
            return False
        most = max(math.prod(self.nodes[i].shape) for i in nodes)
        if not reducing:
            return all(math.prod(self.nodes[i].shape) == most for i in nodes)
        allowed = whole | rows
        return all(math.prod(self.nodes[i].shape) in allowed for i in nodes)

    def outputs(self, nodes: frozenset[int]) -> tuple[int, ...]:
        """The nodes that others read, or that are results."""
        return tuple(
            i for i in sorted(nodes) if i in self.results or self.readers[i] - nodes
        )

    def convolves(self, nodes: frozenset[int]) -> bool:
        """Whether one of some nodes is a convolution with channels last."""
        return any(is_convolution(self.nodes[i]) for i in nodes)

    def _is_cyclic(self, nodes: frozenset[int]) -> bool:
        """Whether something outside lies between two of them, or two groups would wait
        for each other.

        Nodes read those before them: from one behind `farthest` no way leads back.
        """
        farthest = self.farthest[max(nodes)]
        outside: set[int] = set()
        seen: set[int] = set()
        stack = [r for i in nodes for r in self.readers[i] if r not in nodes]
        while stack:
            i = stack.pop()
            if i in seen or i > farthest:
                continue
            seen.add(i)
            outside |= self.group[i].nodes - nodes
            for other in self.group[i].nodes - nodes:
                stack += [r for r in self.readers[other] if r not in seen]
        reads = {r for i in nodes for r in self.reads[i]} - nodes
        return bool(reads & outside) or bool(seen & nodes)

    def part(self, nodes: frozenset[int], copies: frozenset[int] = frozenset()) -> Part:
        """Some nodes as a part, which stores what others read of them.

        Args:
            copies: those that it does not store.

        Raises:
            UnfitError: they are no graph of a Spec.
        """
        outputs = tuple(i for i in self.outputs(nodes) if i not in copies)
        part = part_of_nodes(self.tensors, tuple(sorted(nodes)), outputs)
        # Bytes are multiplied in fours along the channels, and lie one by one.
        is_laid_out = not part.is_turned and any(
            self.nodes[i].dtype.is_float and is_convolution(self.nodes[i])
            for i in nodes
        )
        return dataclasses.replace(part, is_laid_out=is_laid_out)

    def _attention(self, last: int) -> None:
        """Make one group of a product, what is computed of its rows, and the product
        that these are summed in."""
        pair = self._between(last)
        if pair is None:
            return
        first, between = pair
        nodes = frozenset({first, *between, last})
        if any(len(self.group[i].nodes) > 1 for i in nodes):
            return
        if self._is_cyclic(nodes) or self.joins(nodes):
            return
        if any(
            i != last and self.nodes[i].reduction == MAP for i in self.outputs(nodes)
        ):
            return
        try:
            self.part(nodes)
        except UnfitError:
            return
        self._merge(nodes)

    def _between(self, last: int) -> tuple[int, frozenset[int]] | None:
        """An earlier product, and the nodes between it and a later one: maps, at least
        one reduction along what the later product sums, and others of the same rows."""
        if not is_product(self.nodes[last]):
            return None
        for factor in self.reads[last]:
            inner, products = self._backwards(factor)
            reductions = [i for i in inner if self.nodes[i].reduction != MAP]
            if len(products) != 1 or not reductions:
                continue
            beside = {
                user
                for i in inner
                for user in self.readers[i] & self.nodes.keys()
                if self.nodes[user].reduction != MAP
                and user not in inner
                and not is_product(self.nodes[user])
            }
            return next(iter(products)), frozenset(inner | beside)
        return None

    def _backwards(self, start: int) -> tuple[set[int], set[int]]:
        """The nodes that a node depends on, back to products, and these products."""
        inner: set[int] = set()
        products: set[int] = set()
        stack = [start]
        while stack:
            i = stack.pop()
            if i in self.plain:
                continue
            if is_product(self.nodes[i]):
                products.add(i)
            elif i not in inner:
                inner.add(i)
                stack += self.reads[i]
        return inner, products

    def _ordered(self, groups: list[set[int]]) -> list[set[int]]:
        """Each group after those that it reads."""
        place = {i: number for number, g in enumerate(groups) for i in g}
        waits = [
            {place[r] for i in g for r in self.reads[i]} - {place[min(g)]}
            for g in groups
        ]
        readers: list[list[int]] = [[] for _ in groups]
        for number, others in enumerate(waits):
            for other in others:
                readers[other].append(number)
        left = list(map(len, waits))
        ready = [(min(g), n) for n, g in enumerate(groups) if not left[n]]
        heapq.heapify(ready)
        ordered = []
        while ready:
            _, number = heapq.heappop(ready)
            ordered.append(groups[number])
            for reader in readers[number]:
                left[reader] -= 1
                if not left[reader]:
                    heapq.heappush(ready, (min(groups[reader]), reader))
        assert len(ordered) == len(groups), "groups wait for each other"
        return ordered


def split(tensors: Tensors, part: Part) -> tuple[Part, ...]:
    """A part as several: products by themselves, maps and reductions one by one."""
    grouping = Grouping(tensors)
    return tuple(grouping.part(frozenset({node})) for node in part.nodes)
