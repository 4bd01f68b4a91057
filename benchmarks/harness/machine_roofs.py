"""The roofs of a machine for its record: arithmetic, and reading of each memory."""

from typing import Any

from benchmarks.harness.measure import Talker
from benchmarks.harness.roof_loops import ARITHMETIC
from morello.machine.host import host

_ROUNDS = 7


def memories(threads: int) -> dict[str, int]:
    """Bytes to read for each memory, of all threads together.

    Half of a private cache, a quarter of the last one, which others use too, and for
    DRAM four times the last one for each thread: cores may have one each.
    """
    caches = {cache.level: cache.size for cache in host().caches}
    last = max(caches, default=0)
    sizes = {
        f"read L{level}": size // 4 if level == last else size // 2 * threads
        for level, size in sorted(caches.items())
    }
    sizes["read DRAM"] = 4 * beyond_caches() * threads
    return sizes


def beyond_caches() -> int:
    """Bytes that no cache holds: those of the largest one, or 64 MiB."""
    return max((cache.size for cache in host().caches), default=64 << 20)


def machine_roofs(roofs: Talker, threads: int, seconds: float) -> dict[str, float]:
    """10^9 a second by name: the best of some rounds over all of them.

    Args:
        roofs: the process that measures, on as many threads.
        seconds: of a sample.
    """
    requests: dict[str, dict[str, Any]] = {
        name: {"do": "arithmetic", "name": name} for name in ARITHMETIC
    }
    for name, size in memories(threads).items():
        requests[name] = {"do": "read", "bytes": size}
    best = dict.fromkeys(requests, 0.0)
    for _ in range(_ROUNDS):
        for name, request in requests.items():
            rate = float(roofs.ask({**request, "seconds": seconds})["rate"])
            best[name] = max(best[name], rate)
    return best
