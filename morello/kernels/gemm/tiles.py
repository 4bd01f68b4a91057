"""Register-tile GEMM: all sums of a tile of out are in registers for all of k.

For each k the loop (`loop.py`) loads a row of rhs, broadcasts one element of lhs
after another, and multiplies and adds. `GemmRegisters` has out in registers already;
`GemmTile` has it in memory. `sweep.py` goes over all columns of a large rhs so.
"""

import dataclasses
import functools
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from morello.cost.counts import OpCounts, Ops, Phase
from morello.kernels.code.vectors import end_count, tail_of, vectors_of
from morello.kernels.emitter import Buffer, Emitter, Index, Value
from morello.kernels.gemm.loop import (
    GemmLoop,
    lies_well,
    loop_conditions,
    loop_phase,
    working_registers,
)
from morello.kernels.predicates import (
    free_vectors,
    in_l1,
    in_registers,
    is_interleaved,
    within_pack,
)
from morello.kernels.template import Kernel, wanted_forms
from morello.machine.isa import Isa
from morello.spec import Dtype, Form, Layout, Matmul, Spec, SpecKey, TensorSpec
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.tensors.layout import LINE_BYTES, ceil_div

_LINE = LINE_BYTES // Dtype.F32.itemsize
"""Elements of a cache line."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GemmRegisters(Kernel):
    """out[0,m,n] in registers += lhs[0,m,k] · rhs[0,k,n] in L1, over all of k.

    Each of the m · ceil(n/8) accumulators is one register for the whole loop over k.
    A width that is not a multiple of 8 reads the last columns of rhs with a mask.
    Factors that are narrower than out are cast as they are loaded.
    """

    of_kind = Matmul

    tiles: tuple[tuple[int, int], ...]
    """Rows, and vectors of columns, of the tiles of out that use the registers best.
    It asks for rhs in panels of such columns, then for lhs in panels of their rows."""

    mixes = ((Dtype.U8, Dtype.S8, Dtype.S32),)
    """Bytes, which are cast as they are loaded."""

    def accepts(self, key: SpecKey) -> bool:
        """Any dtypes; k unpacked, n innermost in rhs, out in registers."""
        if not isinstance(key.kind, Matmul) or not key.kind.accum:
            return False
        lhs, rhs, out = key.tensors
        return in_l1(lhs, rhs) and in_registers(out, self.isa) and lies_well(key)

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Everything that lives in the loop has a register; panels are not crossed."""
        return (
            *loop_conditions(frame, self.isa),
            Condition(
                free_vectors(frame) >= working_registers(frame, self.isa),
                "needs free registers for a row of rhs and a factor besides out: "
                "take fewer for out",
            ),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """The loop."""
        return OpCounts((loop_phase(frame, self.isa),), kernels=1)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """A loop over k that carries the accumulators; written out for a short one."""
        lhs, rhs, out = operands
        loop = GemmLoop(emitter, spec, lhs, rhs)
        vectors = vectors_of(spec.sizes[3], self.isa.lanes(spec.dtypes[2]))
        places = [(0, i, j) for i in range(spec.sizes[1]) for j in range(vectors)]
        sums = loop.run([emitter.load_register(out, at) for at in places])
        for total, place in zip(sums, places, strict=True):
            emitter.store_register(total, out, place)

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """Panels: rows of lhs, columns of rhs, so that the loop reads on and on.

        Narrower floats become f32 there. Those of lhs do in plain rows too; those of
        rhs are cast as they are loaded as well as in a copy that is no better to read.
        Rows of out, where columns lie side by side in it.
        """
        if not isinstance(key.kind, Matmul):
            return ()
        out = key.tensors[2].dtype
        if operand == 2:
            return rows_of(key.tensors[2])
        if out is Dtype.F32:
            forms = wanted_forms(key, operand, self._panels(key), _unpacked_in_k)
            narrow = operand == 1 and key.tensors[1].dtype is not out
            return tuple(f for f in forms if f.layout.is_packed or not narrow)
        if set(key.dtypes) == {Dtype.S32}:
            return wanted_forms(key, operand, self._panels(key), _unpacked_in_k)
        return ()

    def register_operands(self, key: SpecKey) -> tuple[int, ...]:
        """Operands that have to be in registers: out."""
        return (2,) if isinstance(key.kind, Matmul) else ()

    def _panels(self, key: SpecKey) -> dict[int, tuple[Form, ...]]:
        """Row-major and panels of each factor, as they go with the other's."""
        dtype = key.tensors[2].dtype
        lanes = self.isa.lanes(dtype)
        rows, columns = key.tensors[0].layout.pack(1), key.tensors[1].layout.pack(2)
        has_panels = any(r == rows for r, _ in self.tiles)
        return gemm_forms(
            dtype,
            tuple(r for r, c in self.tiles if c * lanes == columns),
            tuple(c for r, c in self.tiles if r == rows or not has_panels),
            self.isa,
        )


@dataclasses.dataclass(frozen=True)
class GemmTile(Kernel):
    """out[0,m,n] (+)= lhs[0,m,k] · rhs[0,k,n], all in L1, over all of k.

    The lines of out are prefetched at the beginning and used at the end: sums begin at
    zero, and out is added to them once they are done. So it need not be near before.
    What is added begins at -0, which changes no number, not even -0.
    """

    of_kind = Matmul

    def accepts(self, key: SpecKey) -> bool:
        """f32 sums; k unpacked, n innermost in rhs and out."""
        if not isinstance(key.kind, Matmul) or key.dtypes[2] is not Dtype.F32:
            return False
        out = key.tensors[2].layout
        return (
            in_l1(*key.tensors)
            and lies_well(key)
            and out.innermost == 2
            and not is_interleaved(out)
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Registers for all that lives in the loop; panels are not crossed."""
        _, m, _, n = frame.sizes
        lanes = self.isa.lanes(Dtype.F32)
        sums = m * vectors_of(n, lanes)
        return (
            *loop_conditions(frame, self.isa),
            *within_pack(frame, 2, 1),
            *within_pack(frame, 2, 2),
            Condition(
                free_vectors(frame) >= sums + working_registers(frame, self.isa),
                f"needs free registers for m * ceil(n / {lanes}) sums, a row of rhs "
                "and a factor: tile m or n smaller",
            ),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """The block; the last sums are waited for."""
        last = Phase(chain={"fma": 2})
        return OpCounts((tile_phase(frame, self.isa), last), kernels=1)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Prefetches, the loop, then out row by row."""
        write_tile(emitter, spec, operands)


def tile_phase(frame: Frame, isa: Isa) -> Phase:
    """A block among others, which begin while its rows are stored: nothing of the loop
    waits for out."""
    _, m, _, n = frame.sizes
    lanes = isa.lanes(Dtype.F32)
    tail = tail_of(n, lanes)
    stores = end_count(n, lanes, isa.stores_masked(Dtype.F32))
    extra: Ops = {"store": m * (n // lanes + stores), "shuffle": m * (stores - tail)}
    if frame.key.kind.accumulates:
        loads = m * (n // lanes + _lines(n))
        added: Ops = {
            "fma": m * (n // lanes + tail),
            "load": loads,
            "masked_load": m * tail,
        }
        extra = {**extra, **added}
    return loop_phase(frame, isa, extra)


def tile_phases(frame: Frame, width: Ints, isa: Isa) -> tuple[Phase, ...]:
    """Blocks of ``width`` columns, and the columns that are left."""
    n = frame.sizes[3]
    whole, rest = n // width, n % width
    return (
        dataclasses.replace(tile_phase(part(frame, width), isa), times=whole),
        dataclasses.replace(
            tile_phase(part(frame, np.maximum(rest, 1)), isa), times=rest > 0
        ),
    )


def part(frame: Frame, columns: Ints) -> Frame:
    """The frame of a part of the Spec with this number of columns."""
    return Frame(frame.key, (*frame.sizes[:3], columns), frame.limits)


@dataclasses.dataclass(frozen=True)
class ColumnsCopy:
    """A copy of the columns of rhs that a block reads, without gaps between rows."""

    buffer: Buffer
    is_filled: bool
    """Whether the block reads it, or fills it while it reads rhs."""


def write_tile(
    emitter: Emitter,
    spec: Spec,
    operands: Sequence[Buffer],
    column: Value = 0,
    extra: Callable[[Value], None] | None = None,
    row: Value = 0,
    copy: ColumnsCopy | None = None,
    last: Value = None,
) -> None:
    """Prefetches, the loop, then out row by row.

    Args:
        spec: the block: as many columns as its sums have.
        operands: those of the block, or of a Spec with more columns.
        column: where it begins in rhs and out.
        extra: what each trip of the loop does besides, given its first step.
        row: where it begins in lhs and out.
        copy: of the columns of rhs.
        last: the columns of the last vector where a call says them.
    """
    lhs, rhs, out = operands
    loop = GemmLoop(emitter, spec, lhs, rhs, column, extra, row, last=last)
    if copy and copy.is_filled:
        loop = dataclasses.replace(loop, rhs=copy.buffer, column=0)
    elif copy:
        loop = dataclasses.replace(loop, copy=copy.buffer)

    def place(i: int, start: int) -> Index:
        return 0, emitter.offset(row, i), emitter.offset(column, start)

    write_sums(loop, out, place, loop.run_to_stores)


def write_sums(
    loop: GemmLoop,
    out: Buffer,
    place: Callable[[int, int], Index],
    run: Callable[[Sequence[Value]], Sequence[Value]],
) -> None:
    """Prefetches of the places of out, what computes the sums, then out row by row.

    Args:
        loop: the block, and the code that it is part of.
        out: where the sums go, or are added.
        place: of a row and a column of the block in out.
        run: from sums that begin to those that are done.
    """
    emitter, spec = loop.emitter, loop.spec
    _, m, _, n = spec.sizes
    lanes = emitter.isa.lanes(Dtype.F32)
    adds = spec.kind.accumulates
    if adds:
        for i in range(m):
            for start in (*range(0, n - 1, _LINE), n - 1):
                emitter.prefetch(out, place(i, start), to_l1=True)
    zero = emitter.constant(Dtype.F32, -0.0 if adds else 0.0, lanes)
    sums = run([zero] * len(loop.places))
    # A row is added before the one above it is stored: a load of what lies after the
    # elements that a mask writes waits until they are in L1.
    ahead = ceil_div(n, lanes) if adds and n % lanes else 0
    waiting: deque[tuple[Value, Index, Value]] = deque()
    for total, (i, (start, count)) in zip(sums, loop.places, strict=True):
        index = place(i, start)
        if adds:
            total = emitter.add(total, emitter.load(out, index, lanes, count))
        waiting.append((total, index, count))
        if len(waiting) > ahead:
            _store_first(emitter, out, waiting)
    while waiting:
        _store_first(emitter, out, waiting)


def _store_first(
    emitter: Emitter, out: Buffer, waiting: deque[tuple[Value, Index, Value]]
) -> None:
    """Store the vector that waits longest."""
    total, index, count = waiting.popleft()
    emitter.store(total, out, index, count)


def _lines(n: Ints) -> Ints:
    """Prefetches of a row: a line each, and the last element's, wherever they begin."""
    return ceil_div(n - 1, _LINE) + 1


@functools.cache
def gemm_forms(
    dtype: Dtype, rows: tuple[int, ...], columns: tuple[int, ...], isa: Isa
) -> dict[int, tuple[Form, ...]]:
    """lhs and rhs row-major, or in panels of so many rows, and vectors of columns."""
    lanes = isa.lanes(dtype)
    panels = {
        0: [f"[0,1,2,1p{count}]" for count in rows],
        1: [f"[0,2,1,2p{count * lanes}]" for count in columns],
    }
    plain = Layout.row_major(3)
    return {
        operand: tuple(Form(dtype, x) for x in (plain, *map(Layout.parse, texts)))
        for operand, texts in panels.items()
    }


def rows_of(out: TensorSpec) -> tuple[Form, ...]:
    """Row-major, for an unpacked out in memory or a cache that is column-major."""
    in_columns = not out.level.is_registers and out.layout.innermost != 2
    if out.layout.is_packed or not in_columns:
        return ()
    return (Form(out.dtype, Layout.row_major(3)),)


def _unpacked_in_k(operand: int, tensor: TensorSpec) -> bool:
    layout = tensor.layout
    return layout.pack(2 - operand) == 1 and not is_interleaved(layout)
