"""Cut: a graph becomes producers of temporaries, then consumers of these.

Before::

    y = gelu(sum(a * b) + c)

After ``Cut("v0", "", "L1", "[0,1]")``::

    t = sum(a * b)      # producers, t in a buffer
    y = gelu(t + c)     # consumers

The buffer is thought to lie in ``level``: what both holes may use of that is less. In
registers (VRF) the consumers work on what a product has left there, before anything is
stored. ``again`` names maps that the consumers compute once more, rather than read.
"""

import dataclasses
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar

from morello.actions.base import Action, Axes, Child, Expansion, near_form
from morello.actions.copies.move import may_enter_registers
from morello.actions.graphs.parts import (
    PartKey,
    operand_forms,
    part_key,
    with_plain_operands,
)
from morello.cost.of_target import cost_model
from morello.lazy import cached_property
from morello.machine import Target
from morello.spec import L1, Dtype, Layout, Limits, Memory, Spec, SpecKey, TensorSpec
from morello.spec.elements.dtypes import computed_in
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.graphs.cuts import Halves, cut, cuts
from morello.spec.graphs.graph import Graph
from morello.spec.mixes import dtype_between
from morello.spec.operand import Operand
from morello.spec.text.graphs import value_name


@dataclasses.dataclass(frozen=True)
class Cutting:
    """A cut of a key: both halves and the temporaries between them."""

    temporaries: tuple[int, ...]
    """Values."""
    forms: tuple[TensorSpec, ...]
    """The form of each."""
    rows: frozenset[int]
    """Temporaries that are but rows beside another one or an operand: they lie where
    that does, and take a line or two, which are not counted."""
    producers: PartKey
    consumers: PartKey

    @cached_property
    def counts(self) -> tuple[object, ...]:
        """All that an action costs, and its holes are, depends on but the keys."""
        dims = self.producers.dims, self.consumers.dims
        return self.temporaries, self.forms, self.rows, dims

    @property
    def keys(self) -> tuple[SpecKey, SpecKey]:
        """Keys of both halves: producers, then consumers."""
        return self.producers.key, self.consumers.key

    def children(self, frame: Frame, limits: Limits) -> tuple[Child, Child]:
        """Both halves as holes."""
        return (
            self.producers.child("producers", frame, limits),
            self.consumers.child("consumers", frame, limits),
        )


def cutting_of(
    key: SpecKey,
    graph: Graph,
    halves: Halves,
    forms: tuple[TensorSpec, ...],
    serial: bool,
) -> Cutting | None:
    """The cut of a key, given the forms of temporaries; None where a half has no kind
    that takes them."""
    tensors = operand_forms(key) | dict(zip(halves.temporaries, forms, strict=True))
    producers, consumers = (
        part_key(key.kind, part, tensors, serial)
        for part in (halves.producers, halves.consumers)
    )
    if producers is None or consumers is None:
        return None
    rows = frozenset(v for v in halves.temporaries if is_row(graph, halves, v))
    return Cutting(halves.temporaries, forms, rows, producers, consumers)


def counts_alike(one: Cutting | str, other: Cutting | str) -> bool:
    """Whether two cuts of keys cost the same, and leave holes of the same sizes."""
    if isinstance(one, str) or isinstance(other, str):
        return False
    return one.counts == other.counts


