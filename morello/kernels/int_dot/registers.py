"""GEMM of small numbers on registers: products of groups of neighbours along k.

Both factors have neighbours along k together, in twos or fours: one instruction
multiplies a group of lhs, in every lane, with groups of rhs and adds the products of
each group.
"""

import dataclasses
from collections.abc import Callable, Sequence

from morello.cost.counts import Access, Lines, OpCounts, Ops, Phase, add, times
from morello.cost.counts import Op as CostOp
from morello.kernels.code.casts import cast_ops
from morello.kernels.code.unroll import run_steps, trip
from morello.kernels.code.vectors import parts, vectors_of
from morello.kernels.emitter import Buffer, Emitter, Pack, Value
from morello.kernels.predicates import (
    GROUPS,
    free_vectors,
    grouped,
    in_l1,
    in_l2,
    in_registers,
    is_interleaved,
    size_is_one,
    within_pack,
)
from morello.kernels.template import Kernel, wanted_forms
from morello.machine.isa import Op
from morello.spec import Dtype, Form, Layout, Matmul, PhysicalDim, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.tensors.layout import LINE_BYTES, ceil_div

_WORD = 4

_ADDING: dict[Op, CostOp] = {Op.DOT4: "dot", Op.DOT2_BF16: "dot_bf16"}
"""Instructions that add their products to a sum by themselves, and their costs."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class IntDot(Kernel):
    """out[0,m,n] in registers += lhs[0,m,k] · rhs[0,k,n] in L1, of small numbers.

    Sums wrap as the Spec has it. `Op.DOT4` takes one factor without a sign and one with
    a sign. Of factors that are alike, the highest bits of lhs are flipped, which
    changes its numbers by 128; 128 times the sums of the columns of rhs make up for it.
    Of factors of two widths rhs is the narrow one, whose vectors are widened as they
    are loaded.

    The last of a number of k that is no multiple of the
    group is filled with zeros; of floats there is none, since what follows in rhs may
    be no number.
    """

    of_kind = Matmul

    dtypes: tuple[Dtype, Dtype, Dtype]
    """The dtypes of lhs, rhs and out."""
    group: int
    """Neighbours along k that are taken together."""
    instructions: tuple[Op, ...]
    """Instructions that multiply and add a group: the first takes both factors,
    each other one adds neighbours by multiplying with ones. One that adds to sums
    stands alone."""
    columns: tuple[int, ...]
    """Vectors of sums of the panels that it asks for rhs in."""
    rows: tuple[int, ...] = ()
    """Rows of the panels that it asks for lhs in; if none, lhs is read as it lies."""
    saturating: bool = False
    """Whether the sum of a group is saturated to the dtype of out."""
    flushing: bool = False
    """Whether it takes denormals for zero."""
    far: bool = False
    """Whether rhs may be in L2, too: its lines arrive while products are computed, and
    k need not be cut for L1."""
    distance: int = 0
    """Bytes of rhs beyond L1 from what is read to what is prefetched; 0 if nothing
    is."""
    alone: bool = False
    """Whether it takes no panels of rhs but those that it asks for."""

    @property
    def mixes(self) -> tuple[tuple[Dtype, ...], ...]:
        """The only dtype combination of this kernel."""
        return (self.dtypes,)

    def accepts(self, key: SpecKey) -> bool:
        """Check kind, dtypes, levels and layouts: rhs in panels of groups along k."""
        kind = Matmul(True, self.saturating, self.flushing)
        if key.kind != kind or key.dtypes != self.dtypes:
            return False
        lhs, rhs, out = key.tensors
        return (
            in_l1(lhs)
            and (in_l1(rhs) or (self.far and in_l2(rhs)))
            and in_registers(out, self.isa)
            and _takes_lhs(lhs.layout, self.group)
            and grouped(rhs.layout, self.group) == (1, 2)
            and (not self.alone or rhs.layout.pack(2) in self._widths)
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Everything that lives in the loop has a register; panels are not crossed."""
        _, m, k, n = frame.sizes
        vectors = vectors_of(n, self.isa.lanes(self.dtypes[2]))
        working = vectors + self._working + (vectors if self._flips else 0)
        return (
            size_is_one(frame, 0),
            *within_pack(frame, 0, 1),
            *within_pack(frame, 1, 2),
            Condition(
                k >= self.group,
                f"takes {GROUPS[self.group]} along k: k < {self.group} has none",
            ),
            *self._whole_groups(k),
            Condition(
                m * vectors + working <= self.isa.registers,
                f"needs registers for its sums, {self._rows_of_rhs} and "
                f"{self._working} more, in all {self.isa.registers}: tile m or n "
                "smaller",
            ),
            Condition(
                free_vectors(frame) >= working,
                f"needs free registers for {self._rows_of_rhs} and {self._working} "
                "more besides out: take fewer for out",
            ),
        )

    def _whole_groups(self, k: Ints) -> tuple[Condition, ...]:
        if not self.dtypes[2].is_float:
            return ()
        return (
            Condition(
                k % self.group == 0,
                f"takes whole {GROUPS[self.group]} along k: split k so",
            ),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """For each group products, sums and loads.

        Lines of rhs from L2 arrive meanwhile. Sums that instructions of their own add
        are not in the multiplier's chain. Groups narrower than a word are spread by a
        shuffle each.
        """
        _, m, k, n = frame.sizes
        vectors = vectors_of(n, self._lanes)
        products = m * vectors
        spread = m if self.group * self.dtypes[0].itemsize < _WORD else 0
        loads: Ops = {"shuffle": spread, "load": m + vectors}
        ops: Ops = {"fma": len(self.instructions) * products, "vector_op": products}
        chain: Ops = {"multiply_add_int": 1}
        if self._adds:
            cost = _ADDING[self.instructions[0]]
            ops, chain = {cost: products}, {cost: 1}
        if self._flips:
            ops = {cost: products + vectors, "vector_op": m}
        if self._widens:
            ops = add(ops, times(cast_ops(self.dtypes[1::-1]), vectors))
        lines = ceil_div(self._nbytes(vectors), LINE_BYTES)
        row = Lines(1, lines, Access.OVERLAPPED, prefetched=self.distance > 0)
        step = Phase(add(loads, ops), chain, (row,), times=ceil_div(k, self.group))
        return OpCounts((step,), kernels=1)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """A loop over groups that carries the accumulators; written out for a few."""
        out = operands[2]
        _, m, k, n = spec.sizes
        runs = parts(n, self._lanes)
        places = [(0, i, j) for i in range(m) for j in range(len(runs))]

        group = self.group

        def step(
            at: Value, carried: Sequence[Value], count: int = group
        ) -> list[Value]:
            return self._step(emitter, operands, runs, at, carried, count)

        sums: Sequence[Value] = [emitter.load_register(out, at) for at in places]
        if self._flips:
            zero = emitter.constant(self.dtypes[2], 0, self._lanes)
            sums = [*sums, *(zero for _ in runs)]
        whole, each = k // group, trip(self.dtypes[2], m, len(runs))
        ahead = self._ahead(emitter, operands[1], each * self._nbytes(len(runs)))
        sums = run_steps(emitter, whole, sums, step, each, ahead)
        if k % group:
            sums = step(whole, sums, k % group)
        if self._flips:
            sums = [
                emitter.subtract(total, sums[len(places) + j])
                for total, (_, _, j) in zip(sums, places, strict=False)
            ]
        for total, place in zip(sums, places, strict=True):
            emitter.store_register(total, out, place)

    def _nbytes(self, vectors: Ints) -> Ints:
        """Bytes of rhs of a step."""
        return vectors * self._lanes * self.group * self.dtypes[1].itemsize

    def _ahead(
        self, emitter: Emitter, rhs: Buffer, nbytes: Ints
    ) -> Callable[[Value], None] | None:
        """A function that asks for the lines of a trip, ``nbytes`` long, further on;
        None where nothing does."""
        if not self.distance or in_l1(rhs.tensor):
            return None
        row = rhs.tensor.layout.pack(2) * self.group * self.dtypes[1].itemsize

        def ask(at: Value) -> None:
            for start in range(0, int(nbytes), LINE_BYTES):
                later = emitter.offset(at, (self.distance + start) // row)
                emitter.prefetch(rhs, (0, Pack(later, self.group), 0), to_l1=True)

        return ask

    def _step(
        self,
        emitter: Emitter,
        operands: Sequence[Buffer],
        runs: list[tuple[int, int]],
        at: Value,
        carried: Sequence[Value],
        count: int,
    ) -> list[Value]:
        """Add the products of group ``at``, of which ``count`` elements are there."""
        lhs, rhs, _ = operands
        width = self.group * self._lanes
        k = Pack(at, self.group)
        row = [
            emitter.load_groups(rhs, (0, k, start), 2, self.group, width, length)
            for start, length in runs
        ]
        if self._widens:
            row = [emitter.convert(v, *self.dtypes[1::-1]) for v in row]
        if self._adds:
            return self._added(emitter, lhs, row, k, carried, count)
        sums: list[Value] = []
        rows = len(carried) // len(runs)
        for first in range(0, rows, self._rows_together(len(runs))):
            factors = [
                emitter.load_group(lhs, (0, i, k), self.group, count, width)
                for i in range(first, min(first + self._rows_together(len(runs)), rows))
            ]
            # Products of a row before their sums, which share the multipliers' ports.
            products: Sequence[Value] = [
                self._product(emitter, factor, column)
                for factor in factors
                for column in row
            ]
            if len(factors) > 1:
                products = emitter.together(products)
            chains = carried[len(sums) : len(sums) + len(products)]
            sums += [
                emitter.add(chain, product)
                for product, chain in zip(products, chains, strict=True)
            ]
        return sums

    def _added(
        self,
        emitter: Emitter,
        lhs: Buffer,
        row: Sequence[Value],
        k: Pack,
        carried: Sequence[Value],
        count: int,
    ) -> list[Value]:
        """`_step` of an instruction that adds its products to sums."""
        (op,) = self.instructions
        lhs_dtype, rhs_dtype, _ = self.dtypes
        width = self.group * self._lanes
        highest_bit = lhs_dtype.lowest if lhs_dtype.is_signed else 128
        flip = emitter.constant(lhs_dtype, highest_bit, width) if self._flips else None
        sums: list[Value] = []
        for i in range(len(carried) // len(row)):
            is_correction = flip is not None and (i + 1) * len(row) == len(carried)
            if is_correction:
                factor = flip
            else:
                factor = emitter.load_group(lhs, (0, i, k), self.group, count, width)
                factor = factor if flip is None else emitter.subtract(factor, flip)
            chains = carried[len(sums) :]
            for chain, column in zip(chains, row, strict=False):
                pair = (factor, column) if rhs_dtype.is_signed else (column, factor)
                sums.append(emitter.dot_add(op, chain, *pair))
        return sums

    def _product(self, emitter: Emitter, lhs: Value, rhs: Value) -> Value:
        """The products of a group, added: a lane of a sum each."""
        first, *others = self.instructions
        product = emitter.dot(first, lhs, rhs)
        for op in others:
            ones = emitter.constant(Dtype.S16, 1, self.isa.lanes(Dtype.S16))
            product = emitter.dot(op, product, ones)
        return product

    def _rows_together(self, vectors: int) -> int:
        """Rows of so many vectors whose products are all done before their sums.

        Of two instructions a product, a sum after each takes a multiplier's port.
        """
        return 2 if vectors == 1 and len(self.instructions) > 1 else 1

    @property
    def _adds(self) -> bool:
        """Whether products go to their sum in one instruction."""
        return self.instructions[0] in _ADDING

    @property
    def _widens(self) -> bool:
        """Whether rhs gets the width of lhs in registers."""
        lhs, rhs, _ = self.dtypes
        return rhs.itemsize < lhs.itemsize

    @property
    def _flips(self) -> bool:
        """Whether lhs gets a sign, or loses it, for an instruction that wants that."""
        lhs, rhs, _ = self.dtypes
        return self.instructions[0] is Op.DOT4 and lhs.is_signed == rhs.is_signed

    @property
    def _rows_of_rhs(self) -> str:
        """The registers of a vector each, by what they hold, for messages."""
        sums = " and the sums of its columns" if self._flips else ""
        return f"a row of rhs{sums}"

    @property
    def _working(self) -> int:
        """Registers besides sums and a row of rhs: a group of lhs, a product, the ones
        that products are multiplied by, and the bits that are flipped."""
        if self._adds:
            return 2 if self._flips else 1
        return 1 + len(self.instructions)

    @property
    def _lanes(self) -> int:
        """Sums of a register."""
        return self.isa.lanes(self.dtypes[2])

    @property
    def _widths(self) -> tuple[int, ...]:
        """Widths, in columns, of the panels of rhs that it asks for."""
        return tuple(vectors * self._lanes for vectors in self.columns)

    @property
    def _forms(self) -> dict[int, tuple[Form, ...]]:
        """Layouts that it asks for, by operand: panels of groups."""
        group = self.group
        rows = (Layout.parse(f"[0,1,2,1p{r},2p{group}]") for r in self.rows)
        panels = (Layout.parse(f"[0,2,1,2p{c},1p{group}]") for c in self._widths)
        lhs, rhs, _ = self.dtypes
        forms = {1: tuple(Form(rhs, layout) for layout in panels)}
        if self.rows:
            forms[0] = tuple(Form(lhs, layout) for layout in rows)
        return forms

    def _computes(self, key: SpecKey) -> bool:
        """Whether a Spec is a product of the kernel's kind, or becomes one by
        `to_accum`."""
        kind = key.kind
        return isinstance(kind, Matmul) and (kind.saturating, kind.flushing) == (
            self.saturating,
            self.flushing,
        )

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """Panels of groups, where the other operands are, or can be, what it takes."""
        if not self._computes(key):
            return ()
        lhs, _, out = key.tensors
        if self.rows:
            fits = out.dtype is self.dtypes[2] or out.dtype.widens_to(self.dtypes[2])
        else:
            fits = (lhs.dtype, out.dtype) == self.dtypes[::2]
            fits = fits and _takes_lhs(lhs.layout, self.group)
        return wanted_forms(key, operand, self._forms) if fits else ()

    def register_operands(self, key: SpecKey) -> tuple[int, ...]:
        """out."""
        return (2,) if self._computes(key) else ()

    def register_dtype(self, key: SpecKey, operand: int) -> Dtype:
        """The dtype of the operand in registers, as the kernel defines it."""
        return self.dtypes[operand]


def _takes_lhs(layout: Layout, group: int) -> bool:
    """Groups along k are together: packed so, or because k is innermost."""
    if is_interleaved(layout):
        return False
    return layout.dims[-1] == PhysicalDim(2, group) or (
        layout.pack(2) == 1 and layout.innermost == 2
    )
