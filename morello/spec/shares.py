"""How a dimension is shared out among threads."""

from morello.spec.layout import ceil_div

SHARE = 16
"""What a share is a multiple of, where it is larger: whole packs, and whole lines."""


def share_of(size: int, threads: int) -> int:
    """What each of so many threads has of a dimension, but the last ones.

    Where that is more than `SHARE` it is a multiple of it.
    """
    share: int = ceil_div(size, threads)
    if share > SHARE:
        share = ceil_div(share, SHARE) * SHARE
    return min(share, size)


def shares_of(size: int, threads: int) -> tuple[int, ...]:
    """The shares of each number of threads that divides ``threads``, and what the last
    thread has then; all smaller than ``size``.
    """
    found: dict[int, None] = {}
    for part in range(2, threads + 1):
        if threads % part == 0:
            share = share_of(size, part)
            found[share] = found[size % share] = None
    return tuple(part for part in found if 0 < part < size)
