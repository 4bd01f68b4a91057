"""Interface of cost models, which multiply what kernels and actions count.

`Action.expand` asks the model of its target; search and transform ops see numbers only.
Another model is another subclass: nothing outside `morello.cost` knows which it is.
"""

from typing import Protocol

from morello.cost.counts import OpCounts
from morello.spec import TensorSpec
from morello.spec.frame import Frame, Ints


class CostModel(Protocol):
    """Millicycles of each part of a program; integers, or arrays over a frame."""

    def loop(self, trips: Ints, remainders: Ints) -> Ints:
        """The overhead of a loop without its body: of its trips, and of code after
        it."""

    def parallel(self, trips: Ints, remainders: Ints) -> Ints:
        """Cost of trips shared out among threads, of which the busiest has
        ``trips``."""

    def transfer(self, frame: Frame, operand: int, dest: TensorSpec) -> Ints:
        """The lines of an operand's tile come to a cache, and go back if written."""

    def buffer(self, frame: Frame, operand: int, dest: TensorSpec) -> Ints:
        """The cost of a buffer for an operand's tile, without the copies into and out
        of it."""

    def temporary(self, lines: Ints) -> Ints:
        """A value of so many lines is left in memory for what comes after it."""

    def kernel(self, frame: Frame, counts: OpCounts) -> Ints:
        """Millicycles of one run of a kernel, for each Spec of the frame."""
