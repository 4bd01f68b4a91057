"""Features of a program for the learned model: `features_of`.

A program is a tree of decisions; each is a node with the number of things that it
counts, of every class that the cost model knows, and with how often it runs. The cost
model multiplies these counts with prices and takes maxima. Here they stay apart: in
parts of what all of them would cost one after another. Besides there are the parts of
each kernel and of each action, what the copies of the program's class are, and how the
node looks in which most of the time is spent.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from morello.actions.select import Select
from morello.learned.ledger import Decisions, Group, Vector, parts_by_name
from morello.learned.priced import Priced
from morello.machine.operand_context import row_bytes
from morello.search import Impl
from morello.search.queries.program_class import ProgramClass, class_of
from morello.spec import Spec
from morello.spec.graphs.cuts import cuts
from morello.spec.tensors.layout import LINE_BYTES

Features = dict[str, float]
"""Numbers by name; what has no name is 0."""

_PAGE = 4096
"""Bytes: rows that are a multiple of so much apart fall into one set of L1."""

OPERANDS = 4
"""Operands of a goal, or of a decision, that are told apart."""

_LANES = 8
"""Elements of a vector: what of a size does not fill one is a remainder."""

_HEAVIEST = ("kernel", "second kernel")


def features_of(priced: Priced) -> list[Features]:
    """The features of programs of one goal."""
    paid, node_costs, costs = priced.paid, priced.node_costs, priced.costs
    spent = paid.runs @ priced.spent
    serial = np.maximum(spent.sum(axis=1), 1.0)
    common = dict(_goal_features(priced.goal))
    rows = []
    for place, impl in enumerate(priced.impls):
        one: Features = dict(common)
        one["cost"] = math.log2(costs[place])
        one["excess"] = math.log2(costs[place] / costs[0])
        one["overlap"] = costs[place] / serial[place]
        for name, part in parts_by_name(spent[place] / serial[place]).items():
            one[f"part {name}"] = part
        one.update(_parts(impl, paid, paid.runs[place], node_costs, costs[place]))
        one.update(_class_features(class_of(impl, priced.target)))
        rows.append(one)
    return rows


def _goal_features(goal: Spec) -> Iterator[tuple[str, float]]:
    """Compute the features that all programs of a goal have in common."""
    sizes = [
        math.prod(goal.physical_shape(i)) * tensor.dtype.itemsize
        for i, tensor in enumerate(goal.tensors)
    ]
    yield "goal bytes", math.log2(max(1, sum(sizes)))
    yield "goal largest", math.log2(max(1, *sizes))
    yield "goal reuse", math.log2(max(1, goal.flops) / max(1, sum(sizes)))
    for place, size in enumerate(sorted(goal.sizes, reverse=True)[:4]):
        yield f"goal size {place}", math.log2(max(1, size))
    for place, size in enumerate(sizes[:OPERANDS]):
        yield f"goal bytes {place}", math.log2(max(1, size))
        row = row_bytes(goal, place)
        yield f"goal aliased {place}", _shared_sets(row)
        yield f"goal aligned {place}", math.log2(math.gcd(row, LINE_BYTES) or 1)


def _shared_sets(row: int) -> float:
    """How few sets of L1 rows fall into that are so many bytes apart, as a logarithm:
    0 for all sets, 6 for one."""
    return math.log2(math.gcd(row, _PAGE) / LINE_BYTES) if row >= LINE_BYTES else 0.0


def _parts(
    impl: Impl, paid: Decisions, runs: Vector, decision_costs: Vector, cost: float
) -> Iterator[tuple[str, float]]:
    """The parts of kernels and actions, and the two kernels that most time goes to."""
    parts: dict[str, float] = {}
    kernels: list[tuple[float, Group, int]] = []
    nodes = 0
    for group in paid.groups:
        spent = decision_costs[group.places] * runs[group.places]
        nodes += int(np.count_nonzero(runs[group.places]))
        total = float(spent.sum())
        if not total:
            continue
        action = group.action
        name = action.kernel if isinstance(action, Select) else action.name
        parts[name] = parts.get(name, 0.0) + total / cost
        if isinstance(action, Select):
            place = int(spent.argmax())
            kernels.append((float(spent[place]), group, place))
    for name, part in parts.items():
        yield f"part of {name}", part
    yield "nodes", math.log2(max(1, nodes))
    kernels.sort(key=lambda one: -one[0])
    for name, (most, group, place) in zip(_HEAVIEST, kernels, strict=False):
        yield f"{name} part", most / cost
        times = float(runs[group.places[place]])
        yield f"{name} runs", math.log2(max(1.0, times))
        yield (
            f"{name} cost",
            math.log2(max(1.0, float(decision_costs[group.places[place]]))),
        )
        for feature, value in node_features(impl.spec, group, place):
            yield f"{name} {feature}", value


def node_features(goal: Spec, group: Group, place: int) -> Iterator[tuple[str, float]]:
    """How large a run of a decision is, and how its operands lie.

    What no count shows: rows that meet in few sets of L1 and drive each other out,
    pages that a run touches, and vectors that cross lines.
    """
    key = group.frame.key
    sizes = tuple(int(size[place]) for size in group.frame.sizes)
    for dim, extent in enumerate(sizes[:5]):
        yield f"size {dim}", math.log2(max(1, extent))
        yield f"rest {dim}", float(extent % _LANES)
    rows_of = {
        operand.name: row_bytes(goal, index)
        for index, operand in enumerate(goal.kind.operands)
    }
    # A product within a graph has names of its own: then the worst is thought of.
    unnamed = max(rows_of.values(), key=_shared_sets)
    for index, tensor in enumerate(key.tensors[:OPERANDS]):
        operand = key.kind.operands[index]
        shape = operand.sizes(sizes)
        yield f"level {index}", float(tensor.level.distance)
        yield f"packed {index}", float(tensor.layout.is_packed)
        yield f"gapless {index}", float(tensor.contiguous)
        yield f"bytes {index}", math.log2(LINE_BYTES * max(1, int(tensor.lines(shape))))
        row = 0 if tensor.contiguous else rows_of.get(operand.name, unnamed)
        if row:
            runs = max(1, int(tensor.runs(shape)))
            meeting = runs * 2 ** _shared_sets(row) * LINE_BYTES / _PAGE
            yield f"rows that meet {index}", math.log2(max(1.0, meeting))
            yield f"pages {index}", math.log2(max(1.0, runs * min(1.0, row / _PAGE)))
            yield f"aligned {index}", math.log2(math.gcd(row, LINE_BYTES))


_COPY = re.compile(r"(?P<operand>\w+)(?P<form>\[[^\]]*\])?@(?P<level>\w+)")


def _class_features(features: ProgramClass) -> Iterator[tuple[str, float]]:
    """How many copies there are of each form in each memory, and what else a class
    has."""
    counts: Counter[str] = Counter()
    for feature in features:
        copy = _COPY.match(feature)
        if copy is None:
            counts[f"has {feature.partition(' ')[0]}"] += 1
            continue
        if copy["operand"] == "temporary":
            counts[f"{feature}"] += 1
            continue
        form = copy["form"] or ""
        kind = "packed" if "p" in form else "turned" if form else "plain"
        counts[f"copy {kind}@{copy['level']}"] += 1
        counts[f"copy of {copy['operand']}"] += 1
        panel = re.search(r"p(\d+)", form)
        if panel:
            counts["panel"] = max(counts["panel"], int(panel[1]))
    yield from ((name, float(count)) for name, count in counts.items())


def matrix(feature_rows: Sequence[Mapping[str, float]], names: Sequence[str]) -> Vector:
    """Features as rows, in the order of some names."""
    rows = [[one.get(name, 0.0) for name in names] for one in feature_rows]
    return np.asarray(rows, np.float64).reshape(len(feature_rows), len(names))


def is_fused(impl: Impl) -> bool | None:
    """Whether the parts of a graph take turns, tile by tile or in one pass; False where
    the first is done as a whole before the next begins; None for what has no parts."""
    graph = impl.spec.kind.as_graph
    if graph is None or not cuts(graph):
        return None
    for node in impl.walk():
        if node.action.name in ("cut", "cut_in_place", "online"):
            # Without loops around it: what drops or merges dimensions has all elements.
            return math.prod(node.spec.sizes) < math.prod(impl.spec.sizes)
    return True
