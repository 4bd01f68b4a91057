"""A program of a contest, with its calls and the times that they took: `Entry`."""

import dataclasses
import math
import statistics
from collections.abc import Callable, Sequence

from morello.compiler.tuning.timing import calls_of, timed

Call = Callable[[], object]


@dataclasses.dataclass
class Entry:
    """A program of a contest.

    Args:
        calls: one for each placement of the operands.
    """

    calls: Sequence[Call]
    repeats: int = 0
    """Calls in a sample."""
    times: list[list[float]] = dataclasses.field(default_factory=list)
    """Seconds of a call: for each placement, the samples."""

    @property
    def seconds(self) -> float:
        """Of a call: the geometric mean over placements of the best sample."""
        best = [min(samples) for samples in self.times if samples]
        return statistics.geometric_mean(best) if best else math.inf

    def sample(self, placement: int) -> float:
        """Take one sample."""
        call = self.calls[placement]
        if not self.repeats:
            self.times = [[] for _ in self.calls]
            self.repeats = calls_of(call, ())
        elif not self.times[placement]:
            call()  # faults pages in, and fills caches
        found = timed(call, (), self.repeats) / self.repeats
        self.times[placement].append(found)
        return found
