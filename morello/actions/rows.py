"""What it costs to pass over the rows of operands.

Memory is read at full speed along rows. Going on in another row, in another page and at
a distance that prefetchers do not foresee, costs by itself. The loop that passes over
rows pays for that, or the move of a tile that has them. A few rows are followed at the
same time at no cost.
"""

from functools import lru_cache

import numpy as np

from morello.actions.crowds import aliased
from morello.spec import Level, Move, SpecKey
from morello.spec.frame import Frame, Ints
from morello.spec.layout import LINE_BYTES
from morello.targets import Target


def tile_rows(frame: Frame, operand: int, target: Target) -> Ints:
    """Millicycles that the move of a tile pays for going from row to row of it."""
    own, source = frame.key.kind.operands[operand], frame.key.tensors[operand]
    row = _row(frame.key, operand, target)
    if not row or source.layout.row is None:
        return 0
    streams = _streams(frame, own.dims[source.layout.row], target)
    return row * paid_rows(source.runs(frame.operand_sizes(operand)), streams)


def rows_cost(frame: Frame, dim: int, size: int, target: Target) -> Ints:
    """Millicycles that a loop over tiles of ``size`` pays for going from row to row.

    What tiles of many rows pay themselves is taken off: however a loop is made of
    loops, each row is paid once.
    """
    row = _row_cost(frame.key, dim, target)
    if not row:
        return 0
    streams = _streams(frame, dim, target)
    extent, step = frame.sizes[dim], max(size, 1)
    tiles = extent // step * paid_rows(step, streams)
    rest = paid_rows(extent % step, streams)
    return row * (paid_rows(extent, streams) - tiles - rest)


def paid_rows(count: Ints, streams: Ints) -> Ints:
    """How many of some rows are paid for: all, or none of few."""
    return count * (count > streams)


def pays_rows(key: SpecKey, operand: int, dim: int, target: Target) -> bool:
    """Whether a loop along ``dim`` may pay for rows of an operand."""
    return _lies_across(key, operand, dim) and _row(key, operand, target) > 0


def _streams(frame: Frame, dim: int, target: Target) -> Ints:
    """How many rows along ``dim`` each operand has that are followed at no cost.

    What comes back to the same lines needs them in L1 until then: a copy that turns
    rows, and one of pieces of lines whose rows fall into the same sets.
    """
    key = frame.key
    followed = _followed(key, dim, target.streams)
    if not isinstance(key.kind, Move):
        return followed
    if not goes_along(key):
        return _followed(key, dim, min(target.streams, target.l1_ways))
    along = key.tensors[0].layout.streamed
    if along is None or not any(aliased(key, i, target) for i in range(2)):
        return followed
    itemsize = min(dtype.itemsize for dtype in key.dtypes)
    pieces = frame.sizes[along] * itemsize < LINE_BYTES
    kept = min(target.streams, target.set_rows)
    return np.where(pieces, _followed(key, dim, kept), followed)


@lru_cache(maxsize=65536)
def _followed(key: SpecKey, dim: int, streams: int) -> int:
    """Of the rows that are followed, those of one operand."""
    across = sum(_lies_across(key, i, dim) for i in range(len(key.tensors)))
    return streams // max(1, across)


@lru_cache(maxsize=65536)
def goes_along(key: SpecKey) -> bool:
    """Whether this is a copy whose operands both lie along the same dimension."""
    along = {tensor.layout.streamed for tensor in key.tensors}
    return isinstance(key.kind, Move) and len(along) == 1


@lru_cache(maxsize=65536)
def _row_cost(key: SpecKey, dim: int, target: Target) -> int:
    """Millicycles of a step along ``dim`` for the operands that lie along another."""
    return sum(
        _row(key, index, target)
        for index in range(len(key.tensors))
        if _lies_across(key, index, dim)
    )


def _row(key: SpecKey, operand: int, target: Target) -> int:
    """Millicycles to go on in another row of an operand.

    What computes on two operands has other work than to wait for rows of L2.
    """
    tensor = key.tensors[operand]
    if tensor.level is Level.L2 and len(key.tensors) > 2:
        return 0
    if tensor.level in (Level.GL, Level.L2) and aliased(key, operand, target):
        return target.prices.row_aliased
    return target.cost("row", tensor.level)


def _lies_across(key: SpecKey, operand: int, dim: int) -> bool:
    """Whether an operand has ``dim`` but does not lie along it."""
    dims = key.kind.operands[operand].dims
    return dim in dims and dims.index(dim) != key.tensors[operand].layout.streamed
