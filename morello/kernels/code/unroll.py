"""A loop of equal steps that carries sums, a few steps for each trip."""

from collections.abc import Callable, Sequence

from morello.kernels.emitter import Body, Emitter, Value
from morello.spec import Dtype

UNROLL = 4
"""Steps of a trip. To count and to jump takes 3 instructions, besides the 20 of a step
of 6 rows and 16 columns. A core that computes alone has room for them; where another
thread shares what begins instructions, products take 0.91 to 0.98 of the time so."""

UNROLL_INT = 2
"""Steps that are unrolled of integers. Their products are in registers before they are
added: of more steps LLVM begins so many that sums have to leave theirs."""

_FEW = 8
"""Sums of a single row, or of a single vector of columns, that leave room: of more,
LLVM loads the factors of several steps first, and sums leave registers."""


_ROW_REGISTERS = 8
"""Rows whose places LLVM keeps in registers where only a call says how far they are
apart. Of more it reads one row's factors of all steps after another, and keeps them on
the stack."""

_WRITTEN_OUT = 16
"""Sums, at most, of which LLVM writes two trips out. Of more it keeps their loop, takes
the index for a bit, and loads the factors of all steps before the columns of the
second: sums leave registers."""


def trip(out: Dtype, rows: int, vectors: int, rows_are_known: bool = True) -> int:
    """Steps of a trip, for ``rows`` x ``vectors`` sums of a dtype in registers.

    Args:
        out: the dtype.
        rows: of sums, and of the operand that is broadcast.
        vectors: in a row.
        rows_are_known: how far the rows of that operand are apart.
    """
    if not out.is_float:
        return UNROLL_INT
    if not rows_are_known and rows > _ROW_REGISTERS:
        return 1
    return 1 if min(rows, vectors) == 1 and rows * vectors > _FEW else UNROLL


def run_steps(
    emitter: Emitter,
    count: int,
    carried: Sequence[Value],
    step: Body,
    each: int,
    extra: Callable[[Value], None] | None = None,
) -> Sequence[Value]:
    """Run ``step`` from 0 to below ``count``, ``each`` a trip; the last values.

    Args:
        extra: written once in a trip, given its first step.
    """
    whole = count - count % each

    def together(at: Value, carried: Sequence[Value]) -> Sequence[Value]:
        if extra is not None:
            extra(at)
        for by in range(each):
            carried = step(emitter.offset(at, by), tuple(carried))
        return carried

    if whole == each:
        carried = together(0, carried)
    elif whole:
        twice = whole == 2 * each and len(carried) > _WRITTEN_OUT
        carried = emitter.loop(0, whole, each, carried, together, rolled=twice)
    for at in range(whole, count):
        carried = step(at, tuple(carried))
    return carried
