"""The affine cost model: numbers of things times the coefficients of a target.

Loops cost by the trip, whatever they go over. Memory is paid where an operand's tile
comes nearer (`transfer`), by whoever says so, or by a kernel that reads lines where
they lie:

- A **line** from beyond L2 that is used often, as an operand of a large product is, or
  that follows others in a packed panel, arrives while the core computes; one that is
  used once or twice is waited for. A line that is written goes back.
- **Streams.** The hardware follows a few rows at a time. In a tile of more, each row
  begins with a line that nothing prefetched (`stream_start_*`).
- **Conflict misses** (`cache_conflicts.py`): rows a power of two apart fall into the
  same sets of a cache, and push each other out.

A kernel is a sequence of phases; of what overlaps in a phase the slowest counts.
"""

import dataclasses
import functools
from collections.abc import Mapping

import numpy as np

from morello.cost.cache_conflicts import CacheConflicts, is_read_across, is_strip, uses
from morello.cost.counts import Access, Lines, OpCounts, Ops, Phase
from morello.cost.model import CostModel
from morello.machine.costs import Coefficients, OpCosts
from morello.machine.target import Target
from morello.spec import L1, L2, MEM, Memory, SpecKey, TensorSpec
from morello.spec.frame import Frame, Ints
from morello.spec.structure import contractions
from morello.spec.tensors.layout import LINE_BYTES

CROSSING = 2
"""Stores that a store takes besides, which crosses from a line to the next."""

STREAMS = 8
"""Rows that hardware prefetchers follow at a time."""

OVERLAPPED_USES = 16
"""Uses of a line from beyond L2, by other operands' elements, that take as long as it
takes to arrive: computing hides its latency from there on."""

PACKED_USES = 2
"""Uses, likewise, of a line of a packed panel, whose latency the prefetcher hides."""

_BLOCK = 8
"""Rows of out, at most, whose sums a kernel has in registers while it reads rhs."""

_ON_THEIR_WAY = 64
"""Lines of a tile that hardware prefetchers bring before it is used, at most."""

_WAYS = (Access.OVERLAPPED, Access.DEMAND)

_UNITS: Mapping[str, str] = {
    "fma": "multiply",
    "dot": "multiply",
    "dot_bf16": "multiply",
    "tile_dot": "tile",
    "tile_row": "load",
    "tile_config": "tile",
    "multiply_add_int": "multiply",
    "load": "load",
    "masked_load": "load",
    "store": "store",
    "shuffle": "vector",
    "vector_op": "vector",
    "scalar": "scalar",
}
"""The execution unit of each class of instructions."""


