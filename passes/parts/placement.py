"""Places for buffers in one workspace: buffers that never live together share bytes."""

import dataclasses

ALIGNMENT = 64
"""Bytes; every buffer starts a cache line, if the workspace does."""


@dataclasses.dataclass(frozen=True, order=True)
class Lifetime:
    """A buffer: its bytes, and the first and last position where it is needed."""

    size: int
    first: int
    last: int

    def meets(self, other: "Lifetime") -> bool:
        """Whether both are needed at some position."""
        return self.first <= other.last and other.first <= self.last


def align(size: int) -> int:
    """Bytes rounded up to `ALIGNMENT`."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def place(lifetimes: list[Lifetime]) -> tuple[list[int], int]:
    """The offset of each buffer, and the bytes of all.

    The largest first, each at the lowest aligned offset where it overlaps no buffer
    that is needed at the same time.
    """
    order = sorted(
        range(len(lifetimes)), key=lambda i: (-lifetimes[i].size, lifetimes[i].first, i)
    )
    offsets: dict[int, int] = {}
    for i in order:
        taken = sorted(
            (at, at + lifetimes[j].size)
            for j, at in offsets.items()
            if lifetimes[i].meets(lifetimes[j])
        )
        offset = 0
        for start, end in taken:
            if offset + lifetimes[i].size <= start:
                break
            offset = max(offset, align(end))
        offsets[i] = offset
    end = max((offsets[i] + t.size for i, t in enumerate(lifetimes)), default=0)
    return [offsets[i] for i in range(len(lifetimes))], align(end)
