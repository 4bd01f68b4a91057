"""GEMM of a few rows by panels in memory: their sums stay in registers over all of k.

Each panel is read once, from end to end, and becomes f32 as it is read: one run of
memory, as panels side by side a power of two apart are slow to read. So there are
panels for few rows and for more. Lines are prefetched into L1, over the end of a panel
into the next: nothing behind the operand.
"""

import dataclasses
from collections.abc import Callable, Sequence

from morello.cost.counts import Access, Lines, OpCounts, Ops, add
from morello.kernels.code.unroll import trip
from morello.kernels.emitter import Buffer, Emitter, Pack, Value
from morello.kernels.gemm.sweep import columns_of
from morello.kernels.gemm.tiles import tile_phases, write_tile
from morello.kernels.predicates import free_vectors, in_l1, in_l2, size_is_one
from morello.kernels.template import Kernel
from morello.spec import Dtype, Form, Layout, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame
from morello.spec.tensors.layout import LINE_BYTES, ceil_div

_COLUMN_MAJOR = Layout.parse("[0,2,1]")

_LATE = 4
"""One line in so many is waited for: memory and multiply-adds overlap in part where
they take the same time."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GemmFarPanels(Kernel):
    """out[0,m,n] (+)= lhs[0,m,k] in L1 or L2 · rhs[0,k,n] in memory, over all of k."""

    of_kind = Matmul

    rhs: tuple[Dtype, ...]
    """The dtypes that rhs may have."""
    panels: tuple[int, ...]
    """Vectors of sums of a panel."""
    distance: int
    """Bytes of a panel from what is read to what is prefetched."""

    @property
    def mixes(self) -> tuple[tuple[Dtype, ...], ...]:
        """f32 times what is widened."""
        return tuple((Dtype.F32, dtype, Dtype.F32) for dtype in self.rhs)

    @property
    def layouts_of_rhs(self) -> tuple[Layout, ...]:
        """Panels of whole vectors."""
        lanes = self.isa.lanes(Dtype.F32)
        return tuple(Layout.parse(f"[0,2,1,2p{v * lanes}]") for v in self.panels)

    def accepts(self, key: SpecKey) -> bool:
        """lhs near, its factors of a step together; rhs in panels in memory; rows of
        out."""
        if not isinstance(key.kind, Matmul) or key.dtypes not in self.mixes:
            return False
        lhs, rhs, out = key.tensors
        return (
            (in_l1(lhs) or in_l2(lhs))
            and lhs.layout == _COLUMN_MAJOR
            and rhs.level.is_main
            and rhs.layout in self.layouts_of_rhs
            and not out.level.is_registers
            and not out.layout.is_packed
            and out.layout.innermost == 2
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Several rows whose sums have registers beside a row of rhs, a factor and a
        vector that is widened; panels as long as what is prefetched."""
        _, m, k, _ = frame.sizes
        vectors = _columns(frame.key) // self.isa.lanes(Dtype.F32)
        most = (self.isa.registers - 2) // vectors - 1
        least = self._rows(frame.key)
        return (
            size_is_one(frame, 0),
            Condition(m > 1, "takes several rows: use the kernels of one row"),
            Condition(m <= most, f"takes at most {most} rows: tile m smaller"),
            Condition(k >= least, f"takes at least {least} k: do not split k"),
            Condition(free_vectors(frame) >= self.isa.registers, "needs all registers"),
        )

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """lhs in f32, column-major."""
        fits = isinstance(key.kind, Matmul) and operand == 0
        fits = fits and key.tensors[1].layout in self.layouts_of_rhs
        fits = fits and key.dtypes[1] in self.rhs and key.dtypes[2] is Dtype.F32
        return (Form(Dtype.F32, _COLUMN_MAJOR),) if fits else ()

    def forms_beforehand(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """Panels of rhs."""
        fits = isinstance(key.kind, Matmul) and operand == 1
        fits = fits and key.dtypes[1] in self.rhs and key.dtypes[2] is Dtype.F32
        layouts = self.layouts_of_rhs if fits else ()
        return tuple(Form(key.dtypes[1], layout) for layout in layouts)

    def op_counts(self, frame: Frame) -> OpCounts:
        """The tiles; lines of rhs arrive beside products, those of lhs in each tile.

        Two loads of factors, of 4 bytes each, take the time of one of vectors.
        """
        _, m, k, n = frame.sizes
        lhs, rhs, out = frame.key.tensors
        width = _columns(frame.key)
        asked = ceil_div(k * self._bytes(frame.key), LINE_BYTES)
        loads: Ops = {"load": asked - k * (m // 2)}
        phases = []
        for phase, columns in zip(
            tile_phases(frame, width, self.isa), (width, n % width), strict=True
        ):
            read = rhs.lines((1, k, columns))
            lines = (
                Lines(1, read - read // _LATE, Access.OVERLAPPED),
                Lines(1, read // _LATE, Access.DEMAND, hidden=False),
                Lines(0, lhs.lines((1, m, k)), Access.OVERLAPPED),
                Lines(2, out.lines((1, m, columns)), Access.STORED),
            )
            ops = add(phase.ops, loads)
            phases.append(dataclasses.replace(phase, ops=ops, lines=lines))
        return OpCounts((*phases,), kernels=1, loops=1, trips=ceil_div(n, width))

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """A loop over panels; the last one prefetches no more than there is."""
        n, width = spec.sizes[3], _columns(spec.key)
        whole = (n - 1) // width

        def tile(number: Value, columns: int, last: bool) -> None:
            write_tile(
                emitter,
                columns_of(spec, columns),
                operands,
                Pack(number, width),
                self._prefetch(emitter, spec, operands[1], number, last),
            )

        def panel(number: Value, _: Sequence[Value]) -> list[Value]:
            tile(number, width, False)
            return []

        if whole > 1:
            emitter.loop(0, whole, 1, (), panel)
        elif whole:
            panel(0, ())
        tile(whole, n - whole * width, True)

    def _prefetch(
        self, emitter: Emitter, spec: Spec, rhs: Buffer, number: Value, last: bool
    ) -> Callable[[Value], None]:
        """Write what prefetches the lines of a trip."""
        _, m, k, _ = spec.sizes
        width, nbytes = _columns(spec.key), self._bytes(spec.key)
        each = trip(Dtype.F32, m, width // self.isa.lanes(Dtype.F32))
        columns = range(0, width, LINE_BYTES // spec.dtypes[1].itemsize)

        def extra(at: Value) -> None:
            for by in range(0, each, max(LINE_BYTES // nbytes, 1)):
                row = emitter.offset(at, self._rows(spec.key) + by)
                row = emitter.at_most(row, k - 1) if last else row
                for column in columns:
                    place = (0, row, Pack(number, width, column))
                    emitter.prefetch(rhs, place, to_l1=True)

        return extra

    def _bytes(self, key: SpecKey) -> int:
        """Bytes of a row of a panel."""
        return _columns(key) * key.dtypes[1].itemsize

    def _rows(self, key: SpecKey) -> int:
        """Rows of a panel from what is read to what is prefetched."""
        return self.distance // self._bytes(key)


def _columns(key: SpecKey) -> int:
    """Columns of a panel."""
    return key.tensors[1].layout.pack(2)
