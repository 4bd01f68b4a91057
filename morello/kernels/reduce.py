"""The vector kernels of reductions: along rows in memory, and across them.

What two elements become together is the kind's (`Kind.element`).
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from morello.cost.counts import OpCounts, Phase, times
from morello.kernels.code.elements import CountedElements, EmittedElements
from morello.kernels.code.running import Running
from morello.kernels.code.vectors import (
    overlapping,
    overlapping_count,
    tail_of,
    vectors_of,
)
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.predicates import in_l1, is_interleaved, within_pack
from morello.kernels.template import Kernel
from morello.machine.isa import Op
from morello.spec import Dtype, Fill, Kind, Layout, Spec, SpecKey
from morello.spec.frame import Condition, Frame


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReduceRows(Kernel):
    """out[m] = f(out[m], src[m,n]) in L1, n innermost, over all of n.

    Vectors along the row are reduced lane by lane, then their lanes. The last vector of
    a row overlaps the one before if an element may be taken twice. Else, and in rows
    shorter than a vector, its lanes after the row hold the neutral element.
    """

    kind: Kind
    """The reduction, which adds to its output."""
    rows: int
    """The most rows."""
    accumulators: int
    """The most vectors that are reduced side by side, of all rows together."""

    def accepts(self, key: SpecKey) -> bool:
        """Any dtypes; n innermost in src; nothing interleaved."""
        if key.kind != self.kind or not in_l1(*key.tensors):
            return False
        src, out = (t.layout for t in key.tensors)
        return src.innermost == 1 and not (is_interleaved(src) or is_interleaved(out))

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Few rows; each within a pack."""
        return (
            Condition(
                frame.sizes[0] <= self.rows,
                f"takes at most {self.rows} rows: tile m smaller",
            ),
            *within_pack(frame, 0, 1),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """Loads and operations, or the chains' latency; then lane reductions."""
        m, n = frame.sizes
        lanes = self.isa.lanes(frame.key.dtypes[0])
        vectors = vectors_of(n, lanes)
        masked = tail_of(n, lanes) * ((n < lanes) | (not self.kind.idempotent))
        chains = np.minimum(vectors, self.accumulators // np.minimum(m, self.rows))
        element = CountedElements.of(self.kind, frame.key.dtypes, isa=self.isa)
        each = element
        if self._has_numbers(frame.key.dtypes[0]):
            each = Running.counted(self.kind.name, self.isa, along=True)
        body = Phase(
            {
                "load": m * (vectors - masked),
                "masked_load": m * masked,
                **times(each.ops, m * vectors),
            },
            times(each.chain, -(-vectors // chains)),
        )
        steps = lanes.bit_length() - 1  # halves against halves
        ends = (
            Phase(chain=element.chain),
            Phase({"shuffle": m * steps, **times(element.ops, m * (steps + 1))}),
            Phase({"scalar": 2 * m}),
        )
        return OpCounts((body, *ends), kernels=1)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """A loop over groups of vectors where there are enough, then what is left."""
        src, out = operands
        pair = _Combine(emitter, spec)
        lanes = self.isa.lanes(src.tensor.dtype)
        for row, vector in enumerate(self._vectors(pair, src, *spec.sizes)):
            found = reduce_lanes(emitter, pair, vector, lanes)
            held = emitter.load_element(out, (row,))
            emitter.store_element(pair(held, found), out, (row,))

    def _vectors(self, pair: "_Combine", src: Buffer, m: int, n: int) -> list[Value]:
        """One vector for each row, whose lanes together give the result."""
        emitter, dtype = pair.emitter, src.tensor.dtype
        lanes = self.isa.lanes(dtype)
        if n < lanes:
            return [self._load(emitter, src, i, 0, n) for i in range(m)]
        chains = min(n // lanes, self.accumulators // m)
        group = chains * lanes

        def load(at: Value, chain: int) -> list[Value]:
            column = emitter.offset(at, chain * lanes)
            return [emitter.load(src, (i, column), lanes) for i in range(m)]

        def load_all(at: Value) -> list[Value]:
            return [v for chain in range(chains) for v in load(at, chain)]

        rule: _Plain | _Numbers = _Plain(pair)
        if self._has_numbers(dtype):
            rule = _Numbers(Running(emitter, 0, self.kind.name), m, chains)

        def step(at: Value, carried: Sequence[Value]) -> list[Value]:
            return rule.take(carried, load_all(at))

        found: Sequence[Value] = rule.begin(load_all(0))
        whole = n // group * group
        if whole > 2 * group:
            found = emitter.loop(group, whole, group, found, step)
        elif whole == 2 * group:
            found = step(group, found)
        rows = [list(found[i::m]) for i in range(m)]
        for start in range(whole, n, lanes):
            for i, row in enumerate(rows):
                row.append(self._load(emitter, src, i, start, n))
        return [pair.tree(row) for row in rows]

    def _has_numbers(self, dtype: Dtype) -> bool:
        """Whether NaN are kept apart (`Running.take_number`)."""
        kept = self.kind.idempotent and dtype is Dtype.F32
        return kept and self.isa.has(Op.RANGE)

    def _load(
        self, emitter: Emitter, src: Buffer, row: int, start: int, end: int
    ) -> Value:
        """A vector from ``start`` on, of a row that may end before the vector does."""
        dtype = src.tensor.dtype
        lanes = self.isa.lanes(dtype)
        if self.kind.idempotent and end >= lanes:
            return emitter.load(src, (row, min(start, end - lanes)), lanes)
        # A sum that begins at -0 is not even changed where it is -0.
        number = Fill(1, self.kind.neutral).number(dtype)
        number = -0.0 if dtype.is_float and number == 0 else number
        neutral = emitter.constant(dtype, number, lanes)
        return emitter.load(src, (row, start), lanes, min(lanes, end - start), neutral)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReduceColumns(Kernel):
    """out[m] = f(out[m], src[m,n]) in L1, m innermost in both, over all of n.

    A loop over n carries a vector for each run of m: no lanes are reduced.
    """

    kind: Kind
    """The reduction, which adds to its output."""
    accumulators: int
    """The most vectors: the others are the operation's own."""

    def accepts(self, key: SpecKey) -> bool:
        """Any dtypes; m innermost in src and n unpacked; out one run."""
        if key.kind != self.kind or not in_l1(*key.tensors):
            return False
        src, out = (t.layout for t in key.tensors)
        return (
            src.innermost == 0
            and src.pack(1) == 1
            and not is_interleaved(src)
            and out == Layout.row_major(1)
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """The accumulators fit; m stays within a pack."""
        vectors = vectors_of(frame.sizes[0], self.isa.lanes(frame.key.dtypes[0]))
        return (
            Condition(
                vectors <= self.accumulators,
                f"takes at most {self.accumulators} vectors of rows: tile m smaller",
            ),
            *within_pack(frame, 0, 0),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """Loads and operations, or the chains' latency, for each column."""
        m, n = frame.sizes
        runs = overlapping_count(m, self.isa.lanes(frame.key.dtypes[0]))
        element = CountedElements.of(self.kind, frame.key.dtypes, isa=self.isa)
        column = Phase(
            {"load": runs, **times(element.ops, runs)},
            element.chain,
            times=n,
        )
        ends = Phase({"load": runs}), Phase({"store": runs})
        return OpCounts((column, *ends), kernels=1)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """All of out is read before any is written: runs may overlap."""
        src, out = operands
        pair = _Combine(emitter, spec)
        m, n = spec.sizes
        runs = overlapping(m, self.isa.lanes(src.tensor.dtype))

        def step(at: Value, carried: Sequence[Value]) -> list[Value]:
            return [
                pair(held, emitter.load(src, (start, at), width))
                for held, (start, width) in zip(carried, runs, strict=True)
            ]

        held = [emitter.load(out, (start,), width) for start, width in runs]
        found = emitter.loop(0, n, 1, held, step)
        for vector, (start, _) in zip(found, runs, strict=True):
            emitter.store(vector, out, (start,))


@dataclasses.dataclass(frozen=True)
class _Plain:
    """Reductions of rows side by side: a vector is carried for each."""

    pair: "_Combine"

    def begin(self, first: Sequence[Value]) -> Sequence[Value]:
        """Loop-carried values after the first vectors."""
        return first

    def take(self, carried: Sequence[Value], loaded: Sequence[Value]) -> list[Value]:
        """Loop-carried values after more vectors are combined with them."""
        return [self.pair(a, b) for a, b in zip(carried, loaded, strict=True)]


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
        """Loop-carried values after more vectors are combined with them."""
        count = len(loaded)
        held = map(self.running.take_number, carried[:count], loaded)
        return [*held, *self._nan(carried[count:], loaded)]

    def _nan(self, held: Sequence[Value], loaded: Sequence[Value]) -> list[Value]:
        found = []
        for place, before in enumerate(held):
            chain, row = 2 * (place // self.rows), place % self.rows
            other = min(chain + 1, self.chains - 1)
            a, b = (loaded[c * self.rows + row] for c in (chain, other))
            found.append(self.running.emitter.nan_where_one_is(a, b, before))
        return found


@dataclasses.dataclass(frozen=True)
class _Combine:
    """Two values of a reduction become one: scalars or, lane by lane, vectors."""

    emitter: Emitter
    spec: Spec

    def __call__(self, held: Value, new: Value) -> Value:
        """Combine the accumulated value of out with an element of src."""

        def read(operand: int, step: int) -> Value:
            return (new, held)[operand]

        elements = EmittedElements(self.emitter, read)
        return self.spec.kind.element(elements, self.spec.dtypes)

    def tree(self, vectors: list[Value]) -> Value:
        """Vectors become one, in pairs."""
        while len(vectors) > 1:
            pairs = [
                self(a, b) for a, b in zip(vectors[::2], vectors[1::2], strict=False)
            ]
            vectors = pairs + vectors[len(vectors) & ~1 :]
        return vectors[0]


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
