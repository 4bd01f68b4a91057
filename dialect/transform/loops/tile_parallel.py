"""``morello_transform.tile_parallel``: tiles of a dimension shared out among threads.

Before: a Spec op. After: an ``scf.parallel`` with one iteration a thread, in it an
``scf.for`` over the thread's tiles with the Spec op of a tile (handle ``main``), and
after that, for the last thread, the Spec op of what remains (handle ``remainder``). Of
``items`` tiles, what remains being the last, the thread ``t`` of ``n`` has those from
``t · items / n`` to ``(t + 1) · items / n``, rounded down: as many as any other, or one
less.
"""

from morello.actions import Hole, TileParallel
from morello.dialect.attributes import i64_attr
from morello.dialect.target import target_of
from morello.dialect.transform.action_op import ActionOp, Left, Site
from morello.dialect.transform.loops.nest import build_tile, index
from morello.dialect.transform.loops.team import build_team, build_where
from morello.dialect.transform.price import TRIPS_ATTRIBUTE
from morello.dialect.transform.subview import Start
from morello.mlir import dialect, ir


def apply_tile_parallel(site: Site, action: TileParallel) -> Left:
    """Build the loops over threads and tiles."""
    dim = site.spec.kind.dims.index(action.dim)
    main, rest = site.hole("main"), site.hole("remainder")
    trips = site.spec.sizes[dim] // action.size
    items = trips + (rest is not None)
    threads = min(items, target_of(site.op).threads)
    left = {}
    with ir.InsertionPoint(build_team(threads)) as inside:
        thread = inside.block.arguments[0]
        if main is not None:
            left["main"] = _shared(site, dim, main, thread, (trips, items, threads))
        if rest is not None:
            offset = Start(trips * action.size)
            with ir.InsertionPoint(build_where(_is(thread, threads - 1), rest.times)):
                left["remainder"] = build_tile(site, dim, rest.spec, offset)
    return left


def _shared(
    site: Site, dim: int, hole: Hole, thread: ir.Value, counts: tuple[int, int, int]
) -> ir.Operation:
    """The loop over the tiles of a thread."""
    scf, arith = dialect("scf"), dialect("arith")
    trips, items, threads = counts
    size = hole.spec.sizes[dim]
    first = _start(thread, items, threads, size)
    end = _start(_sum(thread, index(1)), items, threads, size)
    if items > trips:  # the last one has the remainder after them
        end = arith.MinUIOp(end, index(trips * size)).result
    loop = scf.ForOp(first, end, index(size))
    loop.attributes[TRIPS_ATTRIBUTE] = i64_attr(hole.times)
    with ir.InsertionPoint(loop.body):
        child = build_tile(site, dim, hole.spec, Start(0, loop.induction_variable))
        scf.YieldOp([])
    return child


def _is(thread: ir.Value, number: int) -> ir.Value:
    arith = dialect("arith")
    is_equal: ir.Value = arith.CmpIOp(
        arith.CmpIPredicate.eq, thread, index(number)
    ).result
    return is_equal


def _start(thread: ir.Value, items: int, threads: int, size: int) -> ir.Value:
    """The offset of the first tile of a thread."""
    arith = dialect("arith")
    share = arith.MulIOp(thread, index(items)).result
    if threads > 1:
        share = arith.DivUIOp(share, index(threads)).result
    offset: ir.Value = arith.MulIOp(share, index(size)).result
    return offset


def _sum(a: ir.Value, b: ir.Value) -> ir.Value:
    total: ir.Value = dialect("arith").AddIOp(a, b).result
    return total


TILE_PARALLEL = ActionOp.define(
    TileParallel, ("main", "remainder"), apply_tile_parallel
)
"""The op."""
