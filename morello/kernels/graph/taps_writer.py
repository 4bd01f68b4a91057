"""The code of filters of bytes, channel by channel: four taps an instruction.

Written for `GraphTaps`. A block is some rows side by side, of as many channels as a
vector has bytes, or, of the last ones, fewer. The filter is put in groups once, for
each place that a first tap may have in one (`quads.py`).
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from morello.kernels.emitter import Buffer, Emitter, Index, Value
from morello.kernels.graph.inner import graph_seen
from morello.kernels.graph.quads import (
    LANE,
    Quads,
    Taps,
    blocks_of,
    quads_of,
    taps_of_bytes,
)
from morello.kernels.graph.shape import Blocking, together_of
from morello.kernels.graph.values import Env
from morello.kernels.graph.writer import GraphWriter
from morello.kernels.predicates import QUAD, near_form
from morello.machine.isa import Op
from morello.spec import Dtype, Spec
from morello.spec.tensors.layout import ceil_div

_FLIPPED = 128
"""The value of the highest bit of a byte without a sign."""


class TapsWriter(GraphWriter):
    """Writes the code of one Spec."""

    def __init__(
        self,
        emitter: Emitter,
        spec: Spec,
        operands: Sequence[Buffer],
        blocking: Blocking,
    ) -> None:
        super().__init__(emitter, spec, operands, blocking)
        graph, inner = graph_seen(spec.key)
        taps = taps_of_bytes(graph, inner)
        assert taps is not None
        self.of: Taps = taps
        self.image, self.filter = self.buffers[taps.image], self.buffers[taps.filter]
        self.signed = self.filter.tensor.dtype.is_signed
        """Whether the filter is the factor with a sign."""
        self.flips = self.signed and self.image.tensor.dtype.is_signed
        """Whether bytes of the image get their highest bit flipped."""
        rows = together_of(graph, inner, spec.sizes, self.together)
        self.shifts = self._quads(rows).shifts
        blocks = blocks_of(emitter.isa, spec.sizes[inner])
        size = sum(ceil_div(count, width) * width for count, width in blocks)
        outer = [spec.sizes[dim] for dim in taps.outer]
        self.places = [*itertools.accumulate([1, *outer[::-1]], lambda a, b: a * b)]
        every, groups = self.places.pop(), self._quads(1).count
        self.groups = self._scratch(
            self.filter.tensor.dtype, every * len(self.shifts) * groups, QUAD * size
        )
        """The filter in groups."""
        self.sums = self._scratch(Dtype.S32, every, size) if self.flips else None
        """The sums of the filter's bytes, times what the flipped bits add."""

    def write(self) -> None:
        """The filter in groups, then loops over rows."""

        def prepare(at: dict[int, Any], held: Sequence[Value]) -> Sequence[Value]:
            self._blocks(lambda *block: self._prepare(at, *block))
            return held

        self._nest([*self.of.outer], {}, (), prepare)
        self._write()

    def _scratch(self, dtype: Dtype, rows: int, columns: int) -> Buffer:
        return self.emitter.scratch(near_form(dtype, 2), (rows, columns))

    def _quads(self, rows: int) -> Quads:
        taps, of = self.spec.sizes[self.of.last], self.of
        return quads_of(rows, taps, of.step, of.spread)

    def _blocks(self, body: Callable[[Value, int, int], None]) -> None:
        """Run ``body`` on the channels of each block: from which on, how many, and the
        bytes of its vectors."""
        isa = self.emitter.isa
        first, *others = blocks_of(isa, self.spec.sizes[self.inner])
        count, width = first
        if count <= width:
            body(0, *first)
        else:

            def block(column: Value, _: Sequence[Value]) -> Sequence[Value]:
                body(column, width, width)
                return ()

            self.emitter.loop(0, count, width, (), block)
        for rest, narrow in others:
            body(count, rest, narrow)

    def _group_at(
        self, at: dict[int, Any], shift: int, group: int, column: Value, by: int
    ) -> Index:
        """The place of a vector of the filter in groups."""
        groups = self._quads(1).count
        beside = len(self.shifts) * groups
        row = self.emitter.linear([(self._outer(at), beside)])
        row = self.emitter.offset(row, self.shifts.index(shift) * groups + group)
        return row, self.emitter.offset(self.emitter.linear([(column, QUAD)]), by)

    def _outer(self, at: dict[int, Any]) -> Value:
        """The number of a place of the outer taps."""
        steps = self.places[::-1]
        dims = [(at[dim], step) for dim, step in zip(self.of.outer, steps, strict=True)]
        return self.emitter.linear(dims)

    def _prepare(
        self, at: dict[int, Any], column: Value, count: int, width: int
    ) -> None:
        """The filter at one place of the outer taps in groups."""
        emitter, dtype = self.emitter, self.filter.tensor.dtype
        quads = self._quads(1)
        zero = emitter.constant(dtype, 0, width)
        taps = []
        for tap in range(quads.taps):
            place = {**at, self.of.last: tap, self.inner: column}
            index = self._index(self.of.filter, place)
            loaded = emitter.load(self.filter, index, width, count)
            taps.append(self._spread(loaded, width))
        for shift in self.shifts:
            later = QUAD * quads.count - quads.taps - shift
            row = [zero] * shift + taps + [zero] * later
            for group in range(quads.count):
                a, b, c, d = row[QUAD * group : QUAD * (group + 1)]
                pairs = self._pair(a, b, width), self._pair(c, d, width)
                for i, vector in enumerate(self._quad(*pairs, width)):
                    index = self._group_at(at, shift, group, column, i * width)
                    emitter.store(vector, self.groups, index)
        if self.sums is not None:
            self._add_up(at, column, width)

    def _add_up(self, at: dict[int, Any], column: Value, width: int) -> None:
        """The sums of the filter at one place of the outer taps."""
        assert self.sums is not None
        emitter, lanes = self.emitter, width // QUAD
        flipped = emitter.constant(Dtype.U8, _FLIPPED, width)
        for i in range(QUAD):
            total = emitter.constant(Dtype.S32, 0, lanes)
            for group in range(self._quads(1).count):
                index = self._group_at(at, self.shifts[0], group, column, i * width)
                four = emitter.load(self.groups, index, width)
                total = emitter.dot_add(Op.DOT4, total, flipped, four)
            here = self._outer(at), emitter.offset(column, i * lanes)
            emitter.store(total, self.sums, here)

    def _reduce_across(self, rows: list[tuple[dict[int, Any], Env]]) -> None:
        """Sums of rows side by side, a block of channels at a time."""
        self._blocks(lambda *block: self._sum(rows, *block))

    def _sum(
        self,
        rows: list[tuple[dict[int, Any], Env]],
        column: Value,
        count: int,
        width: int,
    ) -> None:
        emitter, lanes = self.emitter, width // QUAD
        quads, inside = self._quads(len(rows)), self._inside(rows[0][0], len(rows))

        def step(at: dict[int, Any], held: Sequence[Value]) -> list[Value]:
            of_group = _Interleaving(self, {**rows[0][0], **at}, column, count, width)
            carried = list(held)
            for row, group in quads.order:
                places = quads.places(row, group)
                if not inside & {*places} and not self.flips:
                    continue
                vectors = of_group.quad(places, inside)
                for i, vector in enumerate(vectors):
                    by = i * width
                    index = self._group_at(at, quads.shift(row), group, column, by)
                    factor = emitter.load(self.groups, index, width)
                    pair = (vector, factor) if self.signed else (factor, vector)
                    mine = QUAD * row + i
                    carried[mine] = emitter.dot_add(Op.DOT4, carried[mine], *pair)
            return carried

        start = self._start(column, lanes) * len(rows)
        sums = self._nest([*self.of.outer], {}, start, step)
        (running,) = self._running()
        for number, (row, env) in enumerate(rows):
            mine = list(sums[QUAD * number : QUAD * (number + 1)])
            for i, words in enumerate(self._whole(mine, lanes)):
                length = min(count - i * self.lanes, self.lanes)
                if length <= 0:
                    break
                total = emitter.convert(words, Dtype.S32, self.number)
                here = {**row, self.inner: emitter.offset(column, i * self.lanes)}
                self._finish([running], [total], here, env, length)

    def _inside(self, at: dict[int, Any], rows: int) -> frozenset[int]:
        """The places under the taps of rows that are in the image, from the first
        place of the first row on."""
        quads, first = self._quads(rows), at[self.of.along]
        if self.of.along not in self.sides.strips or not isinstance(first, int):
            return quads.read
        return frozenset(
            quads.step * row + quads.spread * tap
            for row in range(rows)
            for tap in self.sides.inside(self.of.along, first + row)
        )

    def _start(self, column: Value, lanes: int) -> list[Value]:
        """The sums before any product, less what flipped bits add to them."""
        emitter = self.emitter
        start = [emitter.constant(Dtype.S32, 0, lanes)] * QUAD
        if self.sums is None:
            return start
        spans = (self.spans[dim] for dim in self.of.outer)
        for places in itertools.product(*(range(a, a + n) for a, n in spans)):
            row = self._outer(dict(zip(self.of.outer, places, strict=True)))
            for i in range(QUAD):
                index = row, emitter.offset(column, i * lanes)
                added = emitter.load(self.sums, index, lanes)
                start[i] = emitter.subtract(start[i], added)
        return start

    def _whole(self, vectors: list[Value], lanes: int) -> list[Value]:
        """Vectors of as many lanes as are computed with, from shorter ones."""
        while lanes < self.lanes:
            both = range(2 * lanes)
            pairs = zip(vectors[::2], vectors[1::2], strict=True)
            vectors = [self.emitter.shuffle(a, b, both) for a, b in pairs]
            lanes *= 2
        return vectors

    def _spread(self, vector: Value, width: int) -> Value:
        """Bytes in the order from which shuffles within lanes put words in order."""
        lanes = width // LANE
        if lanes == 1:
            return vector
        words = [i * lanes + lane for lane in range(lanes) for i in range(QUAD)]
        order = [QUAD * word + i for word in words for i in range(QUAD)]
        return self.emitter.shuffle(vector, vector, order)

    def _pair(self, a: Value, b: Value, width: int) -> tuple[Value, Value]:
        """Bytes of two vectors side by side: of the lower halves of lanes, and of the
        upper ones."""
        return self._alternating(a, b, width, 1)

    def _quad(
        self, left: tuple[Value, Value], right: tuple[Value, Value], width: int
    ) -> tuple[Value, ...]:
        """Pairs of bytes side by side: the words of all channels in order."""
        both = zip(left, right, strict=True)
        return tuple(v for a, b in both for v in self._alternating(a, b, width, 2))

    def _alternating(
        self, a: Value, b: Value, width: int, size: int
    ) -> tuple[Value, Value]:
        """Units of so many bytes of two vectors in turn, within lanes."""
        halves = []
        for half in (0, LANE // 2):
            units = [
                source + lane + half + unit * size + i
                for lane in range(0, width, LANE)
                for unit in range(LANE // 2 // size)
                for source in (0, width)
                for i in range(size)
            ]
            halves.append(self.emitter.shuffle(a, b, units))
        return halves[0], halves[1]


class _Interleaving:
    """Places of an image at one place of the outer taps, each loaded once."""

    def __init__(
        self,
        writer: TapsWriter,
        at: dict[int, Any],
        column: Value,
        count: int,
        width: int,
    ) -> None:
        self.writer, self.count, self.width = writer, count, width
        of, self.dtype = writer.of, writer.image.tensor.dtype
        place = {**at, of.last: 0, writer.inner: column}
        self.first = writer._index(of.image, place)
        beyond = self.dtype.lowest if writer.flips else 0
        self.beyond = writer.emitter.constant(self.dtype, beyond, width)
        """The bytes of places that are not in the image, or not read."""
        self.loaded: dict[int, Value] = {}
        self.pairs: dict[tuple[int, ...], tuple[Value, Value]] = {}
        self.quads: dict[tuple[int, ...], tuple[Value, ...]] = {}

    def quad(self, places: tuple[int, ...], read: frozenset[int]) -> tuple[Value, ...]:
        """The vectors of a group, of whose places some are read."""
        if places not in self.quads:
            left, right = (self._pair(p, read) for p in (places[:2], places[2:]))
            self.quads[places] = self.writer._quad(left, right, self.width)
        return self.quads[places]

    def _pair(
        self, places: tuple[int, ...], read: frozenset[int]
    ) -> tuple[Value, Value]:
        if places not in self.pairs:
            a, b = (self._place(p) if p in read else self.beyond for p in places)
            self.pairs[places] = self.writer._pair(a, b, self.width)
        return self.pairs[places]

    def _place(self, place: int) -> Value:
        if place not in self.loaded:
            writer, emitter = self.writer, self.writer.emitter
            axis = writer.of.axis
            along = emitter.offset(self.first[axis], place)
            index = (*self.first[:axis], along, *self.first[axis + 1 :])
            vector = emitter.load(writer.image, index, self.width, self.count)
            if writer.flips:
                vector = emitter.subtract(vector, self.beyond)
            self.loaded[place] = writer._spread(vector, self.width)
        return self.loaded[place]
