"""How a dimension is shared out among threads."""

import math
from collections.abc import Iterator

from morello.spec.tensors.layout import ceil_div

SHARE = 16
"""Larger shares are multiples of it: whole packs, and whole lines."""

_UNEVEN = 64
"""A share that a multiple of `SHARE` exceeds by more than its 64th is one as well."""


def share_of(size: int, threads: int) -> int:
    """Size of each thread's share of a dimension, but the last ones.

    A share larger than `SHARE` is rounded up to a multiple of it.
    """
    share: int = ceil_div(size, threads)
    if share > SHARE:
        share = ceil_div(share, SHARE) * SHARE
    return min(share, size)


def shares_of(size: int, threads: int, even: bool = False) -> tuple[int, ...]:
    """The shares of each number of threads that divides ``threads``, and what the last
    thread has then; all smaller than ``size``.

    Args:
        even: those of threads that all have as much as another, or one less, too, if
            they are much less than multiples of `SHARE`.
    """
    parts: dict[int, None] = {}
    for part in range(2, threads + 1):
        if threads % part == 0:
            for share in _shares(size, part, even):
                parts[share] = parts[size % share] = None
    return tuple(part for part in parts if 0 < part < size)


def _shares(size: int, threads: int, even: bool) -> Iterator[int]:
    share, least = share_of(size, threads), ceil_div(size, threads)
    yield share
    if even and share - least > least // _UNEVEN:
        yield least


_LONGER = 8
"""How much longer than what is left of it a reduction is that threads share out."""


def is_worth_sharing(
    reductions: tuple[int, ...], sizes: tuple[int, ...], dim: int
) -> bool:
    """Whether threads may share out a reduction, and merge what each has found: there
    is much less of that, and nothing else with as much to share out.

    Args:
        reductions: all dimensions that are reduced.
        sizes: of all dimensions.
        dim: the one to be shared out.
    """
    elements = math.prod(size for d, size in enumerate(sizes) if d not in reductions)
    return sizes[dim] >= _LONGER * elements
