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
from morello.dialect.memrefs import index
from morello.dialect.target import target_of
from morello.dialect.transform.action_op import Left, Site, op_of
from morello.dialect.transform.loops.nest import (
    TilesOfCall,
    build_tile,
    range_along,
)
from morello.dialect.transform.loops.team import build_team, build_where
from morello.dialect.transform.price import TRIPS_ATTRIBUTE
from morello.dialect.transform.subview import Start
from morello.mlir import dialect, ir, result_of


@op_of(TileParallel, "main", "remainder")
def apply_tile_parallel(site: Site, action: TileParallel) -> Left:
    """Build the loops over threads and tiles."""
    dim = site.spec.kind.dims.index(action.dim)
    number = range_along(site.spec, dim)
    if number is not None:
        return _ranged(site, dim, action.size, number)
    main, rest = site.holes.get("main"), site.holes.get("remainder")
    trips = site.spec.sizes[dim] // action.size
    items = trips + (rest is not None)
    threads = min(items, target_of(site.op).threads)
    left = {}
    with ir.InsertionPoint(build_team(threads)) as inside:
        thread = inside.block.arguments[0]
        if main is not None:
            share = _share(thread, index(items), threads, action.size)
            whole = index(trips * action.size) if items > trips else None
            left["main"] = _shared(site, dim, main, share, whole)
        if rest is not None:
            offset = Start(trips * action.size)
            with ir.InsertionPoint(build_where(_is(thread, threads - 1), rest.times)):
                left["remainder"] = build_tile(site, dim, rest.spec, offset)
    return left


def _ranged(site: Site, dim: int, size: int, number: int) -> Left:
    """The loops along a dimension whose size a call says: where it has fewer tiles than
    there are threads, the first threads have none."""
    arith = dialect("arith")
    main, rest = site.holes.get("main"), site.holes.get("remainder")
    tiles = TilesOfCall.of(site, size, number)
    more = arith.AddIOp(tiles.extent, index(size - 1)).result
    items = arith.DivUIOp(more, index(size)).result
    threads = min(-(-tiles.greatest // size), target_of(site.op).threads)
    left = {}
    with ir.InsertionPoint(build_team(threads)) as inside:
        thread = inside.block.arguments[0]
        if main is not None:
            share = _share(thread, items, threads, size)
            left["main"] = _shared(site, dim, main, share, tiles.covered)
        if rest is not None:
            last = arith.AndIOp(_is(thread, threads - 1), tiles.remains()).result
            with ir.InsertionPoint(build_where(last, rest.times)):
                left["remainder"] = tiles.build_rest(site, dim, rest)
    return left


def _share(
    thread: ir.Value, items: ir.Value, threads: int, size: int
) -> tuple[ir.Value, ir.Value]:
    """The offsets at which the tiles of a thread begin and end."""
    first = _start(thread, items, threads, size)
    return first, _start(_sum(thread, index(1)), items, threads, size)


def _shared(
    site: Site,
    dim: int,
    hole: Hole,
    share: tuple[ir.Value, ir.Value],
    whole: ir.Value | None,
) -> ir.Operation:
    """The loop over the tiles of a thread.

    Args:
        share: the offsets at which they begin and end.
        whole: where whole tiles end, if the last tile is none.
    """
    scf, arith = dialect("scf"), dialect("arith")
    first, end = share
    if whole is not None:
        end = arith.MinUIOp(end, whole).result
    loop = scf.ForOp(first, end, index(hole.spec.sizes[dim]))
    loop.attributes[TRIPS_ATTRIBUTE] = i64_attr(hole.times)
    with ir.InsertionPoint(loop.body):
        child = build_tile(site, dim, hole.spec, Start(0, loop.induction_variable))
        scf.YieldOp([])
    return child


def _is(thread: ir.Value, number: int) -> ir.Value:
    arith = dialect("arith")
    return result_of(arith.CmpIOp(arith.CmpIPredicate.eq, thread, index(number)))


def _start(thread: ir.Value, items: ir.Value, threads: int, size: int) -> ir.Value:
    """The offset of the first tile of a thread."""
    arith = dialect("arith")
    share = arith.MulIOp(thread, items).result
    if threads > 1:
        share = arith.DivUIOp(share, index(threads)).result
    return result_of(arith.MulIOp(share, index(size)))


def _sum(a: ir.Value, b: ir.Value) -> ir.Value:
    return result_of(dialect("arith").AddIOp(a, b))
