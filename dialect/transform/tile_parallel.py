"""``morello_transform.tile_parallel``: tiles of a dimension shared out among threads.

Before: a Spec op. After: an ``scf.parallel`` with one iteration a thread, in it an
``scf.for`` over the thread's tiles with the Spec op of a tile (handle ``main``), and
after both the Spec op of what remains (handle ``remainder``). Of ``trips`` tiles the
thread ``t`` of ``n`` has those from ``t · trips / n`` to ``(t + 1) · trips / n``,
rounded down: as many as any other, or one less.
"""

from morello.actions import TileParallel
from morello.dialect.target import target_of
from morello.dialect.transform.action_op import ActionOp, Left, Site
from morello.dialect.transform.loops import build_tile, index
from morello.dialect.transform.price import TRIPS_ATTRIBUTE
from morello.dialect.transform.subview import Start
from morello.mlir import dialect, ir
from morello.spec import Spec


def apply_tile_parallel(site: Site, action: TileParallel) -> Left:
    """Build the loops over threads and tiles."""
    dim = site.spec.kind.dims.index(action.dim)
    trips = site.spec.sizes[dim] // action.size
    threads = min(trips, target_of(site.op).threads)
    left = {}
    main, rest = site.hole("main"), site.hole("remainder")
    if main is not None:
        left["main"] = _shared(site, dim, main.spec, trips, threads)
    if rest is not None:
        left["remainder"] = build_tile(site, dim, rest.spec, Start(trips * action.size))
    return left


def _shared(site: Site, dim: int, spec: Spec, trips: int, threads: int) -> ir.Operation:
    scf = dialect("scf")
    size = spec.sizes[dim]
    bounds = [index(0), index(threads), index(1)]
    team = ir.Operation.create(
        "scf.parallel",
        operands=bounds,
        attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, 1, 0])},
        regions=1,
    )
    body = team.regions[0].blocks.append(ir.IndexType.get())
    with ir.InsertionPoint(body):
        thread = body.arguments[0]
        first = _start(thread, trips, threads, size)
        end = _start(_sum(thread, index(1)), trips, threads, size)
        loop = scf.ForOp(first, end, index(size))
        count = -(-trips // threads)
        i64 = ir.IntegerType.get_signless(64)
        loop.attributes[TRIPS_ATTRIBUTE] = ir.IntegerAttr.get(i64, count)
        scf.ReduceOp([], 0)
    with ir.InsertionPoint(loop.body):
        child = build_tile(site, dim, spec, Start(0, loop.induction_variable))
        scf.YieldOp([])
    return child


def _start(thread: ir.Value, trips: int, threads: int, size: int) -> ir.Value:
    """The offset of the first tile of a thread."""
    arith = dialect("arith")
    share = arith.MulIOp(thread, index(trips)).result
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
