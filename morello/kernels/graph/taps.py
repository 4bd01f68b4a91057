"""The kernel of filters of bytes that go over an image channel by channel.

`graph_rows` widens each byte, and multiplies it as a float. Here one instruction
multiplies four taps of a channel by four places, which are put side by side beforehand
(`quads.py`): sums of so few products are the same integers. A sum of 0 is +0.
"""

import dataclasses
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from morello.cost.counts import OpCounts, Ops, Phase, add, times
from morello.kernels.emitter import Buffer, Emitter
from morello.kernels.graph.inner import graph_of, graph_seen, inner_of
from morello.kernels.graph.quads import LANE, Taps, quads_of, taps_of_bytes
from morello.kernels.graph.rows import GraphRows, RowCounts
from morello.kernels.graph.shape import Blocking, together_of
from morello.kernels.graph.taps_writer import TapsWriter
from morello.kernels.predicates import QUAD, product
from morello.spec import Dtype, Spec, SpecKey
from morello.spec.elements.dtypes import BYTES, computed_in
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.graphs.blocks import in_one_block
from morello.spec.graphs.passes import one_pass
from morello.spec.tensors.layout import ceil_div


@dataclasses.dataclass(frozen=True, kw_only=True)
class GraphTaps(GraphRows):
    """The graph of a filter of bytes over an image, channel by channel, in one pass."""

    room: int
    """The most bytes of the filter in groups: they stay in L1 beside the image."""

    @property
    def together(self) -> int:
        """Rows side by side, each with the sums of a vector of bytes."""
        return self.sums // QUAD

    @property
    def mixes(self) -> tuple[tuple[Dtype, ...], ...]:
        """Bytes of which one factor at least has a sign."""
        s8, u8 = Dtype.S8, Dtype.U8
        return tuple((*pair, Dtype.F32) for pair in ((u8, s8), (s8, u8), (s8, s8)))

    def accepts(self, key: SpecKey) -> bool:
        """Graphs that `graph_rows` takes, of an image and a filter of bytes."""
        if not super().accepts(key) or computed_in(key.dtypes) is not Dtype.F32:
            return False
        inner = inner_of(key)
        taps = inner is not None and _taps_of(key, inner)
        if not taps:
            return False
        tensors = dict(zip(key.kind.values, key.tensors, strict=True))
        factors = [tensors[value].dtype for value in (taps.image, taps.filter)]
        return (
            all(dtype in BYTES for dtype in factors)
            and any(dtype.is_signed for dtype in factors)
            and not any(t.level.is_registers for t in key.tensors)
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Few taps, whose groups have room in L1."""
        graph, inner = graph_seen(frame.key)
        taps = taps_of_bytes(graph, inner)
        assert taps is not None
        outer = product(tuple(frame.sizes[dim] for dim in taps.outer))
        last = frame.sizes[taps.last]
        few = (last <= self.taps) & (outer <= self.taps)
        counts = RowCounts.of(frame, self)
        groups = TapCounts(**vars(counts)).groups()
        size = ceil_div(frame.sizes[inner], LANE) * LANE
        fits = outer * groups * QUAD * size <= self.room
        return (
            *super().conditions(frame),
            Condition(few, f"takes {self.taps} taps at most along each axis"),
            Condition(
                fits, f"needs {self.room} bytes for the filter in groups: tile channels"
            ),
        )

    def takes_any(self, spec: Spec) -> bool:
        """No size but those of the Spec."""
        return False

    def op_counts(self, frame: Frame) -> OpCounts:
        """The operations of each block, and of the filter in groups."""
        counts = TapCounts(**vars(RowCounts.of(frame, self))).total()
        return self._with_lines(frame, counts)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """The filter in groups; then loops over rows."""
        blocking = Blocking(self.unroll, self.together, self.taps)
        TapsWriter(emitter, spec, operands, blocking).write()


def _taps_of(key: SpecKey, inner: int) -> Taps | None:
    graph = in_one_block(graph_of(key), inner)
    return None if one_pass(graph) is None else taps_of_bytes(graph, inner)


@lru_cache(maxsize=256)
def _tables(
    most_rows: int, most_taps: int, step: int, spread: int
) -> np.ndarray[Any, Any]:
    """For each number of rows and of taps: places, pairs, groups, shifts, and products
    of a row."""
    table = np.zeros((5, most_rows + 1, most_taps + 1), np.int64)
    for rows in range(1, most_rows + 1):
        for taps in range(1, most_taps + 1):
            quads = quads_of(rows, taps, step, spread)
            numbers = len(quads.read), *quads.interleaved, len(quads.shifts)
            table[:, rows, taps] = *numbers, quads.count
    return table


class TapCounts(RowCounts):
    """Operation counts of one run of `GraphTaps`."""

    def groups(self) -> Ints:
        """Groups of the filter at a place of the outer taps, for each channel."""
        taps, rows = self._taps(), self._rows()
        *_, shifts, count = self._of(rows, taps)
        return shifts * count

    def _taps(self) -> Taps:
        taps = taps_of_bytes(*graph_seen(self.frame.key))
        assert taps is not None
        return taps

    def _rows(self) -> Ints:
        """Rows side by side."""
        graph, inner = graph_seen(self.frame.key)
        return together_of(graph, inner, self.frame.sizes, self.together)

    def _of(self, rows: Ints, taps: Taps) -> tuple[Ints, ...]:
        table = _tables(self.together, self.taps, taps.step, taps.spread)
        rows = np.clip(rows, 1, self.together)
        return tuple(table[:, rows, np.clip(self.frame.sizes[taps.last], 1, self.taps)])

    def _side_by_side(self, rows: Ints, again: Ints, row: Ops) -> list[Phase]:
        """The filter in groups, and blocks of rows."""
        taps, sizes = self._taps(), self.frame.sizes
        _, inner = graph_seen(self.frame.key)
        blocks = ceil_div(sizes[inner], QUAD * self.lanes)
        last, along = sizes[taps.last], sizes[taps.along]
        outer = again // np.maximum(last, 1)
        flips = self._flips(taps)
        together = self._rows()
        groups = self.groups()
        filters: Ops = {
            "load": last,
            "shuffle": last + 2 * QUAD * groups,
            "store": QUAD * groups,
            "dot": flips * QUAD * groups,
        }
        phases = [Phase(times(filters, outer * blocks))]
        whole, rest = along // together, along % together
        others = rows // np.maximum(along, 1)
        for count, many in ((together, whole), (rest, (rest > 0) * 1)):
            places, pairs, quads, shifts, each = self._of(count, taps)
            reads: Ops = {
                "load": places + QUAD * shifts * each,
                "shuffle": places + 2 * pairs + QUAD * quads,
                "vector_op": flips * places,
                "dot": QUAD * count * each,
            }
            ends: Ops = {"vector_op": QUAD * (count + flips * outer)}
            ops = add(self._inside(times(reads, outer)), ends)
            phases.append(Phase(times(ops, blocks), times=others * many))
        return phases

    def _flips(self, taps: Taps) -> int:
        """1 where both factors have a sign."""
        key = self.frame.key
        tensors = dict(zip(key.kind.values, key.tensors, strict=True))
        return min(tensors[v].dtype.is_signed for v in (taps.image, taps.filter))

    def _together(self) -> Ints:
        """Rows are always side by side."""
        return 1
