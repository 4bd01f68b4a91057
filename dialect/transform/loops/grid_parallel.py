"""``morello_transform.grid_parallel``: tiles of two dimensions, one for each thread.

Before: a Spec op. After: an ``scf.parallel`` with one iteration a thread. The thread
``t`` has the tile in row ``t / C`` and column ``t mod C``, with ``C`` tiles in a row:
an ``scf.if`` for each of the handles ``main``, ``right``, ``below`` and ``corner`` that
there are says which tiles they are.
"""

import dataclasses

from morello.actions import GridParallel, Hole
from morello.dialect.build import build_spec_op
from morello.dialect.memrefs import index
from morello.dialect.transform.action_op import Left, Site, op_of
from morello.dialect.transform.loops.team import build_team, build_where
from morello.dialect.transform.subview import Start, elements, tile_of
from morello.mlir import dialect, ir, result_of

_ROLES = {
    "main": (True, True),
    "right": (True, False),
    "below": (False, True),
    "corner": (False, False),
}
"""Whether a hole is of whole tiles along the rows, and along the columns."""


@dataclasses.dataclass(frozen=True)
class _Side:
    """One dimension of the grid."""

    dim: int
    size: int
    whole: int
    """How many whole tiles there are."""
    place: ir.Value
    """The number of the thread's tile."""

    def start(self, is_whole: bool) -> Start:
        """The start of the thread's tile along this dimension."""
        if not is_whole:
            return Start(self.whole * self.size)
        arith = dialect("arith")
        return Start(0, arith.MulIOp(self.place, index(self.size)).result)

    def holds(self, is_whole: bool) -> ir.Value:
        """Whether the tile of the thread is a whole one, or is not."""
        arith = dialect("arith")
        kind = arith.CmpIPredicate.ult if is_whole else arith.CmpIPredicate.uge
        return result_of(arith.CmpIOp(kind, self.place, index(self.whole)))


@op_of(GridParallel, *_ROLES)
def apply_grid_parallel(site: Site, action: GridParallel) -> Left:
    """Build the loop over threads and the holes in it."""
    arith = dialect("arith")
    names, sizes = site.spec.kind.dims, site.spec.sizes
    rows, columns = names.index(action.rows), names.index(action.columns)
    across = -(-sizes[columns] // action.column_size)
    threads = -(-sizes[rows] // action.row_size) * across
    left = {}
    with ir.InsertionPoint(build_team(threads)) as inside:
        thread = inside.block.arguments[0]
        row = arith.DivUIOp(thread, index(across)).result
        column = arith.RemUIOp(thread, index(across)).result
        down = _Side(rows, action.row_size, sizes[rows] // action.row_size, row)
        over = _Side(
            columns, action.column_size, sizes[columns] // action.column_size, column
        )
        for role, (whole_row, whole_column) in _ROLES.items():
            hole = site.holes.get(role)
            if hole is None:
                continue
            here = arith.AndIOp(down.holds(whole_row), over.holds(whole_column)).result
            with ir.InsertionPoint(build_where(here, hole.times)):
                starts = {
                    rows: down.start(whole_row),
                    columns: over.start(whole_column),
                }
                left[role] = _tile(site, hole, starts)
    return left


def _tile(site: Site, hole: Hole, starts: dict[int, Start]) -> ir.Operation:
    """The Spec of a hole on tiles that begin somewhere in several dimensions."""
    operands = []
    for i, operand in enumerate(hole.spec.kind.operands):
        memref = site.operands[i]
        sizes = list(site.spec.sizes)
        for dim, start in starts.items():
            if dim in operand.dims:
                sizes[dim] = hole.spec.sizes[dim]
                shape = operand.sizes(tuple(sizes))
                axis, offset = operand.axis(dim), elements(operand, dim, start)
                memref = tile_of(memref, site.spec.tensors[i], axis, shape, offset)
        operands.append(memref)
    return build_spec_op(hole.spec, operands)
