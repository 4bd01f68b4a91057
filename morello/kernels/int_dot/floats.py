"""GEMM of bytes on the adders of floats: products of pairs that are never negative.

An f32 whose bits are an integer below 2^24 is that integer times 2^-149: a denormal
number, or one of the binade above, which has the same last place. So the sum of two is
the sum of their bits, exactly. The products of pairs that `IntDot` adds by
``vpaddd`` share ports with those additions; ``vaddps`` has ports of its own, so that
products and sums go on at full speed side by side.

rhs is stored with 128 added, for products to have no sign; 128 times the sum of a row
of lhs is taken off at the end.
"""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from morello.cost.counts import Access, Lines, OpCounts, Ops, Phase, times
from morello.kernels.code.vectors import parts, vectors_of
from morello.kernels.emitter import Buffer, Emitter, Pack, Value
from morello.kernels.predicates import PAIR, free_vectors, in_l1, paired, size_is_one
from morello.kernels.template import Kernel, wanted_forms
from morello.machine.isa import Op
from morello.spec import Dtype, Encoding, Form, Layout, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame
from morello.spec.tensors.layout import ceil_div

PART = 256
"""Terms of a sum that is exact in f32: products of two bytes are at most 255^2,
2^24 / 258."""

_LANE_BYTES = 128
"""Bytes that are added up in a lane of 16 bits. Parts of k are written out."""

_FEW = 8
"""Up to so many sums have a loop of two pairs, whose counters are then a twelfth of its
instructions; more leave no register for LLVM to bring a second pair early."""