@dataclasses.dataclass(frozen=True, order=True)
class Cut(Action):
    """``nodes`` are computed first, into buffers at ``level``; then what is left."""

    name: ClassVar[str] = "cut"
    takes_ranges: ClassVar[bool] = True
    cuts_graphs: ClassVar[bool] = True
    turn: ClassVar[int] = 4
    nodes: str
    """The names of the nodes that are computed first, joined by commas."""
    again: str
    """The names of the nodes that are computed again; empty for none."""
    level: Memory
    """The memory of the temporaries."""
    layout: Layout
    """The layout of the temporary of the most dimensions."""

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Holes ``producers`` and ``consumers``; stores of what is left between."""
        cutting = self.cutting(frame.key, target)
        if isinstance(cutting, str):
            return Expansion.refused(cutting)
        conditions = []
        limits = frame.limits
        cost: Ints = 0
        for value, form in zip(cutting.temporaries, cutting.forms, strict=True):
            if value in cutting.rows:
                continue
            sizes = operand_of(_graph(frame.key), value).sizes(frame.sizes)
            amount = form.amount(sizes)
            if not form.level.is_registers:
                cost = cost + cost_model(target).temporary(amount)
            if form.level.is_main:
                continue
            reason = f"a temporary takes more than is free of {form.level}"
            conditions.append(Condition(amount <= limits[form.level], reason))
            limits = target.take(limits, form.level, amount)
        return Expansion(tuple(conditions), cost, cutting.children(frame, limits))

    def relevant(self, key: SpecKey, target: Target) -> SpecKey:
        """The key with plain operands, if the temporaries do not depend on the
        operands' forms."""
        plain = with_plain_operands(key)
        alike = counts_alike(self.cutting(key, target), self.cutting(plain, target))
        return plain if alike else key

    def child_keys(self, key: SpecKey, target: Target) -> tuple[SpecKey, ...]:
        """The keys of both halves."""
        cutting = self.cutting(key, target)
        return () if isinstance(cutting, str) else cutting.keys

    def is_unbounded(self, spec: Spec) -> bool:
        """Whether no temporary has a size without end."""
        graph = spec.kind.as_graph
        if graph is None:
            return False
        halves = named(graph, self.nodes, self.again)
        return isinstance(halves, Halves) and not any(
            spec.open_dims & graph.dims_of(value) for value in halves.temporaries
        )

    def feature(self, key: SpecKey) -> str:
        """The cache of the temporaries, and whether producers are recomputed."""
        return f"temporary@{self.level}{' again' if self.again else ''}"

    def cutting(self, key: SpecKey, target: Target) -> Cutting | str:
        """The halves, or the reason why the action does not apply."""
        return _cutting(self, key, target.lanes(self.level, Dtype.F32))

    @classmethod
    def levels_taken(cls, key: SpecKey, target: Target) -> frozenset[Memory]:
        """The caches that a temporary may be stored in."""
        graph = key.kind.as_graph
        if graph is None or not cuts(graph, _rounded(key)):
            return frozenset()
        farthest = max(tensor.level for tensor in key.tensors)
        return frozenset(c for c in target.caches if c <= farthest)

    @classmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator[Action]:
        """Every cut, with temporaries no farther than the farthest operand."""
        if key.kind.as_graph is not None:
            memories = reversed(target.memories)
            widths = tuple((m, target.lanes(m, Dtype.F32)) for m in memories)
            yield from _candidates(key, widths)


@lru_cache(maxsize=65536)
def _candidates(
    key: SpecKey, widths: tuple[tuple[Memory, int], ...]
) -> tuple[Cut, ...]:
    """Every cut, with temporaries in the memories of ``widths``, each with the elements
    of a row of its registers."""
    graph = _graph(key)
    levels_of_operands = [tensor.level for tensor in key.tensors]
    farthest, nearest = max(levels_of_operands), min(levels_of_operands)
    actions = []
    most = min(farthest, nearest.backing)
    for halves in cuts(graph, _rounded(key)):
        lead = _leading(graph, halves)
        for level, lanes in widths:
            if level > most or (lead is None and level is not L1):
                continue
            action = _at(graph, halves, level)
            cutting = _cutting(action, key, lanes)
            if isinstance(cutting, str):
                continue
            if level.is_registers and not may_enter_registers(cutting.producers.key):
                continue
            actions.append(action)
    return tuple(actions)


@lru_cache(maxsize=65536)
def _at(graph: Graph, halves: Halves, level: Memory) -> Cut:
    """The cut into two halves, with its temporaries in a memory."""
    lead = _leading(graph, halves)
    rank = 1 if lead is None else len(graph.axes(lead))
    nodes, again = (
        ",".join(value_name(graph, v) for v in values)
        for values in (halves.first, halves.again)
    )
    return Cut(nodes, again, level, Layout.row_major(rank))


@lru_cache(maxsize=65536)
def _leading(graph: Graph, halves: Halves) -> int | None:
    """The temporary of the most dimensions, the first of several; None where all of
    them are but rows beside an operand."""
    lead = (v for v in halves.temporaries if not is_row(graph, halves, v))
    return next(lead, None)


@lru_cache(maxsize=65536)
def is_row(graph: Graph, halves: Halves, value: int) -> bool:
    """Whether a temporary lacks a dimension that another one, or an operand, has beside
    all of its own."""
    others = (*range(len(graph.inputs)), *graph.modes, *halves.temporaries)
    return any(graph.dims_of(value) < graph.dims_of(other) for other in others)


@lru_cache(maxsize=65536)
def _cutting(action: Cut, key: SpecKey, lanes: int) -> Cutting | str:
    graph = key.kind.as_graph
    if graph is None:
        return f"{key.kind.label} is no graph that could be cut"
    halves = named(graph, action.nodes, action.again)
    if isinstance(halves, str):
        return halves
    lead = _leading(graph, halves)
    reason = _refusal(action, key, graph, halves, lead) or rounds(key, graph, halves)
    if reason:
        return reason
    forms = tuple(
        _form(action, key, halves, value, lanes) for value in halves.temporaries
    )
    # Rows lie where what they are beside does.
    serial = key.serial or (lead is not None and not action.level.is_main)
    where = f"{action.level} with the layout {action.layout}"
    cutting = cutting_of(key, graph, halves, forms, serial)
    return cutting or f"no kind takes a temporary in {where}"


