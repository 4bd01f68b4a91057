"""GEMV in its axpy form: rows of rhs are read once, and each is added to out, scaled.

For a few rows of rhs the kernel passes over out once: it reads as many streams side by
side, which brings memory to its bandwidth, and loads and stores out once for all of
them. Lines that come next are prefetched meanwhile.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from morello.cost.counts import OpCounts
from morello.kernels.code.prefetch import (
    NEXT_ROWS,
    AlongRows,
    NextRows,
    Prefetch,
    halves_of_rows,
)
from morello.kernels.code.vectors import vectors_of
from morello.kernels.emitter import Buffer, Emitter
from morello.kernels.gemv.columns import Columns, prefetched_from, room_to_prefetch
from morello.kernels.gemv.elements import Element
from morello.kernels.predicates import (
    free_vectors,
    in_l1,
    in_l2,
    is_interleaved,
    size_is_one,
    within_pack,
)
from morello.kernels.template import Kernel
from morello.spec import Dtype, Form, Layout, Matmul, Memory, Spec, SpecKey
from morello.spec.frame import Condition, Frame

_N = 3
"""The place of n among the dimensions of the product."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GemvAxpy(Kernel):
    """out[0,m,n] = or += lhs[0,m,k] in L1 · rhs[0,k,n], both of these anywhere.

    A single row of lhs has its factors in registers; of more rows each factor is loaded
    where it is used. Columns that are no full vector are read with masks. A panel of
    rhs is read from end to end, with all sums in registers.
    """

    of_kind = Matmul

    element: Element
    """The products that it has, and how elements become them."""
    streams: int = 8
    """Rows, or groups, of rhs that are read side by side."""
    prefetch: Prefetch = NEXT_ROWS
    """Lines of rhs that are prefetched, where it is beyond L2."""
    rows: tuple[int, int] = (1, 6)
    """The fewest and the most rows of lhs: each takes a line in registers."""
    far: bool = True
    """Whether rhs has to be beyond L2."""
    blocks: int = 0
    """The fewest blocks of ``streams`` rows that rhs has."""
    scattered: bool = False
    """Whether the rows that are read side by side are far from each other: they are
    read on to their neighbours, so that rhs has no gaps."""
    panel: int = 0
    """Vectors of rhs in a row of the panels that rhs may be packed in."""

    @property
    def columns(self) -> int:
        """Columns of a panel."""
        return self.panel * self.element.unit

    @property
    def layout(self) -> Layout:
        """Layout of rhs that it asks for: panels of columns, each contiguous."""
        return Layout.parse(f"[0,2,1,2p{self.columns}]")

    @property
    def mixes(self) -> tuple[tuple[Dtype, ...], ...]:
        """The products that it has."""
        return self.element.mixes

    def accepts(self, key: SpecKey) -> bool:
        """k unpacked, n innermost in rhs and out; k innermost in lhs where neighbours
        along it are multiplied as one.

        Then rhs is not in L2: who reads it again and again from there, a line a row,
        which nothing prefetches, waits longer than a packed copy takes.
        """
        if not isinstance(key.kind, Matmul) or key.dtypes not in self.mixes:
            return False
        lhs, rhs, out = key.tensors
        packed = rhs.layout.is_packed
        grouped = self.element.group > 1
        return (
            not key.kind.saturating
            and in_l1(lhs)
            and not (rhs.level.is_registers or out.level.is_registers)
            and not is_interleaved(lhs.layout)
            and lhs.layout.pack(2) == 1
            and all(t.layout.innermost == 2 for t in (rhs, out))
            and (not packed or (bool(self.panel) and rhs.layout == self.layout))
            and not out.layout.is_packed
            and (rhs.level.is_main or not self.far)
            and (packed or rhs.contiguous or not self.scattered)
            and not (grouped and (lhs.layout.innermost != 2 or in_l2(rhs)))
        )

    def levels_needed(self, key: SpecKey) -> frozenset[Memory]:
        """L2, where the next rows are prefetched."""
        if not isinstance(self.prefetch, NextRows):
            return frozenset()
        return prefetched_from(key, [mix[1] for mix in self.mixes])

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """lhs in f32, and panels of rhs, where rhs is widened."""
        if not isinstance(key.kind, Matmul) or not self.element.widens(key.dtypes):
            return ()
        if operand == 0:
            return (Form(Dtype.F32, Layout.row_major(3)),)
        fits = operand == 1 and self.panel
        return (Form(key.dtypes[1], self.layout),) if fits else ()

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Few rows, registers for the sums, and room for what is prefetched."""
        m, k = frame.sizes[1:3]
        group = self.element.group
        fewest, most = self.rows
        least = self.blocks * self.streams
        optional = (
            (
                group > 1,
                Condition(
                    k >= group, f"takes {group} rows of rhs as one: k is smaller"
                ),
            ),
            (
                fewest > 1,
                Condition(m >= fewest, "takes more than one row: use gemv_axpy"),
            ),
            (
                least > 0,
                Condition(
                    k >= least, f"takes at least {least} rows of rhs: do not split k"
                ),
            ),
        )
        return (
            size_is_one(frame, 0),
            *within_pack(frame, 0, 1),
            *within_pack(frame, 1, 2),
            Condition(
                m <= most,
                f"takes at most {most} rows: tile m smaller"
                if most > 1
                else "takes one row: tile m to 1",
            ),
            *self._registers(frame),
            *self._room(frame),
            *(_beside_rhs(frame) if self.element.parts == 1 else ()),
            *(condition for applies, condition in optional if applies),
        )

    def _registers(self, frame: Frame) -> tuple[Condition, ...]:
        """Number of vector registers for sums and factors; where rhs is in panels, for
        the sums of all columns of a panel."""
        _, m, _, n = frame.sizes
        element = self.element
        sums = element.parts * element.units * m
        factors = np.where(m == 1, self.streams, element.beside)
        free = Condition(
            free_vectors(frame) >= sums + factors + element.working,
            "needs free registers for sums and factors: tile m smaller, or take fewer",
        )
        if not frame.key.tensors[1].layout.is_packed:
            return (free,)
        most = self.isa.registers // 2
        text = f"takes at most {most} vectors of sums: tile m or n smaller"
        return free, Condition(m * vectors_of(n, element.lanes) <= most, text)

    def _room(self, frame: Frame) -> tuple[Condition, ...]:
        """Room for the next rows, or rows long enough to prefetch their own lines."""
        rhs, rows = frame.key.tensors[1], self.streams * self.element.group
        if rhs.layout.is_packed:
            return ()
        match self.prefetch:
            case NextRows():
                return room_to_prefetch(frame, rows)
            case AlongRows() as ahead:
                step = self.element.step
                distance = ahead.distance(rows, rhs.dtype.itemsize, step)
                return (halves_of_rows(frame, _N, distance, step),)
        return ()

    def op_counts(self, frame: Frame) -> OpCounts:
        """The counts of its element row."""
        ahead = isinstance(self.prefetch, AlongRows) and self.prefetch.to_l1
        return self.element.counts(frame, self.streams, ahead)

    def code(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> Columns:
        """Writer of the code that computes columns of out."""
        along_rows = self.prefetch if isinstance(self.prefetch, AlongRows) else None
        return Columns(emitter, spec, operands, self.element, self.streams, along_rows)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Steps of columns in passes over out, the others once; a panel once."""
        code = self.code(emitter, spec, operands)
        if operands[1].tensor.layout.is_packed:
            code.for_width(spec.sizes[3]).once(0, spec.sizes[3])
        else:
            code.write(self.scattered)


def _beside_rhs(frame: Frame) -> tuple[Condition, ...]:
    """Condition that rows of out from beyond L1 do not evict a tile of rhs from it."""
    _, rhs, out = frame.key.tensors
    if not in_l1(rhs) or in_l1(out):
        return ()
    lines = out.lines(frame.operand_sizes(2))
    return (
        Condition(
            lines <= frame.limits[rhs.level],
            "needs room in L1 for its rows of out beside rhs: tile n smaller",
        ),
    )
