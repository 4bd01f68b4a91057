"""What it costs to pass over the rows of operands.

Memory is read at full speed along rows. Going on in another row, in another page and at
a distance that prefetchers do not foresee, costs by itself; more so in rows that a copy
writes across, as what is stored waits for their lines, and loads for what is stored.
The loop that passes over rows pays for that, or the move of a tile that has them. A few
rows are followed at the same time at no cost.

A piece of a row ends within a line, as a rule. The next piece finds the line in L1,
unless so many other rows came first that it has left: then it comes again, from L2 or,
if the rows are still more, from where it was. Pieces of n bytes begin at multiples of n
from where rows begin, which is at multiples of s (`OperandContext.row_start`): of lines
of 64 bytes they share 64 - gcd(n, s, 64) with their neighbours, on average. If they are
short, n of 64 begin a line; only those go on in another row, where nobody has been.
"""

import math
from collections.abc import Hashable
from functools import lru_cache

import numpy as np

from morello.cost.cache_conflicts import aliased
from morello.machine import Target
from morello.spec import Level, SpecKey
from morello.spec.frame import Frame, Ints
from morello.spec.layout import LINE_BYTES


def tile_rows(frame: Frame, operand: int, target: Target) -> Ints:
    """Millicycles that the move of a tile pays for going from row to row of it."""
    own, source = frame.key.kind.operands[operand], frame.key.tensors[operand]
    if source.layout.row is None or not _row(frame.key, operand, target):
        return 0
    streams = _streams(frame, own.dims[source.layout.row], target)
    count = source.runs(frame.operand_sizes(operand))
    return _left_rows(frame, operand, count, streams, target)


def rows_cost(frame: Frame, dim: int, step: Ints, target: Target) -> Ints:
    """Millicycles that a loop over tiles of ``step`` pays for going from row to row.

    What tiles of many rows pay themselves is taken off: however a loop is made of
    loops, each row is paid once.
    """
    paying = _paying(frame.key, dim, target)
    if not paying:
        return 0
    streams = _streams(frame, dim, target)
    extent = frame.sizes[dim]

    def paid(count: Ints) -> Ints:
        return sum(_left_rows(frame, i, count, streams, target) for i in paying)

    return paid(extent) - extent // step * paid(step) - paid(extent % step)


def pays_rows(key: SpecKey, operand: int, dim: int, target: Target) -> bool:
    """Whether a loop along ``dim`` may pay for rows of an operand."""
    return _lies_across(key, operand, dim) and _row(key, operand, target) > 0


def meets_lines(key: SpecKey, operand: int, target: Target) -> bool:
    """Whether the next piece of a row finds the line that this one ended in.

    In a copy it does, unless rows fall into the same sets.
    """
    return key.kind.copies and not aliased(key, operand, target)


def _shares_lines(key: SpecKey, operand: int, target: Target) -> bool:
    """Whether pieces of rows of an operand may lie on lines that they share.

    Not those of panels, which are lines, nor of an operand that is one piece.
    """
    tensor = key.tensors[operand]
    apart = not tensor.contiguous and not tensor.layout.is_packed
    return apart and meets_lines(key, operand, target)


def turn_price(key: SpecKey, target: Target) -> int:
    """Millicycles that a written line takes longer in a tile of several rows."""
    prices = target.prices
    return prices.turn_copy if goes_along(key) else prices.turn_gl


def widths(key: SpecKey, dim: int, target: Target) -> tuple[int, ...]:
    """The dimensions along which rows lie whose width counts in a loop along ``dim``.

    What it pays for rows depends on the `width_class` of sizes along these.
    """
    rows = {
        key.tensors[i].layout.streamed
        for i in _paying(key, dim, target)
        if any(_counts_width(key, i, target))
    }
    return tuple(sorted(rows))


def width_class(key: SpecKey, dim: int, size: int, target: Target) -> Hashable:
    """The same for two sizes along a dimension if rows of both cost the same."""
    found = []
    for i, tensor in enumerate(key.tensors):
        if tensor.layout.streamed == dim and _row(key, i, target):
            shares, shorter = _counts_width(key, i, target)
            piece = size * tensor.dtype.itemsize
            part = math.gcd(piece, _row_start(key, i, target)) if shares else 0
            counted = min(piece, LINE_BYTES) if shares else 0
            found.append((part, counted, shorter and piece < LINE_BYTES))
    return tuple(found)