@lru_cache(maxsize=65536)
def named(graph: Graph, nodes: str, again: str) -> Halves | str:
    """The halves that an action names, or the reason why it does not apply.

    Args:
        graph: to be cut.
        nodes: the names of those that are computed first.
        again: of them those that are computed again.
    """
    known = {value_name(graph, v): v for v in graph.node_values}
    values: list[tuple[int, ...]] = []
    for text in (nodes, again):
        names = [name for name in text.split(",") if name]
        wrong = next((name for name in names if name not in known), None)
        if wrong is not None:
            return f"it has no node '{wrong}'; those are: {', '.join(known)}"
        values.append(tuple(sorted({known[name] for name in names})))
    halves = cut(graph, *values)
    if halves is None:
        return (
            f"after {nodes or 'no node'} it cannot be cut: nodes need what they "
            "read, both halves have an output, and what a product reads is cut off "
            "before it"
        )
    return halves


def _refusal(
    action: Cut, key: SpecKey, graph: Graph, halves: Halves, lead: int | None
) -> str:
    """Why a cut cannot have its level or layout; empty if it can."""
    farthest = max(tensor.level for tensor in key.tensors)
    if action.level > farthest:
        return f"{action.level} is farther than every operand"
    rank = 1 if lead is None else len(graph.axes(lead))
    if action.layout.rank != rank:
        return f"the layout {action.layout} has not {rank} dimensions"
    if action.layout.is_packed:
        return "a temporary is not packed"
    if not action.level.is_registers:
        return ""
    if lead is None or len(halves.temporaries) > 1:
        return "one temporary alone can be in registers, the result of a product"
    parts = halves.producers.graph, halves.consumers.graph
    if len(parts[0].nodes) != 1 or not parts[0].contractions:
        return "only the result of one product can be in registers"
    if any(lead in graph.arguments(v) for v in graph.contractions):
        return "what a product reads cannot be in registers"
    if any(tensor.level.is_registers for tensor in key.tensors):
        return "an operand is in registers already"
    if not action.layout.is_row_major:
        return f"registers hold row-major tiles, not {action.layout}"
    return ""


@lru_cache(maxsize=65536)
def _rounded(key: SpecKey) -> frozenset[int]:
    """The outputs that keep less than f32, which nodes that read them do not."""
    forms = operand_forms(key)
    number = computed_in(key.dtypes)
    return frozenset(v for v in _graph(key).modes if forms[v].dtype is not number)


def rounds(key: SpecKey, graph: Graph, halves: Halves) -> str:
    """Why what is left between the halves is not what nodes read; empty if it is."""
    left = (_rounded(key) & {*halves.first}) - {*halves.again}
    if not left:
        return ""
    rest = {*graph.node_values} - {*halves.first} | {*halves.again}
    for value in sorted(left):
        if any(value in graph.arguments(v) for v in rest):
            name = value_name(graph, value)
            return (
                f"'{name}' is left in {operand_forms(key)[value].dtype}, and is read "
                f"after the cut; name it in 'again', too"
            )
    return ""


def _form(
    action: Cut, key: SpecKey, halves: Halves, value: int, lanes: int
) -> TensorSpec:
    graph, number = _graph(key), dtype_between(key.kind, key.dtypes, value)
    whole = any(tensor.contiguous for tensor in key.tensors)
    lead = _leading(graph, halves)
    if value != lead and is_row(graph, halves, value):
        return form_of_row(graph, value, number)
    if value != lead:
        row_major = Layout.row_major(len(graph.axes(value)))
        level = action.level.backing
        return TensorSpec(number, level, row_major, whole and not level.is_near)
    if action.level.is_registers:
        return TensorSpec(number, action.level, action.layout, False, lanes)
    whole = whole and not action.level.is_near
    return TensorSpec(number, action.level, action.layout, whole)


def form_of_row(graph: Graph, value: int, number: Dtype) -> TensorSpec:
    """The form of a temporary that is but a row beside another one: it is in L1."""
    return near_form(number, Layout.row_major(len(graph.axes(value))))


def _graph(key: SpecKey) -> Graph:
    graph = key.kind.as_graph
    assert graph is not None
    return graph


@lru_cache(maxsize=65536)
def operand_of(graph: Graph, value: int) -> Operand:
    """Operand that an intermediate value becomes when it is stored."""
    name = value_name(graph, value)
    return Operand(name, graph.axes(value), is_read=True, is_written=True)
