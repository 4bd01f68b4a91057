"""Program of a tournament, with its calls and the times that they took: `Entry`."""

import dataclasses
import math
import statistics
from collections.abc import Callable, Sequence

from morello.compiler.tuning.timing import calls_of, timed

_WARM = 0.02
"""Seconds of a call that finds nothing in a cache of what was there before it."""

_LONG = 0.05
"""Seconds of a call that is no short one which was interrupted, if it takes so long
twice."""

Call = Callable[[], object]


@dataclasses.dataclass
class Entry:
    """Program of a tournament.

    Args:
        calls: one for each placement of the operands.
        expected: seconds of a call, as far as they are known before it is timed.
    """

    calls: Sequence[Call]
    expected: float = 0.0
    repeats: int = 0
    """Calls in a sample."""
    times: list[list[float]] = dataclasses.field(default_factory=list)
    """Seconds of a call: for each placement, the samples."""

    @property
    def seconds(self) -> float:
        """Seconds of a call: the geometric mean over placements of the best
        sample."""
        best = [min(samples) for samples in self.times if samples]
        return statistics.geometric_mean(best) if best else math.inf

    @property
    def first(self) -> float:
        """Seconds of the first sample, about, with what finds out how long it is."""
        return self.expected * (1 if self.expected > _LONG else 2)

    @property
    def turn(self) -> float:
        """Seconds of a sample, with the call before it."""
        return self.seconds * (max(1, self.repeats) + (self.seconds < _WARM))

    def sample(self, placement: int) -> float:
        """Take one sample. It begins with the caches as a call leaves them, not as
        another program does, or the operands of another placement."""
        call = self.calls[placement]
        if not self.repeats:
            self.times = [[] for _ in self.calls]
            elapsed = timed(call, (), 1) if self.expected > _LONG else 0.0
            self.repeats = 1 if elapsed > _LONG else calls_of(call, ())
            if elapsed > _LONG:
                self.times[placement].append(elapsed)
                return elapsed
        elif not self.times[placement] or self.seconds < _WARM:
            call()
        elapsed = timed(call, (), self.repeats) / self.repeats
        self.times[placement].append(elapsed)
        return elapsed
