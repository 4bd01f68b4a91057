"""The loops of ``tile``, ``split`` and ``peel``: whole tiles, then what remains."""

import dataclasses
from collections.abc import Sequence

from morello.dialect.attributes import i64_attr
from morello.dialect.build import build_spec_op
from morello.dialect.sizes import (
    SIZE_ATTRIBUTE,
    chain_attribute,
    size_chain,
    size_value,
)
from morello.dialect.transform.action_op import Left, Site
from morello.dialect.transform.price import TRIPS_ATTRIBUTE
from morello.dialect.transform.subview import Start, elements, tile_of
from morello.mlir import dialect, ir
from morello.spec import Spec


def build_loop(site: Site, dim: int, size: int, begin: int = 0) -> Left:
    """The holes ``main`` and ``remainder`` of tiles of ``size`` along ``dim``.

    A loop of one trip is no loop. The first tile begins at ``begin``.
    """
    if site.spec.ranges and dim in site.spec.ranges[0].dims:
        return _ranged(site, dim, size)
    left = {}
    main, rest = site.hole("main"), site.hole("remainder")
    if main is not None and main.times == 1:
        left["main"] = build_tile(site, dim, main.spec, Start(begin))
    elif main is not None:
        left["main"] = _looped(site, dim, main.spec, main.times, begin)
    if rest is not None:
        covered = begin + (main.times * size if main is not None else 0)
        left["remainder"] = build_tile(site, dim, rest.spec, Start(covered))
    return left


def _ranged(site: Site, dim: int, size: int) -> Left:
    """The holes of a loop along a dimension whose size a call says."""
    scf = dialect("scf")
    tiles = TilesOfCall.of(site, size)
    main, remainder = site.hole("main"), site.hole("remainder")
    left = {}
    if main is not None:
        loop = scf.ForOp(index(0), tiles.covered, index(size))
        loop.attributes[TRIPS_ATTRIBUTE] = i64_attr(tiles.chain[0] // size)
        with ir.InsertionPoint(loop.body):
            start = Start(0, loop.induction_variable)
            left["main"] = build_tile(site, dim, main.spec, start)
            scf.YieldOp([])
    if remainder is not None:
        branch = scf.IfOp(tiles.remains())
        branch.attributes[TRIPS_ATTRIBUTE] = i64_attr(remainder.times)
        with ir.InsertionPoint(branch.then_block):
            left["remainder"] = tiles.build_rest(site, dim, remainder.spec)
            scf.YieldOp([])
    return left


@dataclasses.dataclass(frozen=True)
class TilesOfCall:
    """The tiles of a dimension whose size a call says.

    Args:
        size: of a tile.
        chain: how the size follows from the call's (`size_chain`).
        extent: the size of the dimension.
        rest: what remains after the whole tiles.
        covered: what the whole tiles have.
    """

    size: int
    chain: list[int]
    extent: ir.Value
    rest: ir.Value
    covered: ir.Value

    @classmethod
    def of(cls, site: Site, size: int) -> "TilesOfCall":
        """Tiles of the Spec's range, computed at the insertion point."""
        arith = dialect("arith")
        extent = size_value(site.op, site.spec)
        rest = arith.RemUIOp(extent, index(size)).result
        covered = arith.SubIOp(extent, rest).result
        return cls(size, size_chain(site.op, site.spec), extent, rest, covered)

    def remains(self) -> ir.Value:
        """Whether something remains."""
        arith = dialect("arith")
        is_left: ir.Value = arith.CmpIOp(
            arith.CmpIPredicate.ne, self.rest, index(0)
        ).result
        return is_left

    def build_rest(self, site: Site, dim: int, spec: Spec) -> ir.Operation:
        """The Spec of what remains."""
        child = build_tile(site, dim, spec, Start(0, self.covered))
        if any(dim in one.dims for one in spec.ranges):
            at, *steps = self.chain
            chain = chain_attribute([at % self.size, *steps, self.size])
            child.attributes[SIZE_ATTRIBUTE] = chain
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
            axis, own = operand.axis(cut[0]), elements(operand, cut[0], start)
            memref = tile_of(memref, parent, axis, spec.shape(i), own)
        operands.append(memref)
    return build_spec_op(spec, operands)


def index(value: int) -> ir.Value:
    """A constant of type index at the current insertion point."""
    arith = dialect("arith")
    constant: ir.Value = arith.ConstantOp(ir.IndexType.get(), value).result
    return constant
