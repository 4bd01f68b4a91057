"""Groups of four places of an image, as products of bytes take them: `Quads`.

An instruction multiplies four bytes of an image with four of a filter, and adds them
up. Neighbours along the taps are put side by side, for each channel, once for all rows
and taps that read them: of three taps, four places are those of two rows. Where a row
does not begin with the first place of a group, its filter begins later in it, and has
zeros elsewhere.
"""

import dataclasses
from functools import lru_cache

from morello.kernels.graph.shape import factors_of, rows_of, step_of
from morello.kernels.predicates import QUAD
from morello.lazy import cached_property
from morello.machine.isa import Isa
from morello.spec.graphs.expression import Reference
from morello.spec.graphs.graph import Graph
from morello.spec.graphs.passes import one_pass
from morello.spec.index_map import ONE
from morello.spec.tensors.layout import ceil_div

LANE = 16
"""Bytes that shuffles put side by side: those of a vector of 128 bits."""


def blocks_of(isa: Isa, channels: int) -> tuple[tuple[int, int], ...]:
    """The channels of whole vectors of bytes, if there are any, and those that are
    left, each with the bytes of the vectors that they are in."""
    width = isa.vector_bytes
    whole = channels // width * width
    blocks = ((whole, width),) if whole else ()
    rest = channels - whole
    if not rest:
        return blocks
    while width >= 2 * max(rest, LANE):
        width //= 2
    return (*blocks, (rest, width))


@dataclasses.dataclass(frozen=True)
class Taps:
    """A graph whose one sum has the products of an image and a filter, channel by
    channel, under the taps of the filter."""

    total: int
    """The sum."""
    image: int
    filter: int
    axis: int
    """The axis of the image along which rows are computed side by side."""
    along: int
    """The dimension along which output rows are computed side by side."""
    last: int
    """The dimension of the taps along the same axis."""
    outer: tuple[int, ...]
    """The dimensions of the taps other than `last`."""
    step: int
    """Places from a row to the next."""
    spread: int
    """Places from a tap to the next."""


@lru_cache(maxsize=4096)
def taps_of_bytes(graph: Graph, inner: int) -> Taps | None:
    """How a filter goes over an image channel by channel; None where none does.

    Args:
        inner: the dimension of channels.
    """
    plan, rows = one_pass(graph), rows_of(graph, inner)
    sums = [v for v in graph.node_values if graph.node(v).reduced]
    if plan is None or len(sums) != 1 or inner in plan.reduced or not rows:
        return None
    (total,) = sums
    match factors_of(graph, total):
        case (Reference(a), Reference(b)) if not graph.is_node(a) | graph.is_node(b):
            factors = a, b
        case _:
            return None
    along, last = rows[-1], max(plan.reduced)
    windows = [
        (value, place)
        for value in factors
        for place, axis in enumerate(graph.axes(value))
        if {*axis.dims} == {along, last} and not axis.is_divided
    ]
    if len(windows) != 1:
        return None
    ((image, axis),) = windows
    (filters,) = {*factors} - {image} or {image}
    plain = all(a.is_plain or a == ONE for a in graph.axes(filters))
    dims = graph.dims_of(filters)
    others = {*range(len(graph.inputs))} - {*factors}
    if (
        not plain
        or not {inner, last} <= dims <= plan.reduced | {inner}
        or any(graph.dims_of(v) & plan.reduced for v in others)
        or inner not in graph.dims_of(image)
        or any(step_of(graph, v, inner) != 1 for v in factors)
        or any(a.halves or a.is_divided for v in factors for a in graph.axes(v))
    ):
        return None
    steps = graph.axes(image)[axis].steps
    outer = tuple(sorted(plan.reduced - {last}))
    return Taps(
        total, image, filters, axis, along, last, outer, steps[along], steps[last]
    )


@dataclasses.dataclass(frozen=True)
class Quads:
    """The groups of places that rows side by side read under some taps."""

    rows: int
    taps: int
    step: int
    spread: int

    @property
    def count(self) -> int:
        """Groups of each row."""
        return int(ceil_div(self.taps, QUAD))

    def shift(self, row: int) -> int:
        """The place of a row's first tap in its first group."""
        return self.step * row // self.spread % self._shifts

    @property
    def shifts(self) -> tuple[int, ...]:
        """All that rows have."""
        return tuple(sorted({self.shift(row) for row in range(self.rows)}))

    @property
    def _shifts(self) -> int:
        """The places that the first tap may have."""
        return QUAD * self.count - self.taps + 1

    def places(self, row: int, group: int) -> tuple[int, ...]:
        """The places of a group of a row, counted from the first of the first row."""
        unit, rest = divmod(self.step * row, self.spread)
        first = unit - self.shift(row) + QUAD * group
        return tuple(rest + self.spread * (first + i) for i in range(QUAD))

    @cached_property
    def read(self) -> frozenset[int]:
        """The places under a tap of a row."""
        rows, taps = range(self.rows), range(self.taps)
        return frozenset(self.step * r + self.spread * t for r in rows for t in taps)

    @cached_property
    def order(self) -> tuple[tuple[int, int], ...]:
        """Rows and groups, by the places of the groups."""
        both = [(r, g) for r in range(self.rows) for g in range(self.count)]
        return tuple(sorted(both, key=lambda one: self.places(*one)))

    @cached_property
    def interleaved(self) -> tuple[int, int]:
        """The pairs of places, and the groups, that are put side by side."""
        groups = {self.places(*one) for one in self.order}
        pairs = {pair for g in groups for pair in (g[:2], g[2:])}
        return len([p for p in pairs if self.read & {*p}]), len(groups)


@lru_cache(maxsize=4096)
def quads_of(rows: int, taps: int, step: int, spread: int) -> Quads:
    """The groups of so many rows and taps."""
    return Quads(rows, taps, step, spread)
