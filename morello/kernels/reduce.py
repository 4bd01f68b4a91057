"""The vector kernels of one reduction: along rows in memory, and across them.

They take graphs of one node, which reduces its one input along one dimension.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product as every

import numpy as np

from morello.cost.counts import OpCounts, Phase, add, times
from morello.kernels.code.running import Running
from morello.kernels.code.varying_row import (
    Columns,
    VaryingRow,
    groups_written,
    takes_masks,
    varying_counts,
)
from morello.kernels.code.vectors import (
    overlapping,
    overlapping_count,
    tail_of,
    vectors_of,
)
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.predicates import (
    in_l1,
    is_interleaved,
    others,
    size_is_one,
    within_pack,
)
from morello.kernels.template import Kernel
from morello.spec import Dtype, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.graphs.expression import Reference
from morello.spec.graphs.graph import Graph, Node

_SRC, _OUT = 0, 1
"""The operands, and the values of the graph."""


def _reduction(key: SpecKey) -> Node | None:
    """The one node of a graph, if it reduces its one input along one dimension, and all
    is in L1 and of one dtype; else None."""
    graph = key.kind.as_graph
    if graph is None or not key.kind.has_element or not in_l1(*key.tensors):
        return None
    node = graph.nodes[0]
    alone = len(node.reduced) == 1 and node.expression == Reference(_SRC)
    return node if alone and len({*key.dtypes}) == 1 else None


def _graph(key: SpecKey) -> tuple[Graph, Node, int]:
    """The graph, its node, and the dimension that is reduced."""
    graph = key.kind.as_graph
    assert graph is not None
    (node,) = graph.nodes
    return graph, node, node.reduced[0]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReduceRows(Kernel):
    """out[m] = or f= src[m,n] in L1, n innermost, over all of n.

    Vectors along the row are reduced lane by lane, then their lanes: long rows are
    added one after another, as they lie in memory. The last vector of a row overlaps
    the one before if an element may be taken twice. Else, and in rows shorter than a
    vector, its lanes after the row hold the neutral element.
    """

    rows: int
    """The most rows."""
    accumulators: int
    """The most vectors that are reduced side by side, of all rows together."""

    def together(self, reduction: str, vectors: Ints, rows: Ints) -> Ints:
        """Rows that are reduced side by side: one, where it has as many vectors as are
        added side by side; else all, as the ends of others than sums take long."""
        alone = (vectors >= self.accumulators) & (reduction == "sum")
        return np.where(alone, 1, rows)

    def accepts(self, key: SpecKey) -> bool:
        """Reductions along the innermost dimension of src; nothing interleaved."""
        node = _reduction(key)
        if node is None or any(is_interleaved(t.layout) for t in key.tensors):
            return False
        return node.reduced[0] == _innermost(key, _SRC)

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Few rows; each within a pack."""
        _, _, along = _graph(frame.key)
        axis = frame.key.kind.operands[_SRC].axis(along)
        return (
            Condition(
                others(frame.sizes, along) <= self.rows,
                f"takes at most {self.rows} rows: tile m smaller",
            ),
            *within_pack(frame, _SRC, axis),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """Loads and operations, or the chains' latency; then lane reductions."""
        _, node, along = _graph(frame.key)
        n, m = frame.sizes[along], others(frame.sizes, along)
        number = frame.key.dtypes[_SRC]
        lanes = self.isa.lanes(number)
        vectors = vectors_of(n, lanes)
        masked = tail_of(n, lanes) * ((n < lanes) | (node.reduction == "sum"))
        rows = np.minimum(m, self.rows)
        together = self.together(node.reduction, n // lanes, rows)
        chains = np.minimum(vectors, self.accumulators // together)
        element, each = (
            Running.counted(node.reduction, self.isa, number, along=vector)
            for vector in (False, True)
        )
        steps = lanes.bit_length() - 1  # halves against halves
        row = add(
            {"load": vectors - masked, "masked_load": masked, "scalar": 2},
            times(each.ops, vectors - chains),
            {"shuffle": steps, **times(element.ops, steps + chains)},
        )
        chain = times(each.chain, -(-vectors // chains) - 1)
        latency = add(times(element.chain, steps + 1), {"vector_op": steps})
        groups = -(-m // together)
        some = Phase(times(row, together), chain, times=groups, latency=latency)
        return OpCounts((some,), kernels=1)

    def takes_any(self, spec: Spec) -> bool:
        """Any length of rows that are not packed."""
        _, _, along = _graph(spec.key)
        is_along = all(one.dims == (along,) for one in spec.ranges)
        return is_along and not spec.tensors[_SRC].layout.is_packed

    def varying_counts(self, frame: Frame, varying: frozenset[int]) -> OpCounts:
        """The comparisons of all rows, which are of one length."""
        _, _, along = _graph(frame.key)
        if along not in varying:
            return super().varying_counts(frame, varying)
        rows, dtype = int(np.min(others(frame.sizes, along))), frame.key.dtypes[_SRC]
        lanes, masked = self.isa.lanes(dtype), takes_masks(self.isa, (dtype,))
        chains = max(self.accumulators // rows, 1)
        groups = groups_written(chains, rows)
        return varying_counts(frame.sizes[along], lanes, 1, chains, masked, groups)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """A loop over groups of vectors where there are enough, then what is left."""
        graph, node, along = _graph(spec.key)
        src, out = operands
        rows = [*every(*(range(spec.sizes[d]) for d in node.axes))]
        order = spec.kind.operands[_SRC].dims

        def index(row: int, column: Value) -> tuple[Value, ...]:
            at = {**dict(zip(node.axes, rows[row], strict=True)), along: column}
            return tuple(at[d] for d in order)

        running = Running.of(emitter, graph, _OUT, src.tensor.dtype)
        lanes = self.isa.lanes(src.tensor.dtype)
        reader = _Rows(self, running, src, index, len(rows), spec.sizes[along])
        vectors = reader.vectors() if not spec.ranges else reader.of_any(spec)
        for place, vector in zip(rows, vectors, strict=True):
            reduced = reduce_lanes(emitter, running.pair, vector, lanes)
            held = (
                emitter.load_element(out, place)
                if running.accumulates
                else running.start()
            )
            emitter.store_element(running.pair(held, reduced), out, place)


@dataclasses.dataclass(frozen=True)
class _Rows:
    """Rows that are reduced side by side."""

    kernel: ReduceRows
    running: Running
    src: Buffer
    index: Callable[[int, Value], tuple[Value, ...]]
    """The index of an element of src, from its row and column."""
    count: int
    """Rows."""
    length: int
    """Elements of each."""

    def vectors(self) -> Iterator[Value]:
        """One vector for each row, whose lanes together give the result."""
        lanes = self.running.emitter.isa.lanes(self.running.number)
        if self.length < lanes:
            yield from (self._load(i, 0) for i in range(self.count))
            return
        vectors, reduction = self.length // lanes, self.running.reduction
        together = int(self.kernel.together(reduction, vectors, self.count))
        for first in range(0, self.count, together):
            yield from self._together(range(first, min(first + together, self.count)))

    def _together(self, rows: Sequence[int]) -> list[Value]:
        """`vectors` of some rows, side by side."""
        running, emitter, n = self.running, self.running.emitter, self.length
        lanes, m = emitter.isa.lanes(running.number), len(rows)
        chains = min(n // lanes, self.kernel.accumulators // m)
        group = chains * lanes

        def load_all(at: Value) -> list[Value]:
            starts = (emitter.offset(at, chain * lanes) for chain in range(chains))
            return self._loaded(((start, lanes) for start in starts), rows)

        rule = _rule(running, m, chains)

        def step(at: Value, carried: Sequence[Value]) -> list[Value]:
            return rule.take(carried, load_all(at))

        held: Sequence[Value] = rule.begin(load_all(0))
        whole = n // group * group
        if whole > 2 * group:
            # LLVM writes a short loop out, and reads ahead more than registers hold.
            many = m * whole > lanes * emitter.isa.registers
            held = emitter.loop(group, whole, group, held, step, rolled=many)
        elif whole == 2 * group:
            held = step(group, held)
        vectors = [list(held[i::m]) for i in range(m)]
        for start in range(whole, n, lanes):
            for i, row in enumerate(rows):
                vectors[i].append(self._load(row, start))
        return [running.joined(vector) for vector in vectors]

    def of_any(self, spec: Spec) -> Sequence[Value]:
        """`vectors` of rows whose length a call says."""
        running, emitter, m = self.running, self.running.emitter, self.count
        lanes, dtype = emitter.isa.lanes(running.number), self.src.tensor.dtype
        (sizes,) = spec.every_size
        chains = max(self.kernel.accumulators // m, 1)
        none = [running.start(lanes)] * m

        def rows_of(row: VaryingRow) -> list[Value]:
            is_short = row.masked and not row.loops
            some = min(chains, row.rest) if is_short else chains
            rule = _rule(running, m, some)

            def begin(columns: Columns, _: Sequence[Value]) -> Sequence[Value]:
                return rule.begin(self._loaded(columns, range(m)))

            def take(columns: Columns, carried: Sequence[Value]) -> Sequence[Value]:
                return rule.take(carried, self._loaded(columns, range(m)))

            held = row.run(take, rule.begin(none * some), begin)
            return [running.joined(list(held[i::m])) for i in range(m)]

        masked, size = takes_masks(emitter.isa, (dtype,)), emitter.size()
        groups = groups_written(chains, m)
        row = VaryingRow(emitter, size, sizes, lanes, chains, masked, groups)
        return row.each(rows_of, none)

    def _loaded(
        self, columns: Iterable[tuple[Value, Value]], rows: Sequence[int]
    ) -> list[Value]:
        """Vectors of some rows, column by column; the last is filled with the neutral
        element."""
        emitter, lanes = (
            self.running.emitter,
            self.kernel.isa.lanes(self.running.number),
        )
        loaded = []
        for start, count in columns:
            rest = None if count == lanes else self.running.start(lanes)
            for i in rows:
                index = self.index(i, start)
                loaded.append(emitter.load(self.src, index, lanes, count, rest))
        return loaded

    def _load(self, row: int, start: int) -> Value:
        """A vector from ``start`` on, of a row that may end before the vector does."""
        running, emitter, end = self.running, self.running.emitter, self.length
        lanes = emitter.isa.lanes(running.number)
        if running.reduction != "sum" and end >= lanes:
            return emitter.load(
                self.src, self.index(row, min(start, end - lanes)), lanes
            )
        count, index = min(lanes, end - start), self.index(row, start)
        return emitter.load(self.src, index, lanes, count, running.start(lanes))


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReduceColumns(Kernel):
    """out[m] = or f= src[m,n] in L1, m innermost in both, over all of n.

    A loop over n carries a vector for each run of m: no lanes are reduced.
    """

    accumulators: int
    """The most vectors: the others are the operation's own."""

    def accepts(self, key: SpecKey) -> bool:
        """Whether src and out have one innermost dimension, and neither is packed along
        the reduced one."""
        node = _reduction(key)
        if node is None:
            return False
        src, out = (t.layout for t in key.tensors)
        axis = key.kind.operands[_SRC].axis(node.reduced[0])
        return (
            _innermost(key, _SRC) == _innermost(key, _OUT)
            and src.pack(axis) == 1
            and not is_interleaved(src)
            and not out.is_packed
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """The accumulators fit; they stay within a pack, and are of one row."""
        _, node, _ = _graph(frame.key)
        inner = _innermost(frame.key, _OUT)
        vectors = vectors_of(frame.sizes[inner], self.isa.lanes(frame.key.dtypes[_SRC]))
        return (
            Condition(
                vectors <= self.accumulators,
                f"takes at most {self.accumulators} vectors of rows: tile m smaller",
            ),
            *within_pack(frame, _SRC, frame.key.kind.operands[_SRC].axis(inner)),
            *(size_is_one(frame, dim) for dim in node.axes if dim != inner),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """Loads and operations, or the chains' latency, for each column."""
        graph, node, across = _graph(frame.key)
        number, inner = frame.key.dtypes[_SRC], _innermost(frame.key, _OUT)
        runs = overlapping_count(frame.sizes[inner], self.isa.lanes(number))
        element = Running.counted(node.reduction, self.isa, number, along=False)
        column = Phase(
            {"load": runs, **times(element.ops, runs)},
            element.chain,
            times=frame.sizes[across],
        )
        held = Phase({"load": runs * graph.modes[_OUT]})
        return OpCounts((column, held, Phase({"store": runs})), kernels=1)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """All of out is read before any is written: runs may overlap."""
        src, out = operands
        graph, node, across = _graph(spec.key)
        inner, order = _innermost(spec.key, _OUT), spec.kind.operands[_SRC].dims
        running = Running.of(emitter, graph, _OUT, src.tensor.dtype)
        runs = overlapping(spec.sizes[inner], self.isa.lanes(src.tensor.dtype))

        def read(start: Value, at: Value, width: int) -> Value:
            place = {inner: start, across: at}
            return emitter.load(src, tuple(place.get(d, 0) for d in order), width)

        def step(at: Value, carried: Sequence[Value]) -> list[Value]:
            return [
                running.pair(held, read(start, at, width))
                for held, (start, width) in zip(carried, runs, strict=True)
            ]

        def written(start: Value) -> tuple[Value, ...]:
            return tuple(start if d == inner else 0 for d in node.axes)

        held = [
            emitter.load(out, written(start), width)
            if running.accumulates
            else running.start(width)
            for start, width in runs
        ]
        results = emitter.loop(0, spec.sizes[across], 1, held, step)
        for vector, (start, _) in zip(results, runs, strict=True):
            emitter.store(vector, out, written(start))


def _innermost(key: SpecKey, operand: int) -> int:
    """The dimension along which elements of an operand are neighbours."""
    return key.kind.operands[operand].dims[key.tensors[operand].layout.innermost]


@dataclasses.dataclass(frozen=True)
class _Plain:
    """Reductions of rows side by side: a vector is carried for each."""

    running: Running

    def begin(self, first: Sequence[Value]) -> Sequence[Value]:
        """Loop-carried values after the first vectors."""
        return first

    def take(self, carried: Sequence[Value], loaded: Sequence[Value]) -> list[Value]:
        """Loop-carried values after more vectors are combined with the first ones."""
        pairs = zip(carried, loaded, strict=False)
        return [*(self.running.pair(a, b) for a, b in pairs), *carried[len(loaded) :]]


@dataclasses.dataclass(frozen=True)
class _Numbers:
    """Maxima or minima of rows side by side, and apart from them the NaN of each row.

    What is carried is a vector for each row of each chain, and after these one for the
    NaN of each row of two chains.
    """

    running: Running
    rows: int
    chains: int

    def begin(self, first: Sequence[Value]) -> list[Value]:
        """Loop-carried values after the first vectors."""
        lanes = self.running.emitter.isa.lanes(Dtype.F32)
        none = [self.running.start(lanes)] * (self.rows * -(-self.chains // 2))
        return [*first, *self._nan(none, first)]

    def take(self, carried: Sequence[Value], loaded: Sequence[Value]) -> list[Value]:
        """Loop-carried values after more vectors are combined with the first ones."""
        count = self.rows * self.chains
        held = [*map(self.running.take_number, carried[:count], loaded)]
        rest = carried[len(loaded) : count]
        return [*held, *rest, *self._nan(carried[count:], loaded)]

    def _nan(self, held: Sequence[Value], loaded: Sequence[Value]) -> list[Value]:
        results, chains = [*held], len(loaded) // self.rows
        for place in range(self.rows * -(-chains // 2)):
            chain, row = 2 * (place // self.rows), place % self.rows
            other = min(chain + 1, chains - 1)
            a, b = (loaded[c * self.rows + row] for c in (chain, other))
            results[place] = self.running.emitter.nan_where_one_is(a, b, held[place])
        return results


def _rule(running: Running, rows: int, chains: int) -> _Plain | _Numbers:
    """How vectors are carried, those of each chain of every row."""
    if running.has_numbers:
        return _Numbers(running, rows, chains)
    return _Plain(running)


def reduce_lanes(
    emitter: Emitter,
    combine: Callable[[Value, Value], Value],
    vector: Value,
    width: int,
) -> Value:
    """The lanes of a vector become one scalar: halves against halves."""
    while width > 2:
        half = width // 2
        low = emitter.shuffle(vector, vector, range(half))
        high = emitter.shuffle(vector, vector, range(half, width))
        vector = combine(low, high)
        width = half
    lanes = [emitter.extract(vector, lane) for lane in range(width)]
    return combine(*lanes) if len(lanes) > 1 else lanes[0]
