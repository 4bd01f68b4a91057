"""``morello_transform.tile_parallel``: tiles of a dimension shared out among threads.

Before: a Spec op. After: an ``scf.parallel`` with one iteration a thread, in it an
``scf.for`` over the thread's tiles with the Spec op of a tile (handle ``main``), and
after that, for the last thread, the Spec op of what remains (handle ``remainder``). Of
``items`` tiles, what remains being the last, the thread ``t`` of ``n`` has those from
``t · items / n`` to ``(t + 1) · items / n``, rounded down: as many as any other, or one
less.
"""

from morello.actions import TileParallel
from morello.actions.base import Hole
from morello.dialect.target import target_of
from morello.dialect.transform.action_op import ActionOp, Left, Site
from morello.dialect.transform.loops import build_tile, index
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
    with ir.InsertionPoint(_team(threads)) as inside:
        thread = inside.block.arguments[0]
        if main is not None:
            left["main"] = _shared(site, dim, main, thread, (trips, items, threads))
        if rest is not None:
            offset = Start(trips * action.size)
            with ir.InsertionPoint(_last_alone(thread, threads, rest.times)):
                left["remainder"] = build_tile(site, dim, rest.spec, offset)
    return left


def _team(threads: int) -> ir.Operation:
    """The end of the body of a loop with one iteration a thread."""
    scf = dialect("scf")
    bounds = [index(0), index(threads), index(1)]
    team = ir.Operation.create(
        "scf.parallel",
        operands=bounds,
        attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, 1, 0])},
        regions=1,
    )
    body = team.regions[0].blocks.append(ir.IndexType.get())
    with ir.InsertionPoint(body):
        return scf.ReduceOp([], 0).operation


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
    loop.attributes[TRIPS_ATTRIBUTE] = _i64(hole.times)
    with ir.InsertionPoint(loop.body):
        child = build_tile(site, dim, hole.spec, Start(0, loop.induction_variable))
        scf.YieldOp([])
    return child


def _last_alone(thread: ir.Value, threads: int, times: int) -> ir.Operation:
    """The end of a block that the last thread runs; it counts ``times`` times."""
    scf, arith = dialect("scf"), dialect("arith")
    last = arith.CmpIOp(arith.CmpIPredicate.eq, thread, index(threads - 1)).result
    branch = scf.IfOp(last)
    branch.attributes[TRIPS_ATTRIBUTE] = _i64(times)
    with ir.InsertionPoint(branch.then_block):
        return scf.YieldOp([]).operation


def _i64(value: int) -> ir.IntegerAttr:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


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
