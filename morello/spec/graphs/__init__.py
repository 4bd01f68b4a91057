"""Graphs of reductions and maps: what a `Compose` computes."""

from morello.spec.graphs.graph import Graph, Node, Output, Part, canonical, part_of
from morello.spec.graphs.text import parse_graph
from morello.spec.text.graphs import print_graph

__all__ = [
    "Graph", "Node", "Output", "Part", "canonical", "parse_graph", "part_of",
    "print_graph",
]  # fmt: skip