@dataclasses.dataclass(frozen=True)
class AffineCostModel(CostModel):
    """The model of one target, in the context of one goal."""

    target: Target

    @property
    def _prices(self) -> Coefficients:
        return self.target.prices

    @property
    def _ops(self) -> OpCosts:
        return self.target.ops

    def loop(self, trips: Ints, remainders: Ints) -> Ints:
        """(trips + 1 + remainders) · loop."""
        return (trips + 1 + remainders) * self._prices.loop

    def parallel(self, trips: Ints, remainders: Ints) -> Ints:
        """`loop`, and a fork."""
        return self.loop(trips, remainders) + self._prices.fork

    def transfer(self, frame: Frame, operand: int, dest: TensorSpec) -> Ints:
        """Lines, streams that start, and lines that conflicts bring again."""
        kind, source = frame.key.kind, frame.key.tensors[operand]
        sizes = frame.operand_sizes(operand)
        passed = (m for m in (MEM, L2) if source.level >= m > dest.level)
        line: Ints = sum(self._line(frame, operand, m, dest) for m in passed)
        conflicts = CacheConflicts(self.target)
        line = line + conflicts.of_tile(frame, operand, dest)
        cost = source.lines(sizes) * line
        goes_on = kind.copies and not _turns(frame.key)
        if goes_on and not conflicts.aliased(frame.key, operand):
            # The next tile goes on in the line that this one ends in. Whether the line
            # is there yet depends on which loop goes over the others first: halves.
            part = source.runs(sizes) * source.run_bytes(sizes) * line // LINE_BYTES
            cost = np.minimum(part + part // 2, (part + cost) // 2)
        elif kind.reductions and contractions(kind) and self._crosses(frame, operand):
            # With sums in registers a product goes down a strip before the next one,
            # which begins in the lines that it ends in: half.
            parts = is_strip(frame, operand) * source.runs(sizes)
            cost = cost + parts * line // 2
        cost = cost + self._starts(frame, operand)
        return cost + self._rows_written(frame, operand, dest)

    def buffer(self, frame: Frame, operand: int, dest: TensorSpec) -> Ints:
        """A loop's setup; rows that the copy goes on in; and passes over a buffer too
        large to stay in the last-level cache."""
        again = self._passes(frame, operand, dest)
        return self._prices.loop + self._rows(frame, operand) + again

    def temporary(self, lines: Ints) -> Ints:
        """A store of each line: where little is computed, nothing hides it."""
        return lines * self._ops.store

    def kernel(self, frame: Frame, counts: OpCounts) -> Ints:
        """Setups, trips, and the phases one after another."""
        entered = counts.kernels + counts.loops + counts.trips
        phases = (one.times * self._phase(frame, one) for one in counts.phases)
        return sum(phases, entered * self._prices.loop)

    def _line(
        self, frame: Frame, operand: int, level: Memory, dest: TensorSpec
    ) -> Ints:
        """A line from ``level`` to the next nearer one on its way to a tile, and back
        if it is written."""
        form, source = frame.key.kind.operands[operand], frame.key.tensors[operand]
        cost: Ints = self._store(level) if form.is_written else 0
        if not form.is_read:
            return cost
        packed = (
            source.layout.is_packed
            and form.name not in self.target.operand_context.packed
        )
        if not (packed or dest.level.is_near):
            return cost + self._read(level, Access.DEMAND)  # always waited for
        used = uses(frame, operand)
        often = used >= (PACKED_USES if packed else OVERLAPPED_USES)
        quick, slow = (self._read(level, how) for how in _WAYS)
        # The first block of rows goes over all of a large tile, and nothing asks for
        # lines while others compute.
        sizes = frame.operand_sizes(operand)
        few = source.runs(sizes) <= STREAMS
        if not packed:
            again = (source.lines(sizes) > _ON_THEIR_WAY) & (used > _BLOCK)
            often, few = often & np.logical_not(again), few & np.logical_not(again)
        # Prefetchers follow a few rows as long as they go: what computing with a line
        # hides of the next grows with its uses.
        followed = few & np.logical_not(is_strip(frame, operand))
        hidden = followed * (slow - quick) * (used - 1) // (OVERLAPPED_USES - 1)
        return cost + np.where(often, quick, slow - hidden)

    def _starts(self, frame: Frame, operand: int) -> Ints:
        """Cost of the streams that begin in a tile.

        Where a reduction goes across rows, it reads a strip. Of more rows than are
        followed every line begins a stream: nothing prefetched it. Of fewer, each part
        of a row does, as the next tile of the reduction is of other rows. Other rows
        are read along.
        """
        source, sizes = frame.key.tensors[operand], frame.operand_sizes(operand)
        if not source.level.is_main or not is_read_across(frame.key, operand):
            return 0
        runs, lines = source.runs(sizes), source.lines(sizes)
        begun = np.where(runs > STREAMS, lines, runs * (runs > 1))
        return begun * self._prices.stream_start_mem

    def _rows_written(self, frame: Frame, operand: int, dest: TensorSpec) -> Ints:
        """Cost of the streams that begin in the rows of an output of a graph,
        which is written there and nowhere else: its lines come from wherever
        they are, and the rows written in one tile do not bring those of the
        next."""
        kind, source = frame.key.kind, frame.key.tensors[operand]
        form = kind.operands[operand]
        fresh = form.is_written and not form.is_read
        if kind.has_element or not fresh:
            return 0
        if contractions(kind):
            return 0 if dest.level.is_main else self._rows(frame, operand)
        if dest.level is not L1 or source.level <= L1:
            return 0
        rows: Ints = 1
        for axis, size in enumerate(frame.operand_sizes(operand)):
            rows = rows * (1 if axis == source.layout.innermost else size)
        return rows * self._prices.stream_start_mem

    def _rows(self, frame: Frame, operand: int) -> Ints:
        """The rows of a tile that a copy goes through: each begins a stream."""
        source = frame.key.tensors[operand]
        if not source.level.is_main:
            return 0
        runs = source.runs(frame.operand_sizes(operand))
        return runs * (runs > STREAMS) * self._prices.stream_start_mem

    def _passes(self, frame: Frame, operand: int, dest: TensorSpec) -> Ints:
        """The lines of a buffer that takes more than a third of the last-level cache,
        for each pass over it: a part of it is in DRAM by then."""
        if not dest.level.is_main:
            return 0
        lines = dest.lines(frame.operand_sizes(operand))
        far = lines > self.target.l3_lines // 3
        passes = CacheConflicts.passes(frame, operand)
        return lines * far * passes * self.target.coefficients.line_dram_overlapped

    def _phase(self, frame: Frame, phase: Phase) -> Ints:
        """The slowest of units, chain and lines; lines that are not hidden, besides."""
        units: dict[str, Ints] = {}
        for op, count in phase.ops.items():
            unit = _UNITS[op]
            if unit == "vector" and self.target.shared_ports:
                unit = "multiply"
            units[unit] = units.get(unit, 0) + count * getattr(self._ops, op)
            if unit == "multiply" and self.target.some_ports_multiply:
                taken = count * self._ops.vector_op
                units["vector"] = units.get("vector", 0) + taken
        chain = self._latency(phase.chain)
        arriving: Ints = 0
        exposed: Ints = 0
        for lines in phase.lines:
            cost = self._lines(frame, lines)
            exposed = exposed + self._crossed(frame, lines)
            if self._crosses(frame, lines.operand):
                again = lines.crossing * self._ops.load
                units["load"] = units.get("load", 0) + again
            if lines.access is Access.STREAMED:
                waited = dataclasses.replace(lines, access=Access.DEMAND)
                exposed = exposed + cost
                all_waited = self._lines(frame, waited, fetches=False)
                arriving = arriving + all_waited - cost
            elif lines.hidden:
                arriving = arriving + cost
            else:
                exposed = exposed + cost
        slowest = functools.reduce(np.maximum, (chain, *units.values(), arriving))
        if phase.latency:
            # Of the runs that overlap, half of the instructions wait on average: twice
            # as many as the schedulers hold are begun before the first run ends.
            run = sum(phase.ops.values())
            begun = run + 2 * self.target.scheduler_entries
            waited = (slowest + self._latency(phase.latency)) * run // begun
            slowest = np.maximum(slowest, waited)
        return slowest + exposed

    def _latency(self, chain: Ops) -> Ints:
        """Latency of instructions that wait for one another."""
        cycles = (n * getattr(self._ops, f"{op}_latency") for op, n in chain.items())
        return sum(cycles)

    def _lines(self, frame: Frame, lines: Lines, fetches: bool = True) -> Ints:
        """Lines that a kernel reads or writes where they lie, down to L1.

        Args:
            fetches: whether lines that are prefetched to L1 have that price: the least
                time of those that several rows are computed with is of demanded ones.
        """
        level = frame.key.tensors[lines.operand].level
        if level not in (MEM, L2):
            return 0
        if lines.copied:
            return lines.count * self._prices.line_l2
        conflicts = CacheConflicts(self.target)
        each = conflicts.of_rows(frame, lines.operand, lines.rows)
        each = each + conflicts.of_ahead(frame, lines.operand, lines.ahead)
        each = each + conflicts.of_beside(frame, lines.operand, lines.beside)
        again = self._prices.line_l2 + conflicts.of_pass(frame, lines.operand)
        each = each + lines.passes * again
        for passed in (L2, MEM):
            if passed > level or (lines.prefetched and passed is L2):
                continue
            each = each + self._read(passed, lines.access, fetches and lines.prefetched)
        start = self._prices.stream_start_mem if level.is_main else 0
        # The line that two parts share may be near by when the second reads it: half.
        more = lines.parts * each // 2 if self._crosses(frame, lines.operand) else 0
        return lines.count * each + more + lines.starts * start

    def _crossed(self, frame: Frame, lines: Lines) -> Ints:
        """Cost of stores that cross a line, one for each line, which nothing
        hides."""
        stored = lines.access is Access.STORED
        if not stored or not self._crosses(frame, lines.operand):
            return 0
        return lines.count * CROSSING * self._ops.store

    def _crosses(self, frame: Frame, operand: int) -> bool:
        """Whether rows of an operand begin within lines: not those of a packed one."""
        name = frame.key.kind.operands[operand].name
        packed = frame.key.tensors[operand].layout.is_packed
        return not packed and name in self.target.operand_context.crossing

    def _read(self, level: Memory, how: Access, prefetched: bool = False) -> int:
        """A line from ``level`` to the next nearer one, or to L1 if prefetched; or a
        line back, if it is stored."""
        c = self._prices
        if how is Access.STORED:
            return self._store(level)
        if level is L2:
            return c.line_l2
        if how is not Access.DEMAND:
            return c.line_mem_overlapped
        return c.line_mem_fetched if prefetched else c.line_mem_demand

    def _store(self, level: Memory) -> int:
        """Millicycles of writing back one cache line to ``level``."""
        return self._prices.store_l2 if level is L2 else self._prices.store_mem


def _turns(key: SpecKey) -> bool:
    """Whether a copy goes along one dimension where it reads, another where it writes:
    of the tiles beside one, no order visits both neighbours next, and by then the rest
    of a line has left L1."""
    innermost = {
        operand.dims[tensor.layout.innermost]
        for operand, tensor in zip(key.kind.operands, key.tensors, strict=True)
    }
    return len(innermost) > 1
