"""What it costs to bring the tiles of operands nearer: lines, rows, crowded caches.

Three effects, each a number of things times a coefficient of the target:

- **Lines.** A line that is used much, as an operand of a large matmul is, comes while
  the core computes; one that is used once or twice is waited for. A line that is
  written goes back.
- **Rows.** Going on in another row costs by itself (`strided_access.py`).
- **Crowds.** What is too much for a cache comes again (`cache_conflicts.py`).

A tile does not know whether its lines are in L3 or in DRAM: the goal does, and the
target has it from there (`Target.at`).
"""

import math

import numpy as np

from morello.cost.cache_conflicts import aliased, crowd, uses
from morello.cost.strided_access import (
    goes_along,
    meets_lines,
    tile_rows,
    turn_price,
)
from morello.machine import Target
from morello.spec import Level, TensorSpec
from morello.spec.frame import Frame, Ints
from morello.spec.layout import LINE_BYTES


def traffic(frame: Frame, operand: int, dest: TensorSpec, target: Target) -> Ints:
    """Millicycles to bring an operand's tile to a cache once, and to take it back."""
    source = frame.key.tensors[operand]
    sizes = frame.operand_sizes(operand)
    level = source.level
    line: Ints = 0
    for passed in (Level.MEM, Level.L2):
        if level >= passed > dest.level:
            line = line + _line(frame, operand, passed, target)
    if level is Level.MEM and frame.key.serial:
        line = line + (target.threads - 1) * target.prices.shared_gl
    if aliased(frame.key, operand, target):
        line = line + crowd(frame, operand, dest, target)
    cost = source.lines(sizes) * line
    if frame.key.kind.copies:  # the other pieces of a line follow
        runs, piece = source.runs(sizes), source.run_bytes(sizes)
        part = piece < LINE_BYTES
        if not meets_lines(frame.key, operand, target):
            part = part & (runs == 1) & goes_along(frame.key)
        cost = np.where(part, runs * piece * line // LINE_BYTES, cost)
    return cost + tile_rows(frame, operand, target)


def waited(frame: Frame, operand: int, dest: TensorSpec, target: Target) -> Ints:
    """Millicycles that a copy in L2 of a tile there, its first reader, waits for lines.

    The tile came there at the price of lines that come while the core computes. A copy
    computes nothing: it pays what its lines would have cost it from beyond. Copies to
    L1 are made again for each block of what uses them: all but the first find the tile
    in L2.
    """
    source, own = frame.key.tensors[operand], frame.key.kind.operands[operand]
    first = source.level is dest.level is Level.L2 and not source.layout.is_packed
    if not (first and own.is_read):
        return 0
    more = target.cost("line", Level.MEM) - target.cost("hidden", Level.MEM)
    hidden = uses(frame, operand) >= target.reuse_gl
    return hidden * source.lines(frame.operand_sizes(operand)) * max(more, 0)


def _line(frame: Frame, operand: int, level: Level, target: Target) -> Ints:
    """Millicycles for a line to come from ``level`` to the next, and to go back.

    The lines of panels follow each other, so that they are foreseen as those of L2 are.
    """
    own, source = frame.key.kind.operands[operand], frame.key.tensors[operand]
    packed = source.layout.is_packed and own.name not in target.operand_context.packed
    line: Ints = target.cost("store", level) if own.is_written else 0
    if own.is_written and level is Level.MEM:
        turns = _turns(source, frame.operand_sizes(operand))
        line = line + turns * turn_price(frame.key, target)
    if not own.is_read:
        return line
    reuse = target.reuse_gl if level is Level.MEM else target.reuse_l2
    if packed:
        reuse = target.reuse_panel
    quick = target.cost("stream" if packed else "hidden", level)
    slow = target.cost("line", level)
    return line + np.where(uses(frame, operand) >= reuse, quick, slow)


def _turns(tensor: TensorSpec, sizes: tuple[Ints, ...]) -> Ints:
    """Whether a tile has several rows, with or without gaps."""
    if tensor.layout.row is None:
        return 0
    along = tensor.layout.streamed
    return math.prod(n for dim, n in enumerate(sizes) if dim != along) > 1