_WORKING = 2
"""Registers besides sums and a row of rhs: a pair of lhs, where the last product of a
row goes, and another product."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class IntDotFloat(Kernel):
    """out[0,m,n] (+)= lhs[0,m,k] · rhs[0,k,n], rhs in L1 or L2, of bytes in 16 bits.

    Exact for all bytes, and wrapping in out, as the Spec has it. The last of an odd
    number of k is a pair with zero. Panels of rhs are read from end to end, a line for
    the products of a row of lhs with 16 columns, so that they need not be in L1 for six
    rows; what a row of lhs takes off is computed once for all of them.
    """

    of_kind = Matmul

    needs_denormals: ClassVar[bool] = True
    dtypes: ClassVar[tuple[Dtype, ...]] = (Encoding.U8W, Encoding.S8Z, Dtype.S32)

    most_far_k: int
    """k where rhs is in L2: a panel that passes through L1 leaves rows of lhs there."""

    @property
    def _columns(self) -> int:
        """Columns whose sums are in registers at a time: a line of rhs."""
        return self.isa.line_vectors * self._lanes

    @property
    def _lanes(self) -> int:
        """Sums in a register."""
        return self.isa.lanes(self.dtypes[2])

    @property
    def _wide(self) -> int:
        """Elements of a factor in a register."""
        return self.isa.lanes(self.dtypes[0])

    @property
    def mixes(self) -> tuple[tuple[Dtype, ...], ...]:
        """The only dtype combination of this kernel."""
        return (self.dtypes,)

    def accepts(self, key: SpecKey) -> bool:
        """k innermost in lhs, rhs in panels of pairs, n innermost in out."""
        if not self._computes(key) or key.dtypes != self.dtypes:
            return False
        rhs = key.tensors[1]
        lhs, panels, out = (tensor.layout for tensor in key.tensors)
        return (
            in_l1(key.tensors[0], key.tensors[2])
            and rhs.level.is_cache
            and not lhs.is_packed
            and lhs.innermost == 2
            and paired(panels) == (1, 2)
            and panels.pack(2) == self._columns
            and not out.is_packed
            and out.innermost == 2
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Exact sums; registers for all that lives in the loop; a bound of the code."""
        _, m, k, n = frame.sizes
        rhs = frame.key.tensors[1]
        most = _LANE_BYTES * self._wide if in_l1(rhs) else self.most_far_k
        vectors = vectors_of(np.minimum(n, self._columns), self._lanes)
        working = vectors + _WORKING
        return (
            size_is_one(frame, 0),
            Condition(k >= PAIR, "takes pairs along k: k = 1 has none"),
            Condition(k <= most, f"takes at most {most} k: tile k smaller"),
            Condition(
                free_vectors(frame) >= m * vectors + working,
                "needs free registers for the sums of a panel, a row of rhs, a pair of "
                f"lhs and a product, of {self.isa.registers}: tile m smaller",
            ),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """For each pair products, loads and the chains of sums.

        Sums have ports of their own. Rows of lhs are added up once, 16 elements at a
        time.
        """
        _, m, k, n = frame.sizes
        vectors, runs = vectors_of(n, self._lanes), ceil_div(n, self._columns)
        steps = ceil_div(k, PAIR)
        loop = Phase(
            {"fma": steps * m * vectors, "load": steps * (runs * m + vectors)},
            {"fma": steps * runs},
            (Lines(1, steps * runs, Access.DEMAND),),
        )
        stores = ceil_div(k, PART)
        loads = stores if frame.key.kind.accumulates else stores - 1
        ends = times(
            {"load": loads, "vector_op": stores + 1, "store": stores}, m * vectors
        )
        rows: Ops = {
            "load": m * ceil_div(k, self._wide),
            "fma": m,
            "shuffle": 3 * m,
            "vector_op": 3 * m,
        }
        phases = loop, Phase(ends), Phase(rows), Phase(chain={"fma": 1})
        return OpCounts(phases, kernels=1, trips=steps * runs)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Emit the corrections for rows of lhs once, then each run of columns."""
        n, columns = spec.sizes[3], self._columns
        whole, rest = n // columns, n % columns
        taken = () if n <= columns else self._taken(emitter, spec, operands[0])

        def run(number: Value, width: int = columns) -> None:
            self._run(emitter, spec, operands, Pack(number, columns), width, taken)

        def next_run(number: Value, carried: Sequence[Value]) -> Sequence[Value]:
            run(number)
            return carried

        if whole > 1:
            emitter.loop(0, whole, 1, (), next_run)
        elif whole:
            run(0)
        if rest:
            run(whole, rest)

    def _run(
        self,
        emitter: Emitter,
        spec: Spec,
        operands: Sequence[Buffer],
        first: Pack,
        width: int,
        taken: Sequence[Value],
    ) -> None:
        """``width`` columns from ``first`` on, in parts of k that are added up in out.

        What rows of lhs take off, where it is not given, comes with the first part:
        before its loop, LLVM would bring the rows there and add them up behind it.
        """
        out = operands[2]
        _, m, k, _ = spec.sizes
        columns = [
            (emitter.offset(first, at), size) for at, size in parts(width, self._lanes)
        ]
        places = [(i, at, size) for i in range(m) for at, size in columns]
        if (
            spec.kind.accumulates or k >= PART
        ):  # of few products, stores alone are faster
            for i in range(m):
                emitter.prefetch(out, (0, i, first), to_l1=True)
        for start in range(0, k, PART):
            part = start, min(PART, k - start)
            sums = self._sums(emitter, spec, operands, columns, part)
            taken = taken or self._taken(emitter, spec, operands[0])
            for total, (i, at, size) in zip(sums, places, strict=True):
                whole = emitter.reinterpret(total, Dtype.S32)
                if start == 0:
                    whole = emitter.add(whole, taken[i])
                if start or spec.kind.accumulates:
                    old = emitter.load(out, (0, i, at), self._lanes, size)
                    whole = emitter.add(whole, old)
                emitter.store(whole, out, (0, i, at), size)

    def _sums(
        self,
        emitter: Emitter,
        spec: Spec,
        operands: Sequence[Buffer],
        columns: list[tuple[Value, int]],
        part: tuple[int, int],
    ) -> Sequence[Value]:
        """The sums of a part of k in a run of columns, as bits of floats."""
        lhs, rhs, _ = operands
        start, size = part

        def step(at: Value, carried: Sequence[Value], count: int = PAIR) -> list[Value]:
            return _step(emitter, lhs, rhs, columns, at, carried, count)

        def several(at: Value, carried: Sequence[Value]) -> Sequence[Value]:
            for pair in range(unroll):
                carried = step(emitter.offset(at, pair), carried)
            return carried

        zero = emitter.constant(Dtype.F32, 0.0, self._lanes)
        sums: Sequence[Value] = [zero] * (spec.sizes[1] * len(columns))
        unroll = 2 if len(sums) <= _FEW else 1
        begin, end = start // PAIR, (start + size) // PAIR
        looped = end - (end - begin) % unroll
        if looped > begin:
            sums = emitter.loop(begin, looped, unroll, sums, several)
        for at in range(looped, end):
            sums = step(at, sums)
        return step(end, sums, 1) if size % PAIR else sums

    def _taken(self, emitter: Emitter, spec: Spec, lhs: Buffer) -> Sequence[Value]:
        """Corrections to add for each row of lhs: -128 times the sum of the row."""
        return [self._row_sum(emitter, spec, lhs, i) for i in range(spec.sizes[1])]

    def _row_sum(self, emitter: Emitter, spec: Spec, lhs: Buffer, row: int) -> Value:
        """-128 times the sum of a row of lhs, in every lane.

        Lanes of 16 bits hold the sums of up to 128 bytes.
        """
        k, wide = spec.sizes[2], self._wide

        def step(at: Value, carried: Sequence[Value], count: int = wide) -> list[Value]:
            part = emitter.load(lhs, (0, row, at), self._wide, count)
            return [emitter.add(carried[0], part)]

        sums: Sequence[Value] = [emitter.constant(Encoding.U8W, 0, self._wide)]
        whole = k - k % self._wide
        if whole:
            sums = emitter.loop(0, whole, self._wide, sums, step)
        if k % self._wide:
            sums = step(whole, sums, k % self._wide)
        factor = emitter.constant(Dtype.S16, -Encoding.S8Z.zero_point, self._wide)
        total = emitter.dot(Op.DOT2, sums[0], factor)
        for distance in (4, 2, 1):
            turned = [lane ^ distance for lane in range(self._lanes)]
            total = emitter.add(total, emitter.shuffle(total, total, turned))
        return total

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """Bytes in 16 bits, where out is s32."""
        if not self._computes(key) or key.tensors[2].dtype is not self.dtypes[2]:
            return ()
        panels = Layout.parse(f"[0,2,1,2p{self._columns},1p{PAIR}]")
        forms: dict[int, tuple[Form, ...]] = {
            0: (Form(self.dtypes[0], Layout.row_major(3)),),
            1: (Form(self.dtypes[1], panels),),
        }
        return wanted_forms(key, operand, forms)

    def _computes(self, key: SpecKey) -> bool:
        return isinstance(key.kind, Matmul) and not key.kind.saturating


def _step(
    emitter: Emitter,
    lhs: Buffer,
    rhs: Buffer,
    runs: list[tuple[Value, int]],
    at: Value,
    carried: Sequence[Value],
    count: int,
) -> list[Value]:
    """Add the products of pair ``at``, of which ``count`` elements are there."""
    k, wide = Pack(at, PAIR), emitter.isa.lanes(lhs.tensor.dtype)
    row = [
        emitter.load_groups(rhs, (0, k, start), 2, PAIR, wide, length)
        for start, length in runs
    ]
    sums = []
    for i in range(len(carried) // len(runs)):
        factor = emitter.load_group(lhs, (0, i, k), PAIR, count, wide)
        chains = carried[i * len(runs) : (i + 1) * len(runs)]
        products = emitter.together(
            [emitter.dot(Op.DOT2, factor, column) for column in row]
        )
        sums += [
            emitter.add(chain, emitter.reinterpret(product, Dtype.F32))
            for product, chain in zip(products, chains, strict=True)
        ]
    return sums
