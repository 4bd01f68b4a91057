"""A listing of what functions of `morello.spec.graphs` give for some graphs.

Run it as ``python -m tests.graphs.listing`` to write the list anew.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from morello.spec import Limits, parse_spec
from morello.spec.graphs.blocks import block_of, in_one_block
from morello.spec.graphs.borders import border, padded
from morello.spec.graphs.collapsing import collapsed, come_together, dropped
from morello.spec.graphs.convolution import (
    few_sizes,
    products_inside,
    squeezed,
    without_padding,
)
from morello.spec.graphs.graph import Graph
from morello.spec.graphs.loops import accumulating, can_rescale, loops
from morello.spec.graphs.merging import merged, taps
from morello.spec.graphs.passes import one_pass
from morello.spec.graphs.products import copied, normal, product
from morello.spec.graphs.rescale import settled
from morello.spec.graphs.scaled import scaled_product
from morello.spec.graphs.text import print_graph
from morello.spec.graphs.unfolding import unfolded, windows

FILE = Path(__file__).with_suffix(".txt")

SPECS = (
    "softmax:5x9:f32", "softmax_max_and_sum:5x9:f32", "layer_norm:5x9:f32",
    "gelu_matmul:5x6x7:f32", "chain:5x7x6x4:f32", "attention:3x5x9x4x6:f32:causal=true",
    "conv:2x3x6x7x4x3x2:f32", "conv:1x3x9x8x4x3x3:f32:pad=2:stride=2",
    "conv:1x5x6x7x5x3x3:f32:groups=5:pad=1", "compose:6x9:f32:graph=y[n,m]=exp(x[m,n])",
    "compose:6x4x8:f32:graph=t[m,n]=sum(a[m,k]*b[k,n]);y[m,n]=t+c[n]",
    "compose:6x4x64:f32,f32,u8,f32:graph=y[m,n]=sum(a[m,k]*(s[k//32,n]*(q[k/2,n]-8)))",
)  # fmt: skip

OF_GRAPHS: tuple[Callable[[Graph], Any], ...] = (
    squeezed,
    products_inside,
    without_padding,
    accumulating,
    taps,
    one_pass,
    normal,
    copied,
    scaled_product,
    windows,
)
OF_VALUES: tuple[Callable[[Graph, int], Any], ...] = (product, padded, can_rescale)
OF_DIMS: tuple[Callable[[Graph, int], Any], ...] = (
    block_of,
    border,
    dropped,
    few_sizes,
    loops,
)


def said(value: Any) -> str:
    """A value in a few words: graphs as their text."""
    match value:
        case Graph():
            return print_graph(value)
        case tuple():
            return f"({', '.join(map(said, value))})"
        case frozenset():
            return str(sorted(value))
        case _ if dataclasses.is_dataclass(value) and type(value).__str__ is (
            object.__str__
        ):
            fields = [getattr(value, f.name) for f in dataclasses.fields(value)]
            return f"{type(value).__name__}({', '.join(map(said, fields))})"
    return str(value)


def facts(graph: Graph) -> Iterator[tuple[str, Any]]:
    """The results of functions for a graph, its values and its dimensions."""
    for of_graph in OF_GRAPHS:
        yield of_graph.__name__, of_graph(graph)
    for of_value, value in itertools.product(OF_VALUES, graph.node_values):
        yield f"{of_value.__name__} {value}", of_value(graph, value)
    for of_dim, dim in itertools.product(OF_DIMS, range(graph.rank)):
        yield f"{of_dim.__name__} {dim}", of_dim(graph, dim)
    for dim in range(graph.rank):
        if block_of(graph, dim):
            yield f"in_one_block {dim}", in_one_block(graph, dim)
    for outer, inner in itertools.permutations(range(graph.rank), 2):
        if come_together(graph, outer, inner):
            yield f"collapsed {outer} {inner}", collapsed(graph, outer, inner)
    again = accumulating(graph)
    for value in graph.node_values if again else ():
        yield f"settled {value}", settled(again, value)
    pair, seen = taps(graph), windows(graph)
    yield "merged", pair and merged(graph, pair)
    yield "unfolded", seen and unfolded(graph, seen)


def listing() -> str:
    """The list; what is not, is None or is the graph itself is left out."""
    lines = []
    for text in SPECS:
        graph = parse_spec(text, Limits.of(vrf=16, l1=512, l2=16384)).kind.as_graph
        assert graph is not None
        lines.append(f"# {print_graph(graph)}")
        lines += [f"{what}: {said(v)}" for what, v in facts(graph) if v and v != graph]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(listing())
