"""What it costs to bring the tiles of operands nearer: lines, rows, crowded caches.

Three effects, each a number of things times a coefficient of the target:

- **Lines.** A line that is used much, as an operand of a large matmul is, comes while
  the core computes; one that is used once or twice is waited for. A line that is
  written goes back.
- **Rows.** Memory is read at full speed along rows. Going on in another row, in another
  page and at a distance that prefetchers do not foresee, costs by itself. The loop that
  passes over rows pays for that, or the move of a tile that has them. A few rows are
  followed at the same time at no cost.
- **Crowds.** Rows at a distance of a large power of two fall into the same sets of a
  cache. Each costs more then, and a tile of more rows than L2 is sure to hold pays for
  lines that come twice.

A tile does not know how far its rows are apart, nor whether its lines are in L3 or in
DRAM: the goal does, and the target has it from there (`Target.at`).
"""

import math
from functools import lru_cache

import numpy as np

from morello.spec import Level, SpecKey, TensorSpec
from morello.spec.frame import Frame, Ints
from morello.targets import Target


def traffic(frame: Frame, operand: int, dest: TensorSpec, target: Target) -> Ints:
    """Millicycles to bring an operand's tile to a cache once, and to take it back."""
    own, source = frame.key.kind.operands[operand], frame.key.tensors[operand]
    sizes = frame.operand_sizes(operand)
    level = source.level
    line: Ints = target.cost("store", level) if own.is_written else 0
    if own.is_read:
        uses = math.prod(n for dim, n in enumerate(frame.sizes) if dim not in own.dims)
        reuse = target.reuse_gl if level is Level.GL else target.reuse_l2
        slow, quick = target.cost("line", level), target.cost("hidden", level)
        line = line + np.where(uses >= reuse, quick, slow)
    if level is Level.GL and frame.key.serial:
        line = line + (target.threads - 1) * target.prices.shared_gl
    if _aliased(frame.key, operand, target):
        line = line + _crowd(frame, operand, dest, target)
    cost = source.lines(sizes) * line
    row = _row(frame.key, operand, target)
    if row and source.layout.row is not None:
        streams = _streams(frame.key, own.dims[source.layout.row], target)
        cost = cost + row * paid_rows(source.runs(sizes), streams)
    return cost


def rows_cost(frame: Frame, dim: int, size: int, target: Target) -> Ints:
    """Millicycles that a loop over tiles of ``size`` pays for going from row to row.

    What tiles of many rows pay themselves is taken off: however a loop is made of
    loops, each row is paid once.
    """
    row = _row_cost(frame.key, dim, target)
    if not row:
        return 0
    streams = _streams(frame.key, dim, target)
    extent, step = frame.sizes[dim], max(size, 1)
    tiles = extent // step * paid_rows(step, streams)
    rest = paid_rows(extent % step, streams)
    return row * (paid_rows(extent, streams) - tiles - rest)


def paid_rows(count: Ints, streams: int) -> Ints:
    """How many of some rows are paid for: all, or none of few."""
    return count * (count > streams)


def pays_rows(key: SpecKey, operand: int, dim: int, target: Target) -> bool:
    """Whether a loop along ``dim`` may pay for rows of an operand."""
    return _lies_across(key, operand, dim) and _row(key, operand, target) > 0


@lru_cache(maxsize=65536)
def _streams(key: SpecKey, dim: int, target: Target) -> int:
    """How many rows along ``dim`` each operand has that are followed at no cost."""
    across = sum(_lies_across(key, i, dim) for i in range(len(key.tensors)))
    return target.streams // max(1, across)


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
    if tensor.level in (Level.GL, Level.L2) and _aliased(key, operand, target):
        return target.prices.row_aliased
    return target.cost("row", tensor.level)


def _crowd(frame: Frame, operand: int, dest: TensorSpec, target: Target) -> Ints:
    """Millicycles a line of an aliased operand where its rows push each other out.

    In L2 its own rows do; in L1 those of all operands that are there too. Rows of one
    line each meet others by chance alone, and do not count.
    """
    if dest.level is Level.L2:
        rows = dest.runs(frame.operand_sizes(operand))
        return (rows > target.l2_rows) * target.prices.crowd_l2
    own = _long_rows(dest, frame.operand_sizes(operand))
    rows = own
    for index, tensor in enumerate(frame.key.tensors):
        near = tensor.level is Level.L1 and _aliased(frame.key, index, target)
        if near and index != operand:
            rows = rows + _long_rows(tensor, frame.operand_sizes(index))
    return ((own > 0) & (rows > target.l1_ways)) * target.prices.crowd_l1


def _long_rows(tensor: TensorSpec, sizes: tuple[Ints, ...]) -> Ints:
    """The rows with gaps of a tile that have more than a line each; else 0."""
    rows = tensor.runs(sizes)
    return rows * (tensor.lines(sizes) > rows)


def _aliased(key: SpecKey, operand: int, target: Target) -> bool:
    """Whether rows of an operand may fall into the same sets: not those of a copy."""
    name = key.kind.operands[operand].name
    tensor = key.tensors[operand]
    aliased = target.around.has_aliased(name, tensor.dtype.itemsize)
    return aliased and not tensor.layout.is_packed


def _lies_across(key: SpecKey, operand: int, dim: int) -> bool:
    """Whether an operand has ``dim`` but does not lie along it."""
    dims = key.kind.operands[operand].dims
    return dim in dims and dims.index(dim) != key.tensors[operand].layout.streamed
