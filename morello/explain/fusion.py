"""Report on fusion: where temporaries live, and the cost of a graph node by node.

A cut leaves temporaries between its producers and its consumers. Below a loop they are
tiles, and lie in a cache or in registers: what is never stored as a whole costs no
traffic with memory.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator

from morello.actions.graphs.cut import Cut
from morello.actions.graphs.cut_in_place import CutInPlace
from morello.actions.graphs.parts import part_key
from morello.errors import SearchError
from morello.explain.fold import fold
from morello.explain.model import Explanation, Node
from morello.explain.words import MILLI, Clock, byte_count, sizes
from morello.machine import Target
from morello.search import Impl
from morello.spec import Layout, Memory, Spec, argument_tensor
from morello.spec.graphs.graph import Graph, Output, part_of
from morello.spec.mixes import dtype_between
from morello.spec.text.graphs import value_name

_HEAD = ("node", "value", "tile", "in", "bytes", "runs")


@dataclasses.dataclass(frozen=True)
class Temporary:
    """A value between the producers and the consumers of a cut."""

    node: int
    """The number of the cut."""
    nodes: str
    """The node, or nodes, of the explanation that has the cut: ``0-2``."""
    name: str
    """In the graph that is cut."""
    shape: tuple[int, ...]
    """Shape of the tile that one run makes."""
    level: Memory
    bytes: int
    """Bytes of the tile."""
    runs: int
    """How often a call makes one."""
    place: str = ""
    """The output in whose memory it lies; empty for memory of its own."""

    @property
    def traffic(self) -> int:
        """Bytes that all runs write and read once, as far as these stay out of
        memory."""
        return 0 if self.level.is_main else 2 * self.bytes * self.runs


@dataclasses.dataclass(frozen=True)
class Unfused:
    """The nodes of a graph, each as a kernel of its own."""

    parts: tuple[Spec, ...]
    cost: int
    """Millicycles of all kernels together."""


def temporaries(explanation: Explanation) -> tuple[Temporary, ...]:
    """Every temporary of a program, in the order of its nodes; of equal parts of the
    program those of each."""
    rows: list[Temporary] = []

    def visit(node: Node) -> None:
        folded = fold(node, False)
        inner = folded.node
        if isinstance(inner.impl.action, Cut | CutInPlace):
            cut = inner.impl.action, inner.number, inner.runs
            rows.extend(_of(*cut, inner.impl.spec, folded.numbers, explanation.target))
        for child in inner.children:
            visit(child)

    visit(explanation.root)
    return tuple(rows)


def bytes_held(explanation: Explanation) -> int:
    """The most bytes of temporaries that there are at once, in memory of their own."""
    node_bytes: dict[int, int] = {}
    for one in temporaries(explanation):
        if one.place:
            continue
        node_bytes[one.node] = node_bytes.get(one.node, 0) + one.bytes

    def most(node: Node) -> int:
        below = max(map(most, node.children), default=0)
        return node_bytes.get(node.number, 0) + below

    return most(explanation.root)


def bytes_between(spec: Spec) -> int:
    """The bytes of all values between the nodes of a graph, each as a whole."""
    graph = spec.kind.as_graph
    if graph is None:
        return 0
    outputs = {out.value for out in graph.outputs}
    inner = (value for value in graph.node_values if value not in outputs)
    return sum(_bytes(graph, value, spec) for value in inner)


def _shape(graph: Graph, value: int, spec: Spec) -> tuple[int, ...]:
    return tuple(spec.sizes[d] for d in graph.node(value).axes)


def _bytes(graph: Graph, value: int, spec: Spec) -> int:
    dtype = dtype_between(spec.kind, spec.dtypes, value)
    return math.prod(_shape(graph, value, spec)) * dtype.itemsize


def _of(
    action: Cut | CutInPlace,
    number: int,
    runs: int,
    spec: Spec,
    nodes: str,
    target: Target,
) -> Iterator[Temporary]:
    graph = spec.kind.as_graph
    assert graph is not None
    place = ""
    if isinstance(action, CutInPlace):
        cutting = action.cutting(spec.key)
        place = value_name(graph, action.output(spec.key))
    else:
        cutting = action.cutting(spec.key, target)
    assert not isinstance(cutting, str)  # it was applied
    for value, form in zip(cutting.temporaries, cutting.forms, strict=True):
        shape, count = _shape(graph, value, spec), _bytes(graph, value, spec)
        name = value_name(graph, value)
        at_place = "" if value in cutting.rows else place
        yield Temporary(number, nodes, name, shape, form.level, count, runs, at_place)


def graph_parts(spec: Spec) -> tuple[Spec, ...]:
    """Each node of a graph as a Spec whose operands are whole arrays in memory.

    Values between two nodes are row-major. None for a Spec that is one node.
    """
    graph = spec.kind.as_graph
    if graph is None or len(graph.nodes) < 2:
        return ()
    forms = {
        value: argument_tensor(
            dtype_between(spec.kind, spec.dtypes, value),
            Layout.row_major(len(graph.axes(value))),
        )
        for value in graph.node_values
    }
    forms |= dict(zip(spec.kind.values, spec.tensors, strict=True))
    parts = []
    for value in graph.node_values:
        part = part_of(graph, (value,), [_output(graph, value)])
        key = part_key(spec.kind, part, forms, spec.serial)
        if key is None:
            return ()
        lengths = (1 if dim < 0 else spec.sizes[dim] for dim in key.dims)
        inner = key.key
        parts.append(
            Spec(inner.kind, tuple(lengths), inner.tensors, spec.limits, inner.serial)
        )
    return tuple(parts)


def _output(graph: Graph, value: int) -> Output:
    known = (out for out in graph.outputs if out.value == value)
    return next(known, Output(value))


def unfused(spec: Spec, solve: Callable[[Spec], Impl]) -> Unfused | None:
    """Find the cost of the nodes of a graph run one after another, each with its
    best program.

    Args:
        spec: of the graph.
        solve: gives the best program of a part.

    Returns:
        None for a Spec that is one node, or has one without a program of its own.
    """
    parts = graph_parts(spec)
    try:
        cost = sum(solve(part).cost for part in parts)
    except SearchError:
        return None
    return Unfused(parts, cost) if parts else None


def fusion_text(explanation: Explanation, clock: Clock, apart: Unfused | None) -> str:
    """Both as text; empty for a program without temporaries, if ``apart`` is None."""
    lines = []
    rows = temporaries(explanation)
    if rows:
        lines = [
            "temporaries: what producers leave for consumers, a tile a run",
            *_table(rows),
        ]
        saved = sum(one.traffic for one in rows)
        held = bytes_held(explanation)
        whole = bytes_between(explanation.spec)
        lines += [
            f"  {byte_count(saved)} are written and read near the core, not in memory",
            f"  at most {byte_count(held)} at once; the values between the nodes have "
            f"{byte_count(whole)} as a whole",
        ]
    if apart is not None:
        times = apart.cost / max(explanation.cost, MILLI)
        lines.append(
            f"node by node, each result through memory: {clock.cost(apart.cost)}, "
            f"{times:.2f} times the cost"
        )
    return "\n".join(lines)


def _table(temporaries: tuple[Temporary, ...]) -> Iterator[str]:
    rows = [_HEAD] + [
        (
            one.nodes,
            one.name,
            sizes(one.shape) or "1",
            f"{one.level}{one.place and ' as '}{one.place}",
            byte_count(one.bytes),
            f"{one.runs:,}",
        )
        for one in temporaries
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
    for row in rows:
        cells = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        yield "  " + "  ".join(cells)