def _counts_width(key: SpecKey, operand: int, target: Target) -> tuple[bool, bool]:
    """Whether it counts which part of a line a row shares; whether it is shorter."""
    among = any(aliased(key, i, target) for i in range(len(key.tensors)))
    shorter = key.kind.copies and goes_along(key) and among
    return _shares_lines(key, operand, target), shorter


def _streams(frame: Frame, dim: int, target: Target) -> Ints:
    """How many rows along ``dim`` each operand has that are followed at no cost.

    A copy comes back to the same lines, which have to be in L1 until then: if it turns
    rows, or copies pieces of lines. Of rows in the same set L1 holds few.
    """
    key = frame.key
    followed = _followed(key, dim, target.streams)
    if not key.kind.copies:
        return followed
    if not any(aliased(key, i, target) for i in range(2)):
        return followed
    if not goes_along(key):
        return _followed(key, dim, min(target.streams, target.l1_ways))
    along = key.tensors[0].layout.streamed
    if along is None:
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
    return key.kind.copies and len(along) == 1


@lru_cache(maxsize=65536)
def _paying(key: SpecKey, dim: int, target: Target) -> tuple[int, ...]:
    """The operands that a loop along ``dim`` pays rows for."""
    operands = range(len(key.tensors))
    return tuple(i for i in operands if pays_rows(key, i, dim, target))


def _left_rows(
    frame: Frame, operand: int, count: Ints, streams: Ints, target: Target
) -> Ints:
    """Millicycles to leave each of some rows of an operand, and to come back to it.

    ``streams`` of them are followed. A line of each comes by in between, at the least.
    """
    key = frame.key
    row: Ints = count * _row(key, operand, target) * (count > streams)
    if not _shares_lines(key, operand, target):
        return row
    source = key.tensors[operand]
    piece = source.run_bytes(frame.operand_sizes(operand))
    shared = LINE_BYTES - np.gcd(piece, _row_start(key, operand, target))
    line: Ints = _whole_line(key, operand, source.level, target)
    if source.level is Level.MEM:
        in_l2 = target.operand_context.near | (count <= target.l2_lines // 2)
        line = np.where(in_l2, _whole_line(key, operand, Level.L2, target), line)
    line = np.where(count <= max(target.l1_lines // 2, 1), 0, line)
    again = shared * count * line
    return (np.minimum(piece, LINE_BYTES) * row + again) // LINE_BYTES


def _row_start(key: SpecKey, operand: int, target: Target) -> int:
    """The bytes that rows of an operand begin at multiples of: a line at most."""
    return target.operand_context.row_start(key.kind.operands[operand].name)


def _whole_line(key: SpecKey, operand: int, level: Level, target: Target) -> int:
    """Millicycles for a line of a copy to come from a level, and to go back to it."""
    own = key.kind.operands[operand]
    line = target.cost("line", level) if own.is_read else 0
    if own.is_written:
        line += target.cost("store", level)
    if own.is_written and level is Level.MEM:
        line += turn_price(key, target)
    return line


def _row(key: SpecKey, operand: int, target: Target) -> int:
    """Millicycles to go on in another row of an operand.

    What computes on two operands has other work than to wait for rows of L2.
    """
    tensor, written = key.tensors[operand], key.kind.operands[operand].is_written
    if tensor.level is Level.L2 and key.kind.reuses_inputs:
        return 0
    if tensor.level in (Level.MEM, Level.L2) and aliased(key, operand, target):
        return target.prices.row_aliased
    across = key.kind.copies and not goes_along(key)
    if tensor.level is Level.MEM and written and across:
        return target.prices.row_turned
    return target.cost("row", tensor.level)


def _lies_across(key: SpecKey, operand: int, dim: int) -> bool:
    """Whether an operand has ``dim`` but does not lie along it."""
    dims = key.kind.operands[operand].dims
    return dim in dims and dims.index(dim) != key.tensors[operand].layout.streamed
