"""Cut in place: a temporary lies where an output will, which maps then make of it.

Before::

    y = exp(x) / sum(exp(x))

After ``CutInPlace("v0,v1")``, where v0 is exp(x) and v1 its sum::

    y = exp(x);  l = sum(y)    # producers
    y = y / l                  # consumers

The buffer of `Cut` takes memory, and of what it holds lines have to come for the output
as well, while nothing is computed. Here they come while the producers compute.
"""

import dataclasses
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar

from morello.actions.base import Action, Axes, Expansion
from morello.actions.graphs.cut import (
    Cutting,
    counts_alike,
    cutting_of,
    form_of_row,
    is_row,
    named,
    rounds,
)
from morello.actions.graphs.parts import operand_forms, with_plain_operands
from morello.cost.of_target import cost_model
from morello.machine import Target
from morello.spec import Spec, SpecKey, TensorSpec
from morello.spec.elements.dtypes import computed_in
from morello.spec.frame import Condition, Frame
from morello.spec.graphs.cuts import Halves, cuts
from morello.spec.graphs.graph import Graph
from morello.spec.mixes import summed_whole
from morello.spec.text.graphs import value_name


@dataclasses.dataclass(frozen=True, order=True)
class CutInPlace(Action):
    """``nodes`` are computed first, the largest into the output; then what is left."""

    name: ClassVar[str] = "cut_in_place"
    takes_ranges: ClassVar[bool] = True
    cuts_graphs: ClassVar[bool] = True
    nodes: str
    """The names of the nodes that are computed first, joined by commas."""

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Holes ``producers`` and ``consumers``; no memory but that of rows."""
        cutting = self.cutting(frame.key)
        if isinstance(cutting, str):
            return Expansion.refused(cutting)
        children = cutting.children(frame, frame.limits)
        index = frame.key.kind.values.index(self.output(frame.key))
        form = frame.key.tensors[index]
        lines = form.lines(frame.operand_sizes(index))
        # In L1 it lies beside what goes by while the producers read.
        fits = (not form.level.is_near) | (2 * lines <= target.l1_lines)
        reason = f"the output takes more than half of the {target.l1_lines} lines of L1"
        cost = cost_model(target).temporary(lines)
        return Expansion((Condition(fits, reason),), cost, children)

    def relevant(self, key: SpecKey, target: Target) -> SpecKey:
        """No operand counts but the output that has the temporary, if that is the
        same."""
        cutting = self.cutting(key)
        if isinstance(cutting, str):
            return key
        plain = with_plain_operands(key, key.kind.values.index(self.output(key)))
        return plain if counts_alike(cutting, self.cutting(plain)) else key

    def child_keys(self, key: SpecKey, target: Target) -> tuple[SpecKey, ...]:
        """The keys of both halves."""
        cutting = self.cutting(key)
        return () if isinstance(cutting, str) else cutting.keys

    def is_unbounded(self, spec: Spec) -> bool:
        """Whether rows beside the temporary have no size without end, and the output is
        not thought to be in L1."""
        graph, cutting = spec.kind.as_graph, self.cutting(spec.key)
        if graph is None or isinstance(cutting, str):
            return False
        place = spec.tensors[spec.kind.values.index(self.output(spec.key))]
        return not place.level.is_near and not any(
            spec.open_dims & graph.dims_of(value) for value in cutting.rows
        )

    def feature(self, key: SpecKey) -> str:
        """The name of the candidate family: a temporary in the buffer of an output."""
        return "temporary in place"

    def cutting(self, key: SpecKey) -> Cutting | str:
        """The halves, or the reason why the action does not apply."""
        return _cutting(self.nodes, key)

    def output(self, key: SpecKey) -> int:
        """The value in whose place the temporary lies.

        Args:
            key: one that can be cut so.
        """
        graph = key.kind.as_graph
        assert graph is not None
        halves = named(graph, self.nodes, "")
        assert not isinstance(halves, str)
        return _output(graph, halves)

    @classmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator[Action]:
        """Cuts of a graph whose temporary fits in the place of the output."""
        if key.kind.as_graph is not None:
            yield from _candidates(key)


@lru_cache(maxsize=65536)
def _candidates(key: SpecKey) -> tuple[CutInPlace, ...]:
    graph = key.kind.as_graph
    assert graph is not None
    actions = []
    for halves in cuts(graph):
        if halves.again:
            continue
        action = CutInPlace(",".join(value_name(graph, v) for v in halves.first))
        if not isinstance(_cutting(action.nodes, key), str):
            actions.append(action)
    return tuple(actions)


def _output(graph: Graph, halves: Halves) -> int:
    """The one output that the consumers write."""
    return next(out.value for out in graph.outputs if out.value not in halves.first)


@lru_cache(maxsize=65536)
def _cutting(nodes: str, key: SpecKey) -> Cutting | str:
    graph = key.kind.as_graph
    if graph is None:
        return f"{key.kind.label} is no graph that could be cut"
    halves = named(graph, nodes, "")
    if isinstance(halves, str):
        return halves
    refusal = _refusal(key, graph, halves) or rounds(key, graph, halves)
    if refusal:
        return refusal
    place, number = operand_forms(key)[_output(graph, halves)], computed_in(key.dtypes)
    forms: tuple[TensorSpec, ...] = tuple(
        form_of_row(graph, value, number) if is_row(graph, halves, value) else place
        for value in halves.temporaries
    )
    serial = key.serial or not place.level.is_main
    cutting = cutting_of(key, graph, halves, forms, serial)
    return cutting or f"no kind takes a temporary in the form {place}"


def _refusal(key: SpecKey, graph: Graph, halves: Halves) -> str:
    """Why no temporary can be where an output will be; empty if one can."""
    large = [v for v in halves.temporaries if not is_row(graph, halves, v)]
    if len(large) != 1:
        return f"{len(large)} temporaries are more than rows: one is to be in place"
    left = halves.consumers.graph
    if any(node.reduced for node in left.nodes):
        return "what is left reduces something: other elements may be read later"
    if len(left.outputs) != 1 or left.outputs[0].accumulates:
        return "what is left has not one output, which it overwrites"
    output = _output(graph, halves)
    name, temporary = (value_name(graph, v) for v in (output, large[0]))
    if graph.axes(output) != graph.axes(large[0]):
        return f"'{name}' has not the dimensions of '{temporary}', in their order"
    form = operand_forms(key)[output]
    whole = large[0] in summed_whole(key.kind, key.dtypes)
    if whole or form.dtype is not computed_in(key.dtypes):
        return f"'{name}' is {form.dtype}: it cannot hold '{temporary}'"
    if form.level.is_registers or form.layout.is_packed:
        return (
            f"'{name}' is packed, or in registers: '{temporary}' cannot be in its place"
        )
    return ""
