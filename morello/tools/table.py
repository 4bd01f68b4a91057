"""Table that ``run`` and ``bench`` print for a person: names, values, units."""

import dataclasses

from morello.compiler.kernel import Kernel
from morello.errors import shortened
from morello.explain.words import GIGAHERTZ, Clock
from morello.machine import Target, print_target

_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def table(*rows: tuple[str, str]) -> str:
    """Rows of a name and a value, the values below each other."""
    width = max(len(name) for name, _ in rows)
    return "".join(f"{name:<{width}}  {value}\n" for name, value in rows)


def time_text(seconds: float) -> str:
    """A time with three or more digits and a fitting unit."""
    scale, unit = next((row for row in _TIMES if seconds >= row[0]), _TIMES[-1])
    return f"{seconds / scale:.{0 if seconds >= 100 * scale else 2}f} {unit}"


def size_text(size: int) -> str:
    """A number of bytes: ``242 MB``, ``9.8 kB``, ``0 B``."""
    for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(size) >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} B"


def origin_text(kernel: Kernel) -> str:
    """How a kernel was made: the search and its time."""
    solutions = [solution for solution in kernel.solutions if solution is not None]
    origin = "from the given schedule"
    if kernel.filled:
        origin += f", filled in {time_text(kernel.times.search)}"
    elif any(solution.measured for solution in solutions):
        origin = "chosen by measurement"
    elif solutions or not kernel.specs:
        origin = f"found in {time_text(kernel.times.search)}"
    compiled = f"compiled in {time_text(kernel.times.compile)}"
    return f"{origin}, {compiled}"


def cost_text(cost: int) -> str:
    """A predicted cost, in millicycles, as every command prints it."""
    return Clock(GIGAHERTZ).cost(cost)


def target_text(target: Target) -> str:
    """A target by its name, and by the numbers that are not the known one's.

    The number of threads stands elsewhere.
    """
    return shortened(print_target(dataclasses.replace(target, threads=1)))


def threads_text(allowed: int, used: int) -> str:
    """How many threads a kernel may use, and how many it does."""
    return f"{allowed} allowed, {used} used"
