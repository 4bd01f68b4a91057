"""Lookups at places outside of a tensor, where eager raises an error.

Machine code takes the nearest place there. Before each call the places of a group's
lookups are therefore compared with the sizes; where one is outside, eager runs.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterator
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

aten = torch.ops.aten


@dataclasses.dataclass(frozen=True)
class Lookup:
    """Places that an op looks up, and those that are within."""

    places: Node
    least: int
    end: int
    ignored: int | None = None
    """A place that is not looked up."""

    def is_outside(self, places: Any) -> bool:
        """Whether one of some places is outside."""
        if self.ignored is not None:
            places = places[places != self.ignored]
        if not places.numel():
            return False
        least, most = places.aminmax()
        return bool(least < self.least or most >= self.end)


def _shape(node: Any) -> Any:
    return node.meta["val"].shape


def _along(node: Node) -> Iterator[Lookup]:
    table, dim, places = node.args[:3]
    assert isinstance(dim, int)
    assert isinstance(places, Node)
    yield Lookup(places, 0, _shape(table)[dim] if _shape(table) else 1)


def _rows(node: Node) -> Iterator[Lookup]:
    table, places = node.args[:2]
    assert isinstance(places, Node)
    yield Lookup(places, 0, _shape(table)[0])


def _indices(node: Node) -> Iterator[Lookup]:
    table, indices = node.args
    assert isinstance(indices, list | tuple)
    for size, places in zip(_shape(table), indices, strict=False):
        if isinstance(places, Node):
            yield Lookup(places, -size, size)


def _classes(node: Node) -> Iterator[Lookup]:
    scores, places, _, _, ignored = node.args
    assert isinstance(places, Node)
    assert isinstance(ignored, int)
    yield Lookup(places, 0, _shape(scores)[-1], ignored)


_LOOKUPS: dict[Any, Callable[[Node], Iterator[Lookup]]] = {
    aten.embedding.default: _rows,
    aten.gather.default: _along,
    aten.index.Tensor: _indices,
    aten.index_select.default: _along,
    aten.nll_loss_forward.default: _classes,
}


def lookups_of(node: Node) -> tuple[Lookup, ...]:
    """Lookups by index that an op does, if any."""
    find = _LOOKUPS.get(node.target)
    return () if find is None else tuple(find(node))


def is_of_floats(places: Node, known: Collection[Any]) -> bool:
    """Whether known ops compute places of floats: a check would compute these twice."""
    rest, seen = [places], {places}
    while rest:
        node = rest.pop()
        if node.target not in known:
            continue
        for source in node.all_input_nodes:
            value = source.meta.get("val")
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                return True
            if source not in seen:
                seen.add(source)
                rest.append(source)
    return False


def check_of(graph: GraphModule) -> Callable[..., bool] | None:
    """A function of a graph's tensors: whether a lookup is outside; None where there
    are no lookups."""
    lookups = list(
        dict.fromkeys(each for node in graph.graph.nodes for each in lookups_of(node))
    )
    if not lookups:
        return None
    made = Graph()
    copies: dict[Node, Node] = {}
    needed = _needed([lookup.places for lookup in lookups])
    for node in graph.graph.nodes:
        if node.op == "placeholder" or node in needed:
            copies[node] = made.node_copy(node, copies.__getitem__)
    made.output(tuple(copies[lookup.places] for lookup in lookups))
    places_of = GraphModule(graph, made)

    def is_outside(*tensors: Any) -> bool:
        pairs = zip(lookups, places_of(*tensors), strict=True)
        return any(lookup.is_outside(places) for lookup, places in pairs)

    return is_outside


def _needed(nodes: list[Node]) -> set[Node]:
    """Some nodes, and those that they depend on."""
    needed: set[Node] = set()
    rest = [*nodes]
    while rest:
        node = rest.pop()
        if node not in needed:
            needed.add(node)
            rest += node.all_input_nodes
    return needed


def checked(
    run: Callable[..., Any], graph: GraphModule, eager: Callable[..., Any]
) -> Callable[..., Any]:
    """A function of a graph's tensors that leaves places outside to eager's error."""
    is_outside = check_of(graph)
    if is_outside is None:
        return run

    def call(*tensors: Any) -> Any:
        return (eager if is_outside(*tensors) else run)(*tensors)

    return call
