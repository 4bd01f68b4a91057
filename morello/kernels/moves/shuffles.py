"""Transposes of 1, 2, 4 or 8 vectors of 4 or 8 lanes of 4 bytes.

The shuffles are those that AVX has as instructions: interleave the halves of each
16-byte lane by elements, then by pairs, then exchange 16-byte lanes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from morello.kernels.emitter import Emitter, Value
from morello.spec.frame import Ints

SIDE = 8
"""The most rows, and the most lanes of a row."""

_LANE = 4
"""Elements of a 16-byte lane: most AVX shuffles do not cross lanes."""


def _within_lanes(width: int, pattern: tuple[int, ...]) -> list[int]:
    """A pattern on lanes of two vectors (0 to 3 of a, then b), in each 16-byte lane."""
    return [
        base + (p if p < _LANE else p - _LANE + width)
        for base in range(0, width, _LANE)
        for p in pattern
    ]


def _interleave(
    emitter: Emitter, a: Value, b: Value, width: int, low: Any, high: Any
) -> tuple[Value, Value]:
    return (
        emitter.shuffle(a, b, _within_lanes(width, low)),
        emitter.shuffle(a, b, _within_lanes(width, high)),
    )


def _split(
    emitter: Emitter, vectors: Sequence[Value], width: int, count: int
) -> list[Value]:
    """The columns of ``count`` elements, in order.

    Vector v holds, in each 16-byte lane l, column ``4 l + v * 4 / count + …``.
    """
    columns: list[Value] = []
    for base in range(0, width, _LANE):
        for vector in vectors:
            for start in range(base, base + _LANE, count):
                lanes = list(range(start, start + count))
                columns.append(emitter.shuffle(vector, vector, lanes))
    return columns


def _four(
    emitter: Emitter, rows: Sequence[Value], width: int
) -> tuple[Value, Value, Value, Value]:
    """Four rows: vector v holds column v of each 16-byte lane."""
    a, b, c, d = rows
    low, high = (0, 4, 1, 5), (2, 6, 3, 7)
    ab0, ab1 = _interleave(emitter, a, b, width, low, high)
    cd0, cd1 = _interleave(emitter, c, d, width, low, high)
    first, second = (0, 1, 4, 5), (2, 3, 6, 7)
    return (
        *_interleave(emitter, ab0, cd0, width, first, second),
        *_interleave(emitter, ab1, cd1, width, first, second),
    )


def _eight(emitter: Emitter, rows: Sequence[Value], width: int) -> list[Value]:
    """Eight rows: both halves of every column, put together."""
    top = _four(emitter, rows[:4], width)
    bottom = _four(emitter, rows[4:], width)
    columns = []
    for base in range(0, width, _LANE):
        lanes = [*range(base, base + _LANE), *range(base + width, base + width + _LANE)]
        columns += [
            emitter.shuffle(t, b, lanes) for t, b in zip(top, bottom, strict=True)
        ]
    return columns


def columns_of(emitter: Emitter, rows: Sequence[Value], width: int) -> list[Value]:
    """The ``width`` columns of 1, 2, 4 or 8 rows, each a vector of as many lanes."""
    match len(rows):
        case 1:
            return _split(emitter, rows, width, 1)
        case 2:
            low, high = (0, 4, 1, 5), (2, 6, 3, 7)
            pair = _interleave(emitter, rows[0], rows[1], width, low, high)
            return _split(emitter, pair, width, 2)
        case 4:
            return _split(emitter, _four(emitter, rows, width), width, 4)
        case 8:
            return _eight(emitter, rows, width)
    raise ValueError(f"no transpose of {len(rows)} rows")


def shuffle_count(rows: Ints, columns: Ints) -> Ints:
    """Shuffles of a block whose rows go in by 8, 4, 2 and 1, about.

    The high halves of registers take one more each when a column is part of one.
    """
    halves = np.where(columns > _LANE, 2, 1)
    eight = (rows >> 3 & 1) * (16 + 4 * halves)
    four = (rows >> 2 & 1) * (8 + 4 * (halves - 1))
    two = (rows >> 1 & 1) * (2 + 2 * (halves - 1))
    one = (rows & 1) * columns
    return eight + four + two + one
