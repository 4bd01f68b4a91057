"""How runs of elements are cut into vectors."""

from typing import Any

import numpy as np

from morello.spec.frame import Ints
from morello.spec.tensors.layout import ceil_div


def vectors_of(count: Ints, lanes: int) -> Ints:
    """Registers that hold a run of ``count`` elements."""
    return ceil_div(count, lanes)


def tail_of(count: Ints, lanes: int) -> Ints:
    """1 where the last of those registers is not full, else 0."""
    return (count % lanes != 0) * 1


def parts(count: int, lanes: int) -> list[tuple[int, int]]:
    """Start and length of each vector of a run; the last may be short."""
    return [(at, min(lanes, count - at)) for at in range(0, count, lanes)]


def overlapping(count: int, lanes: int) -> list[tuple[int, int]]:
    """Start and length (a power of two) of accesses that cover a run exactly.

    The last may cover elements again: for copies, fills and max that is harmless, and
    it takes one access where masks or pieces would take up to five.
    """
    width = min(lanes, 1 << (count.bit_length() - 1))
    starts = list(range(0, count - width + 1, width))
    if count % width:
        starts.append(count - width)
    return [(start, width) for start in starts]


def overlapping_count(count: Ints, lanes: int) -> Ints:
    """How many accesses `overlapping` gives (integers or arrays)."""
    short = 1 + (count & (count - 1) != 0) * 1
    return np.where(count >= lanes, ceil_div(count, lanes), short)


def pieces(count: int) -> list[tuple[int, int]]:
    """Start and length of powers of two, greatest first, that make up ``count``."""
    cut = []
    start = 0
    for bit in reversed(range(count.bit_length())):
        if count >> bit & 1:
            cut.append((start, 1 << bit))
            start += 1 << bit
    return cut


def piece_count(count: Ints, lanes: int) -> Ints:
    """How many of `pieces` a run shorter than ``lanes`` has (integers or arrays)."""
    total: Any = 0
    for bit in range(lanes.bit_length()):
        total = total + (count >> bit & 1)
    return total


def end_count(count: Ints, lanes: int, masked: bool) -> Ints:
    """How many accesses the end of a run takes: one with a mask, or its pieces."""
    rest = count % lanes
    return tail_of(count, lanes) if masked else piece_count(rest, lanes)
