"""Matmul of small integers on registers: products of pairs, added as they are made.

Both factors have neighbours along k together, two by two: one instruction multiplies a
pair of lhs, in every lane, with pairs of rhs and adds each two products.
"""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from morello.cost.counts import OpCounts, Phase
from morello.kernels.emitter import Buffer, Emitter, Pack, Value
from morello.kernels.predicates import (
    GROUPS,
    PAIR,
    grouped,
    in_l1,
    in_registers,
    is_interleaved,
    size_is_one,
    within_pack,
)
from morello.kernels.template import Kernel, asks
from morello.kernels.unroll import run_steps, trip
from morello.kernels.vectors import parts, vectors_of
from morello.spec import Dtype, Form, Layout, Matmul, PhysicalDim, Spec, SpecKey
from morello.spec.frame import Condition, Frame

_WORD = 4


def pair_forms(
    lhs: Dtype, rhs: Dtype, columns: tuple[int, ...]
) -> dict[int, tuple[Form, ...]]:
    """The panels of pairs that are asked for: 4 or 6 rows of lhs, columns of rhs."""
    rows = (Layout.parse(f"[0,1,2,1p{r},2p{PAIR}]") for r in (4, 6))
    panels = (Layout.parse(f"[0,2,1,2p{c},1p{PAIR}]") for c in columns)
    return {
        0: tuple(Form(lhs, layout) for layout in rows),
        1: tuple(Form(rhs, layout) for layout in panels),
    }


@dataclasses.dataclass(frozen=True)
class MatmulPairs(Kernel):
    """out[0,m,n] in registers += lhs[0,m,k] · rhs[0,k,n] in L1, of s16 into s32.

    Products of two s16 are exact, their sums wrap as the Spec has it. The last of an
    odd number of k is a pair with zero; k = 1 has no pair.
    """

    kind: ClassVar[Matmul] = Matmul(accum=True)
    group: ClassVar[int] = PAIR
    """Neighbours along k that one instruction takes together."""
    beside: ClassVar[int] = 2
    """Registers beside sums and a row of rhs: a pair of lhs, and a product."""
    dtypes: ClassVar[tuple[Dtype, ...]] = (Dtype.S16, Dtype.S16, Dtype.S32)
    asked: ClassVar[dict[int, tuple[Form, ...]]] = pair_forms(
        Dtype.S16, Dtype.S16, (16,)
    )

    def accepts(self, key: SpecKey) -> bool:
        """Its kind and dtypes; rhs in panels of pairs, pairs of lhs together."""
        if key.kind != self.kind or key.dtypes != self.dtypes:
            return False
        lhs, rhs, out = key.tensors
        return (
            in_l1(lhs, rhs)
            and in_registers(out, self.isa)
            and takes_lhs(lhs.layout, self.group)
            and grouped(rhs.layout, self.group) == (1, 2)
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Everything that lives in the loop has a register; panels are not crossed."""
        _, m, k, n = frame.sizes
        vectors = vectors_of(n, self.isa.lanes(self.dtypes[2]))
        beside = vectors + self.beside
        return (
            size_is_one(frame, 0),
            *within_pack(frame, 0, 1),
            *within_pack(frame, 1, 2),
            Condition(
                k >= self.group,
                f"takes {GROUPS[self.group]} along k: k < {self.group} has none",
            ),
            Condition(
                m * vectors + beside <= self.isa.registers,
                f"needs registers for its sums, a row of rhs and {self.beside} more, "
                f"in all {self.isa.registers}: tile m or n smaller",
            ),
            Condition(
                frame.limits.vrf >= beside,
                f"needs free registers for a row of rhs and {self.beside} more beside "
                "out: take fewer for out",
            ),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """For each pair products, sums and loads.

        The sums are not in the multiplier's chain. Pairs narrower than a word are
        spread by a shuffle each.
        """
        _, m, k, n = frame.sizes
        products = m * vectors_of(n, self.isa.lanes(self.dtypes[2]))
        spread = m if PAIR * self.dtypes[0].itemsize < _WORD else 0
        loads = m + vectors_of(n, self.isa.lanes(self.dtypes[2]))
        step = Phase(
            {"fma": products, "vector_op": products, "shuffle": spread, "load": loads},
            {"multiply_add_int": 1},
            times=(k + 1) // PAIR,
        )
        return OpCounts((step,), kernels=1)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """A loop over groups that carries the accumulators; written out for a few."""
        out = operands[2]
        _, m, k, n = spec.sizes
        runs = parts(n, self.isa.lanes(self.dtypes[2]))
        places = [(0, i, j) for i in range(m) for j in range(len(runs))]

        group = self.group

        def step(
            at: Value, carried: Sequence[Value], count: int = group
        ) -> list[Value]:
            return self._step(emitter, operands, runs, at, carried, count)

        sums: Sequence[Value] = [emitter.load_register(out, at) for at in places]
        whole = k // group
        sums = run_steps(emitter, whole, sums, step, trip(self.dtypes[2], m, len(runs)))
        if k % group:
            sums = step(whole, sums, k % group)
        for total, place in zip(sums, places, strict=True):
            emitter.store_register(total, out, place)

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
        width = self.group * self.isa.lanes(self.dtypes[2])
        k = Pack(at, self.group)
        row = [
            emitter.load_groups(rhs, (0, k, start), 2, self.group, width, length)
            for start, length in runs
        ]
        sums: list[Value] = []
        rows = len(carried) // len(runs)
        for first in range(0, rows, self.rows_beside(len(runs))):
            factors = [
                emitter.load_group(lhs, (0, i, k), self.group, count, width)
                for i in range(first, min(first + self.rows_beside(len(runs)), rows))
            ]
            # Products of a row before their sums, which share the multipliers' ports.
            products: Sequence[Value] = [
                self.product(emitter, factor, column)
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

    def rows_beside(self, vectors: int) -> int:
        """Rows of so many vectors whose products are all done before their sums."""
        return 1

    def product(self, emitter: Emitter, lhs: Value, rhs: Value) -> Value:
        """The products of a group, added: a lane of a sum each."""
        return emitter.multiply_pairs(lhs, rhs)

    def _computes(self, key: SpecKey) -> bool:
        """Whether it is a product of its kind, or becomes one that accumulates."""
        kind = key.kind
        return isinstance(kind, Matmul) and kind.saturating is self.kind.saturating

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """Panels of pairs, where the output is or can be in its dtype."""
        if not self._computes(key):
            return ()
        out = key.tensors[2].dtype
        if out is not self.dtypes[2] and not out.widens_to(self.dtypes[2]):
            return ()
        return asks(key, operand, self.asked)

    def register_operands(self, key: SpecKey) -> tuple[int, ...]:
        """out."""
        return (2,) if self._computes(key) else ()

    def register_dtype(self, key: SpecKey, operand: int) -> Dtype:
        """That of its sums."""
        return self.dtypes[operand]


def takes_lhs(layout: Layout, group: int) -> bool:
    """Groups along k are together: packed so, or because k is innermost."""
    if is_interleaved(layout):
        return False
    return layout.dims[-1] == PhysicalDim(2, group) or (
        layout.pack(2) == 1 and layout.innermost == 2
    )
