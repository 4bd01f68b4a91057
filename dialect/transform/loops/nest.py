"""The loops of ``tile``, ``split`` and ``peel``: whole tiles, then what remains."""

import dataclasses
from collections.abc import Sequence

from morello.actions import Hole
from morello.dialect.attributes import i64_attr
from morello.dialect.build import build_spec_op
from morello.dialect.memrefs import index
from morello.dialect.sizes import set_sizes, size_value, sizes_of
from morello.dialect.transform.action_op import Left, Site
from morello.dialect.transform.price import TRIPS_ATTRIBUTE
from morello.dialect.transform.subview import Start, elements, tile_of
from morello.mlir import dialect, ir, result_of
from morello.spec import Spec


def build_loop(site: Site, dim: int, size: int, begin: int = 0) -> Left:
    """The holes ``main`` and ``remainder`` of tiles of ``size`` along ``dim``.

    A loop of one trip is no loop. The first tile begins at ``begin``.
    """
    number = range_along(site.spec, dim)
    if number is not None:
        return _ranged(site, dim, size, number)
    left = {}
    main, rest = site.holes.get("main"), site.holes.get("remainder")
    if main is not None and main.times == 1:
        left["main"] = build_tile(site, dim, main.spec, Start(begin))
    elif main is not None:
        left["main"] = _looped(site, dim, main.spec, main.times, begin)
    if rest is not None:
        covered = begin + (main.times * size if main is not None else 0)
        left["remainder"] = build_tile(site, dim, rest.spec, Start(covered))
    return left


def range_along(spec: Spec, dim: int) -> int | None:
    """The number of the range that a dimension has; None where it is settled."""
    having = (n for n, one in enumerate(spec.ranges) if dim in one.dims)
    return next(having, None)


def _ranged(site: Site, dim: int, size: int, number: int) -> Left:
    """The holes of a loop along a dimension whose size a call says."""
    scf = dialect("scf")
    tiles = TilesOfCall.of(site, size, number)
    main, remainder = site.holes.get("main"), site.holes.get("remainder")
    left = {}
    if main is not None:
        loop = scf.ForOp(index(0), tiles.covered, index(size))
        loop.attributes[TRIPS_ATTRIBUTE] = i64_attr(tiles.greatest // size)
        with ir.InsertionPoint(loop.body):
            start = Start(0, loop.induction_variable)
            left["main"] = build_tile(site, dim, main.spec, start)
            scf.YieldOp([])
    if remainder is not None:
        branch = scf.IfOp(tiles.remains())
        branch.attributes[TRIPS_ATTRIBUTE] = i64_attr(remainder.times)
        with ir.InsertionPoint(branch.then_block):
            left["remainder"] = tiles.build_rest(site, dim, remainder)
            scf.YieldOp([])
    return left


@dataclasses.dataclass(frozen=True)
class TilesOfCall:
    """The tiles of a dimension whose size a call says.

    Args:
        size: of a tile.
        number: of the range that the dimension has.
        greatest: the size of the dimension in a call of the greatest sizes.
        extent: the size of the dimension.
        rest: what remains after the whole tiles.
        covered: what the whole tiles have.
    """

    size: int
    number: int
    greatest: int
    extent: ir.Value
    rest: ir.Value
    covered: ir.Value

    @classmethod
    def of(cls, site: Site, size: int, number: int) -> "TilesOfCall":
        """Tiles of a range of the Spec, computed at the insertion point."""
        arith = dialect("arith")
        extent = size_value(site.op, site.spec, number)
        rest = arith.RemUIOp(extent, index(size)).result
        covered = arith.SubIOp(extent, rest).result
        greatest = sizes_of(site.op, site.spec)[number].greatest
        return cls(size, number, greatest, extent, rest, covered)

    def remains(self) -> ir.Value:
        """Whether something remains."""
        arith = dialect("arith")
        return result_of(arith.CmpIOp(arith.CmpIPredicate.ne, self.rest, index(0)))

    def build_rest(self, site: Site, dim: int, hole: Hole) -> ir.Operation:
        """The Spec of what remains."""
        child = build_tile(site, dim, hole.spec, Start(0, self.covered))
        sizes = list(sizes_of(site.op, site.spec))
        if any(dim in one.dims for one in hole.spec.ranges):
            sizes[self.number] = sizes[self.number].remainder(self.size)
        set_sizes(child, [sizes[n] for n in hole.follows])
        return child


def _looped(site: Site, dim: int, spec: Spec, trips: int, begin: int) -> ir.Operation:
    scf = dialect("scf")
    step = spec.sizes[dim]
    loop = scf.ForOp(index(begin), index(begin + trips * step), index(step))
    with ir.InsertionPoint(loop.body):
        child = build_tile(site, dim, spec, Start(0, loop.induction_variable))
        scf.YieldOp([])
    return child


def build_tile(site: Site, dim: int, spec: Spec, start: Start) -> ir.Operation:
    """The child Spec on tiles that begin at ``start`` of the dimension."""
    return _build_on(site, (dim,), spec, start)


def build_first(site: Site, dims: Sequence[int], spec: Spec) -> ir.Operation:
    """The child Spec on what comes first along some dimensions."""
    return _build_on(site, dims, spec, Start(0))


def _build_on(
    site: Site, dims: Sequence[int], spec: Spec, start: Start
) -> ir.Operation:
    operands = []
    for i, (memref, operand) in enumerate(
        zip(site.operands, spec.kind.operands, strict=True)
    ):
        cut = [dim for dim in dims if dim in operand.dims]
        if cut:
            parent = site.spec.tensors[i]
            axis, offset = operand.axis(cut[0]), elements(operand, cut[0], start)
            memref = tile_of(memref, parent, axis, spec.shape(i), offset)
        operands.append(memref)
    return build_spec_op(spec, operands)
