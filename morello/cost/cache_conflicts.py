"""What it costs that tiles do not stay in a cache: `crowd`, `passes_cost`.

Rows at a distance of a large power of two fall into the same sets of a cache. Those of
a tile that are more than its sets hold push each other out, and come again in each pass
of what uses them. So does a copy that is larger than L3.

A tile does not know how far its rows are apart: the goal does, and the target has it
from there (`Target.at`).
"""

import math

import numpy as np

from morello.machine import Target
from morello.spec import Level, SpecKey, TensorSpec
from morello.spec.frame import Frame, Ints


def crowd(frame: Frame, operand: int, dest: TensorSpec, target: Target) -> Ints:
    """Millicycles a line of an aliased operand where its rows push each other out.

    In L2 its own rows do; in L1 those of all operands that are there too. Rows of one
    line each meet others by chance alone, and do not count.
    """
    sizes = frame.operand_sizes(operand)
    passes = _passes(frame, operand, target)
    if dest.level is Level.L2:
        return (dest.runs(sizes) > target.l2_rows) * passes * target.prices.crowd_l2
    own = _long_rows(dest, sizes)
    rows = own + (frame.key.kind.reuses_inputs)
    ways = rows
    for index, tensor in enumerate(frame.key.tensors):
        if index == operand or tensor.level is not Level.L1:
            continue
        others = frame.operand_sizes(index)
        if aliased(frame.key, index, target):
            taken = _long_rows(tensor, others)
            rows, ways = rows + taken, ways + taken
        else:
            ways = ways + tensor.lines(others) * target.l1_ways // target.l1_lines
    price = np.where(
        rows > target.l1_ways, target.prices.crowd_l1, target.prices.crowd_panel
    )
    return ((own > 0) & (ways > target.l1_ways)) * passes * price


def _passes(frame: Frame, operand: int, target: Target) -> Ints:
    """How often a tile in L2 is passed over, for blocks of what uses it."""
    written = frame.key.kind.operands[operand].is_written
    block = target.first_part if written else target.reuse_gl
    return np.maximum(uses(frame, operand) // block, 1)


def _long_rows(tensor: TensorSpec, sizes: tuple[Ints, ...]) -> Ints:
    """The rows with gaps of a tile that have more than a line each; else 0."""
    rows = tensor.runs(sizes)
    return rows * (tensor.lines(sizes) > rows)


def aliased(key: SpecKey, operand: int, target: Target) -> bool:
    """Whether rows of an operand may fall into the same sets: not those of a copy."""
    name, tensor = key.kind.operands[operand].name, key.tensors[operand]
    crowded = target.operand_context.has_aliased(name, tensor.dtype.itemsize)
    return crowded and not tensor.layout.is_packed


def passes_cost(frame: Frame, operand: int, dest: TensorSpec, target: Target) -> Ints:
    """Millicycles that passes over a copy of an operand take longer beyond L3.

    A copy that takes more than a third of what a program can count on is partly in
    DRAM: other operands pass through L3 between two passes, too.
    """
    if dest.level is not Level.MEM:
        return 0
    lines = dest.lines(frame.operand_sizes(operand))
    dear = (lines > target.l3_lines // 3) * target.prices.stream_dram
    return lines * dear * _passes(frame, operand, target)


def uses(frame: Frame, operand: int) -> Ints:
    """How often each element of an operand is used."""
    dims = frame.key.kind.operands[operand].dims
    return math.prod(n for dim, n in enumerate(frame.sizes) if dim not in dims)
