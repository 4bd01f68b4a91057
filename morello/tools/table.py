"""What ``run`` and ``bench`` print for a person: names, values, units."""

from morello.compiler.kernel import Kernel

_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def table(*rows: tuple[str, str]) -> str:
    """Rows of a name and a value, the values below each other."""
    width = max(len(name) for name, _ in rows)
    return "".join(f"{name:<{width}}  {value}\n" for name, value in rows)


def time_text(seconds: float) -> str:
    """A time with three or more digits and a fitting unit."""
    scale, unit = next((row for row in _TIMES if seconds >= row[0]), _TIMES[-1])
    return f"{seconds / scale:.{0 if seconds >= 100 * scale else 2}f} {unit}"


def made_from(kernel: Kernel) -> str:
    """How a kernel was made: the search, its time, and the predicted cost."""
    found = "from the given schedule"
    if kernel.filled:
        found += f", filled in {time_text(kernel.times.search)}"
    elif kernel.solution is not None:
        found = f"found in {time_text(kernel.times.search)}"
    compiled = f"compiled in {time_text(kernel.times.compile)}"
    return f"{found}, {compiled}, predicted to take {kernel.cost() / 1000:.0f} cycles"


def threads_text(allowed: int, used: int) -> str:
    """How many threads a kernel may use and does."""
    return f"{allowed} allowed, {used} used"
