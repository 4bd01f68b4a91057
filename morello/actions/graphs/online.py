"""Online: a running maximum is settled for a tile, and what is relative to it rescaled.

Before, with a maximum m to which sums are relative, all of which accumulate::

    m = max(m, s);  l += sum(exp(s - m))

After ``Online("v0")``, where m is the node v0::

    old = m                       # save
    m = max(m, s)                 # settle
    l = l * exp(old - m)          # rescale
    l += sum(exp(s - m))          # rest, for which m is an input

Each sum whose terms scale by exp(-w·δ) when the maximum grows by δ is repaired so
(`morello/spec/graphs/loops.py`). Where all that was seen is -inf, the maximum counts as
the lowest finite number, so that factors are 0 or 1 and never NaN.
"""

import dataclasses
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar

from morello.actions.base import Action, Axes, Child, Expansion, near_form
from morello.actions.copies.move import Move
from morello.actions.graphs.cut import Cut
from morello.actions.graphs.parts import PartKey, operand_forms, part_key
from morello.machine import Target
from morello.spec import Dtype, Layout, Memory, Spec, SpecKey, TensorSpec
from morello.spec import Move as MoveKind
from morello.spec.frame import Frame
from morello.spec.graphs.rescale import Settled, settled
from morello.spec.text.graphs import value_name


@dataclasses.dataclass(frozen=True)
class Settling:
    """The parts of an `Online`."""

    maximum: int
    """The value of the graph."""
    old: TensorSpec
    """The form of the buffer that keeps what the maximum was."""
    save: SpecKey
    settle: PartKey
    rescale: PartKey
    rest: PartKey


OLD = -1
"""The value that the buffer is, beside those of the graph."""


@dataclasses.dataclass(frozen=True, order=True)
class Online(Action):
    """The maximum ``value`` of a tile first; then all else, relative to it."""

    name: ClassVar[str] = "online"
    takes_ranges: ClassVar[bool] = True
    cuts_graphs: ClassVar[bool] = True
    value: str
    """The name of the node."""

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Holes ``save``, ``settle``, ``rescale`` and ``rest``; no cost of its own."""
        settling = self.settling(frame.key)
        if isinstance(settling, str):
            return Expansion.refused(settling)
        kind = frame.key.kind
        operand = kind.operands[kind.values.index(settling.maximum)]
        copied = Frame(settling.save, operand.sizes(frame.sizes), frame.limits)
        children = (
            Child("save", copied, 1, operand.dims),
            settling.settle.child("settle", frame, frame.limits),
            settling.rescale.child("rescale", frame, frame.limits),
            settling.rest.child("rest", frame, frame.limits),
        )
        return Expansion((), 0, children)

    def is_unbounded(self, spec: Spec) -> bool:
        """Whether the maximum has no size without end."""
        settling, values = self.settling(spec.key), spec.kind.values
        return isinstance(settling, Settling) and not (
            spec.open_dims & {*spec.kind.operands[values.index(settling.maximum)].dims}
        )

    def feature(self, key: SpecKey) -> str:
        """Name of the class of programs that use it: ``online`` and the maximum."""
        return f"online {self.value}"

    def settling(self, key: SpecKey) -> Settling | str:
        """Keys of the parts; or a sentence that says why there are none."""
        return _settling(self.value, key)

    @classmethod
    def levels_taken(cls, key: SpecKey, target: Target) -> frozenset[Memory]:
        """The caches that parts may use: they can be cut where the whole cannot."""
        graph = key.kind.as_graph
        if graph is None:
            return frozenset()
        names = (value_name(graph, value) for value in graph.node_values)
        settlings = (cls(name).settling(key) for name in names)
        return frozenset().union(
            *(
                action.levels_taken(part.key, target)
                for parts in settlings
                if isinstance(parts, Settling)
                for part in (parts.settle, parts.rescale, parts.rest)
                for action in (Cut, Move)
            )
        )

    @classmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator[Action]:
        """Every maximum that others are relative to, once the outputs are in a cache:
        in memory there is no tile yet."""
        graph = key.kind.as_graph
        if graph is None:
            return
        if any(key.tensors[out].level.is_main for out in key.kind.written):
            return
        for value in graph.node_values:
            action = cls(value_name(graph, value))
            if not isinstance(action.settling(key), str):
                yield action


@lru_cache(maxsize=65536)
def _settling(name: str, key: SpecKey) -> Settling | str:
    graph = key.kind.as_graph
    if graph is None:
        return f"{key.kind.label} is no graph with a maximum"
    known = {value_name(graph, v): v for v in graph.node_values}
    if name not in known:
        return f"it has no node '{name}'; those are: {', '.join(known)}"
    parts = settled(graph, known[name])
    if parts is None:
        return (
            f"'{name}' is no maximum that is added to, of maps, and to which only sums "
            "are relative that are added to as well"
        )
    return _keys(known[name], parts, key)


def _keys(maximum: int, settled: Settled, key: SpecKey) -> Settling | str:
    tensors = operand_forms(key)
    maximum_form = tensors[maximum]
    row = near_form(Dtype.F32, Layout.row_major(maximum_form.rank))
    tensors[OLD] = dataclasses.replace(row, level=maximum_form.level.backing)
    save = SpecKey(
        MoveKind(maximum_form.rank), (maximum_form, tensors[OLD]), serial=True
    )
    parts = [
        part_key(key.kind, part, tensors, serial=True)
        for part in (settled.settle, settled.rescale, settled.rest)
    ]
    settle, rescale, rest = parts
    if settle is None or rescale is None or rest is None:
        return "no kind takes a part in the forms of its operands"
    return Settling(maximum, tensors[OLD], save, settle, rescale, rest)
