"""Element rows of GEMV: how elements become products, sums and elements of out again.

A row says which dtypes it takes, how a register of elements becomes vectors that are
multiplied, what a product is, and what all this costs. The templates (`axpy.py`,
`dot.py`) have the loops, and ask a row for the rest.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from morello.cost.counts import Access, Lines, Op, OpCounts, Ops, Phase, add, times
from morello.kernels.code.casts import cast_ops
from morello.kernels.code.vectors import tail_of, vectors_of
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.machine.isa import Isa
from morello.spec import Dtype
from morello.spec.frame import Frame, Ints
from morello.spec.tensors.layout import ceil_div

Dtypes = Sequence[Dtype]
"""The dtypes of lhs, rhs and out."""

_UNSPILLED = 5
"""Rows of lhs with which LLVM keeps all sums in registers."""

_SPILLS = 2
"""How many sums it stores and loads for each row of rhs with more."""

_HIDES_L2 = 4
"""Rows of out whose sums take as long as a line of L2."""

_IN_FLIGHT = 16
"""Steps of a chain that out-of-order execution overlaps with what precedes them."""


@dataclasses.dataclass(frozen=True)
class Element(ABC):
    """A row: products of some dtypes in an instruction set.

    The axpy form takes a `unit` of columns at a time from each of `group` rows of rhs,
    and makes `parts` vectors of them. The dot form takes a `run` of elements along k,
    and makes `vectors` of them.
    """

    isa: Isa
    present: int = 0
    """Rows of the group, if not all."""
    group: ClassVar[int] = 1
    """Rows of rhs, elements along k, that are multiplied and added as one."""
    parts: ClassVar[int] = 1
    """Vectors of sums of a unit. They are in the order of out where there is one."""
    vectors: ClassVar[int] = 1
    """Vectors of a run: products that follow each other in a sum."""
    working: ClassVar[int] = 0
    """Registers of the axpy form besides sums and factors."""
    many: ClassVar[dict[int, tuple[int, ...]]] = {
        16: (0, 8, 5, 3, 2),
        32: (0, 8, 8, 8, 6, 5, 4, 3, 2),
    }
    """By registers, how many rows of the longer operand a dot product reads side by
    side, by the rows of the shorter: as many as have registers for their sums."""

    @property
    @abstractmethod
    def mixes(self) -> tuple[tuple[Dtype, ...], ...]:
        """The dtypes that the axpy form takes."""

    def takes(self, dtypes: Dtypes) -> bool:
        """Whether the dot form takes them."""
        return tuple(dtypes) in self.mixes

    def widens(self, dtypes: Dtypes) -> bool:
        """Whether rhs is widened so that lhs is best in f32."""
        return False

    @property
    def lanes(self) -> int:
        """Sums of a vector, of 4 bytes each."""
        return self.isa.lanes(Dtype.F32)

    @property
    def unit(self) -> int:
        """Number of columns of rhs that are loaded at a time."""
        return self.lanes

    @property
    def units(self) -> int:
        """Units of a step: a line of rhs."""
        return self.isa.line_vectors

    @property
    def step(self) -> int:
        """Columns that a pass takes at a time."""
        return self.unit * self.units

    @property
    def run(self) -> int:
        """Elements along k that are multiplied at a time."""
        return self.unit

    @property
    def beside(self) -> int:
        """Registers of the axpy form for factors and rhs, of several rows of lhs."""
        return 0

    @property
    def tail(self) -> "Element":
        """Row of the table for the columns that are left over after whole steps."""
        return self

    def rows_of(self, row: Value) -> tuple[Value, ...]:
        """The rows of rhs that are added as one."""
        return (row,)

    # The code of the axpy form.

    @abstractmethod
    def read(
        self, emitter: Emitter, rhs: Buffer, row: Value, start: Value, count: int
    ) -> tuple[Value, ...]:
        """Load up to a unit of columns of a row of rhs, without widening them."""

    @abstractmethod
    def widen(self, emitter: Emitter, loaded: Sequence[Value]) -> Sequence[Value]:
        """Widen loaded columns to `parts` vectors of the dtype of the sums."""

    def factor(self, emitter: Emitter, lhs: Buffer, i: int, row: Value) -> Value:
        """An element of lhs in every lane."""
        element = emitter.load_element(lhs, (0, i, row))
        element = emitter.convert(element, lhs.tensor.dtype, self.sum_of(lhs))
        return emitter.broadcast(element, self.lanes)

    def sum_of(self, buffer: Buffer) -> Dtype:
        """The dtype that elements of an operand are multiplied and added in."""
        return buffer.tensor.dtype.computes_in or buffer.tensor.dtype

    def multiply_add(
        self, emitter: Emitter, lhs: Value, rhs: Value, total: Value
    ) -> Value:
        """A sum to which products are added."""
        return emitter.multiply_add(lhs, rhs, total)

    def ordered(self, emitter: Emitter, sums: Sequence[Value]) -> Sequence[Value]:
        """Permute the sums of a unit into the order that out has."""
        return sums

    # The code of the dot form.

    def along(
        self, emitter: Emitter, buffer: Buffer, index: tuple[Value, ...], count: int
    ) -> tuple[Value, ...]:
        """Up to a run of elements along k, as they are multiplied."""
        loaded = emitter.load(buffer, index, self.lanes, count)
        return (emitter.convert(loaded, buffer.tensor.dtype, self.sum_of(buffer)),)

    @property
    def end(self) -> int:
        """Elements that are multiplied at a time where no run is left."""
        return self.run

    # What they cost.

    def multiply_add_ops(self, dtypes: Dtypes) -> tuple[Ops, Op]:
        """The instructions of a product and its sum, and which the next waits for."""
        op: Op = "fma" if dtypes[2].is_float else "multiply_add_int"
        return {op: 1}, op

    def widening_ops(self, dtypes: Dtypes, operand: int) -> Ops:
        """The instructions that widen a run of elements to the dtype of the sums."""
        return cast_ops((dtypes[operand], dtypes[2]))

    @property
    def masked(self) -> bool:
        """Whether one instruction reads the end of a run."""
        return True

    @abstractmethod
    def counts(self, frame: Frame, streams: int, ahead: bool) -> OpCounts:
        """Operations of the axpy form.

        Args:
            frame: the products.
            streams: rows, or groups, of rhs that are read side by side.
            ahead: whether they prefetch their own lines to L1.
        """

    def widening_of_sums(self, frame: Frame, vectors: Ints) -> Ops:
        """The instructions that widen columns of rhs to vectors of sums."""
        return times(self.widening_ops(frame.key.dtypes, 1), vectors)

    def widening_of_lhs(self, frame: Frame, count: Ints) -> Ops:
        """The instructions that widen so many elements of lhs."""
        lhs = frame.key.dtypes[0]
        return times(cast_ops((lhs, Dtype.F32)), count) if lhs.computes_in else {}

    ends: ClassVar[Ops] = {"load": 1, "store": 1}
    """The instructions that add a vector of sums to out."""

    def phases(
        self,
        frame: Frame,
        passes: Ints,
        chain: Ints,
        factors: Ints,
        ahead: bool = False,
    ) -> tuple[Phase, ...]:
        """The phases of all columns.

        Args:
            frame: the products.
            passes: how often each sum goes through memory.
            chain: multiply-adds one after another.
            factors: how often each element of lhs is loaded.
            ahead: whether rows of rhs prefetch their own lines to L1.
        """
        _, m, k, n = frame.sizes
        _, rhs, out = frame.key.tensors
        vectors = vectors_of(n, self.lanes)
        fetched = passes if out.level.is_main else fetched_in(frame, passes)
        packed = rhs.layout.is_packed
        access = Access.OVERLAPPED if packed else Access.DEMAND
        products = Phase(
            add({"fma": m * k * vectors}, self.widening_of_sums(frame, k * vectors)),
            {"fma": chain},
            (
                Lines(1, rhs.lines((1, k, n)), access, prefetched=ahead),
                *lines_of_out(fetched, passes, out.lines((1, m, n))),
            ),
        )
        row = m * k * factors
        begun = starts_of(frame, n)
        if packed:
            begun = (dataclasses.replace(begun[0], starts=1),)
        return (
            products,
            Phase(times(self.ends, passes * m * vectors)),
            Phase(add({"load": row}, self.widening_of_lhs(frame, row)), lines=begun),
        )


def fetched_in(frame: Frame, passes: Ints) -> Ints:
    """How often out is read, in so many passes over it."""
    return passes if frame.key.kind.accumulates else passes - 1


def lines_of_out(
    fetched: Ints, passes: Ints, lines: Ints, hidden: bool = True
) -> tuple[Lines, ...]:
    """Lines of out that are read ``fetched`` times, and written ``passes`` times."""
    return (
        Lines(2, fetched * lines, Access.OVERLAPPED),
        Lines(2, passes * lines, Access.STORED, hidden=hidden),
    )


def starts_of(frame: Frame, columns: Ints) -> tuple[Lines, ...]:
    """The rows of rhs that are begun."""
    runs = frame.key.tensors[1].runs((1, frame.sizes[2], columns))
    return (Lines(1, 0, Access.DEMAND, starts=runs, hidden=False),)


@dataclasses.dataclass(frozen=True)
class Stepped(Element):
    """A row whose steps of columns, and those that are left, are counted apart."""

    def counts(self, frame: Frame, streams: int, ahead: bool) -> OpCounts:
        """Operations of the axpy form: of passes, and of columns that are read once."""
        k, n = frame.sizes[2:]
        whole, rest = n // self.step * self.step, n % self.step
        several, single, left = whole > self.step, whole == self.step, rest > 0
        most = np.maximum(whole, 2 * self.step)
        parts = (
            (several, self.passes_of(frame, most, streams, ahead)),
            (single, self.once_of(frame, self.step, ahead)),
            (left, self.once_of(frame, rest, ahead)),
        )
        phases = tuple(
            dataclasses.replace(phase, times=count * 1)
            for count, every in parts
            for phase in every
        )
        passes = ceil_div(ceil_div(k, self.group), streams)
        loops = several * passes + (single * 1) + (left * 1)
        return OpCounts(phases, kernels=1, loops=loops)

    @abstractmethod
    def passes_of(
        self, frame: Frame, columns: Ints, streams: int, ahead: bool
    ) -> tuple[Phase, ...]:
        """The phases of some columns in passes over out."""

    @abstractmethod
    def once_of(self, frame: Frame, columns: Ints, ahead: bool) -> tuple[Phase, ...]:
        """The phases of some columns once over all of k."""


@dataclasses.dataclass(frozen=True)
class Whole(Stepped):
    """Elements as wide as sums, or widened in their order to be so."""

    @property
    def mixes(self) -> tuple[tuple[Dtype, ...], ...]:
        """f32, or s32."""
        return ((Dtype.F32,) * 3, (Dtype.S32,) * 3)

    @property
    def beside(self) -> int:
        """Number of registers besides the sums: for a step of rhs, and for a factor."""
        return self.units + 1

    def read(
        self, emitter: Emitter, rhs: Buffer, row: Value, start: Value, count: int
    ) -> tuple[Value, ...]:
        """A vector of columns, widened."""
        return self.along(emitter, rhs, (0, row, start), count)

    def widen(self, emitter: Emitter, loaded: Sequence[Value]) -> Sequence[Value]:
        """The vector as it is."""
        return loaded

    def passes_of(
        self, frame: Frame, columns: Ints, streams: int, ahead: bool
    ) -> tuple[Phase, ...]:
        """Phases, for the cost model, of columns that are computed in passes over out.

        A sum goes through memory from a pass to the next: four latencies. A single row
        waits for its lines; those of several arrive beside arithmetic, but for a few
        rows it is shorter. Lines of out that go back hide behind arithmetic where it
        takes two vectors a line.
        """
        _, m, k, _ = frame.sizes
        _, op = self.multiply_add_ops(frame.key.dtypes)
        steps, passes = columns // self.step, ceil_div(k, streams)
        vectors = steps * self.units
        fetched = fetched_in(frame, passes)
        stored = k // streams * self._spilled(m, streams)
        stored = stored + self._spilled(m, k % streams)
        # Sums that do not stay in registers go to the stack and come back.
        spilled = (m > _UNSPILLED) * _SPILLS * k * steps
        lines, one = k * steps, m == 1
        read = (
            Lines(1, lines * one, Access.DEMAND, prefetched=ahead),
            Lines(
                1, lines * (m > 1), Access.STREAMED, rows=m + streams, prefetched=ahead
            ),
            *lines_of_out(
                fetched,
                passes,
                m * vectors // self.isa.line_vectors,
                self.isa.line_vectors > 1,
            ),
        )
        ops: dict[Op, Ints] = {
            op: m * k * vectors,
            "load": vectors * (k + m * fetched) + steps * stored + spilled,
            "store": m * vectors * passes + spilled,
        }
        widening = self.widening_of_sums(frame, k * vectors)
        products = Phase({**ops, **widening}, {op: k + 4 * passes}, read)
        factors = Phase({"load": m * k}, lines=starts_of(frame, columns))
        return products, factors, Phase({"store": stored})

    def _spilled(self, m: Ints, rows: Ints) -> Ints:
        """The factors of some rows of rhs that are on the stack: registers are too few.

        Beside them are sums, a row of rhs, and zeros or a factor that comes from there.
        """
        free = self.isa.registers - self.units * (m + 1) - 1
        return np.maximum(m * rows - free, 0)

    def once_of(self, frame: Frame, columns: Ints, ahead: bool) -> tuple[Phase, ...]:
        """The phases of up to a step of columns, their sums in registers.

        It reads a strip of rhs, a line or two a row, that nothing prefetches.
        """
        _, m, k, _ = frame.sizes
        rhs, out = frame.key.tensors[1:]
        _, op = self.multiply_add_ops(frame.key.dtypes)
        vectors, masked = vectors_of(columns, self.lanes), tail_of(columns, self.lanes)
        fetched = fetched_in(frame, 1)
        several = np.asarray(m >= _HIDES_L2) * 1
        strip, runs = rhs.lines((1, k, columns)), rhs.runs((1, k, columns))
        lines = out.lines((1, m, columns))
        ops: dict[Op, Ints] = {
            op: k * m * vectors,
            "load": k * (m + vectors - masked),
            "masked_load": k * masked,
        }
        read = (
            Lines(1, strip * (1 - several), Access.DEMAND, runs, k, hidden=False),
            Lines(1, strip * several, Access.OVERLAPPED, rows=k, hidden=False),
            Lines(2, fetched * lines, Access.OVERLAPPED, hidden=False),
            Lines(2, lines, Access.STORED, hidden=False),
        )
        # Out-of-order execution hides the latency of a short chain.
        chain: Ops = {op: k - np.minimum(k, _IN_FLIGHT)}
        # Nothing of a sum overlaps with loading it, nor with storing it.
        ends = Phase({"load": m * vectors * fetched}), Phase({"store": 2 * m * vectors})
        return (
            Phase({**ops, **self.widening_of_sums(frame, k * vectors)}, chain, read),
            *ends,
        )
