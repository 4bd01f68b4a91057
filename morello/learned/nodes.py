"""Programs as the nodes of their trees, for the networks: `nodes_of`.

After Kaufman et al. (arXiv 2008.01040): a node has features of its own, and of where it
stands. Equal decisions of a program are one node, with how often it runs.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from morello.actions.select import Select
from morello.learned.features import OPERANDS, Features, matrix, node_features
from morello.learned.ledger import Decision, Group, Vector, parts_by_name
from morello.learned.priced import Priced
from morello.search import Impl
from morello.spec.tensors.layout import LINE_BYTES

_LEAST = 1e-4
"""The part of a program's cost that a node has, at least."""

_LOOPS = 3
"""Loops around a node whose operands are added up."""

Loops = tuple[tuple[int | None, int], ...]
"""The dimension of each loop around a node, if it has one, and its trips."""


@dataclasses.dataclass(frozen=True)
class Nodes:
    """The nodes of programs of one goal that cost something.

    Args:
        names: of the features.
        rows: nodes x features.
        shares: of the cost of its program that each node has.
        program: that each node belongs to.
        programs: how many there are.
    """

    names: tuple[str, ...]
    rows: Vector
    shares: Vector
    program: npt.NDArray[np.int64]
    programs: int

    def columns(self, names: Sequence[str]) -> Vector:
        """Nodes x some features; 0 for those that no node has."""
        place = {name: index for index, name in enumerate(self.names)}
        columns = np.zeros((len(self.rows), len(names)))
        for column, name in enumerate(names):
            if name in place:
                columns[:, column] = self.rows[:, place[name]]
        return columns


def nodes_of(priced: Priced) -> Nodes:
    """The nodes of programs of one goal."""
    where = priced.places()
    context = priced.target.operand_context
    common = {"far": float(context.far), "near": float(context.near)}
    known: dict[int, Features] = {}
    features, shares, program = [], [], []
    for place, impl in enumerate(priced.impls):
        runs = priced.paid.runs[place]
        parts = runs * priced.node_costs / priced.costs[place]
        around = _surroundings(impl)
        for node in np.flatnonzero(parts >= _LEAST).tolist():
            if node not in known:
                known[node] = dict(_node_only(priced, node, *where[node]))
            above = around[priced.paid.decisions[node]]
            features.append({**common, **known[node], **above})
            features[-1]["runs"] = math.log2(max(1.0, float(runs[node])))
            features[-1]["share"] = float(parts[node])
            shares.append(float(parts[node]))
            program.append(place)
    names = tuple(sorted({name for one in features for name in one}))
    return Nodes(
        names,
        matrix(features, names),
        np.array(shares, np.float64),
        np.array(program, np.int64),
        len(priced.impls),
    )


def _node_only(
    priced: Priced, node: int, group: Group, row: int
) -> Iterator[tuple[str, float]]:
    """Compute a node's own features: its action, counts, sizes and operands."""
    cost = max(1.0, float(priced.node_costs[node]))
    action = group.action
    yield f"is {action.kernel if isinstance(action, Select) else action.name}", 1.0
    yield "own cost", math.log2(cost)
    for name, spent in parts_by_name(priced.spent[node]).items():
        if spent:
            yield f"part {name}", min(spent / cost, 4.0)
    yield from node_features(priced.goal, group, row)


def _surroundings(impl: Impl) -> dict[Decision, Features]:
    """Find the context in which each decision first stands in a program: how deep,
    below which action, and in which loops."""
    contexts: dict[Decision, Features] = {}

    def visit(node: Impl, loops: Loops, depth: int, above: str) -> None:
        key = node.spec, node.action
        if key not in contexts:
            contexts[key] = {
                "depth": float(depth),
                f"below {above}": 1.0,
                "inner loop": math.log2(loops[-1][1]) if loops else 0.0,
                **dict(_loops_and_operands(node, loops)),
            }
        dim = node.action.loop_dim(node.spec.key)
        for branch in node.branches:
            inner = loops
            if branch.impl.spec.kind.dims != node.spec.kind.dims:
                inner = ()  # its dimensions are others
            elif branch.times > 1:
                inner = (*loops, (dim, branch.times))
            visit(branch.impl, inner, depth + 1, node.action.name)

    visit(impl, (), 0, "nothing")
    return contexts


def _loops_and_operands(node: Impl, loops: Loops) -> Iterator[tuple[str, float]]:
    """Compute how the loops around a node reuse its operands, the innermost loop
    first.

    How many runs in a row find an operand where it was, as a logarithm; along or across
    which rows the innermost loop walks; and the bytes that one, two or three loops go
    over, which a cache holds for the next loop, or does not.
    """
    spec = node.spec
    operands = tuple(zip(spec.kind.operands, spec.tensors, strict=True))[:OPERANDS]
    lines = [float(t.lines(o.sizes(spec.sizes))) for o, t in operands]
    for index, (operand, tensor) in enumerate(operands):
        runs = 1
        for dim, times in reversed(loops):
            if dim is None or dim in operand.dims:
                break
            runs *= times
        yield f"reuse {index}", math.log2(runs)
        dim = loops[-1][0] if loops else None
        if dim is not None and dim in operand.dims:
            is_along = operand.axis(dim) == tensor.layout.innermost
            yield f"{'along' if is_along else 'across'} {index}", 1.0
    for depth in range(1, _LOOPS + 1):
        total = 0.0
        for line, (operand, _) in zip(lines, operands, strict=True):
            inner = (times for dim, times in loops[-depth:] if dim in operand.dims)
            total += line * math.prod(inner)
        yield f"bytes in {depth} loops", math.log2(max(1.0, LINE_BYTES * total))
