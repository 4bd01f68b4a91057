"""Balance of the threads of a program: `balance`, by predicted costs."""

import dataclasses

from morello.explain.model import Explanation, Node
from morello.explain.words import percent


@dataclasses.dataclass(frozen=True)
class Balance:
    """The work that the parallel loops of a program share out among threads."""

    threads: int
    busiest: int
    """Millicycles of the thread that has most of each loop."""
    total: int
    """Millicycles of all threads together."""
    apart: float
    """Share of the program's cost that is outside of these loops, from 0 to 1."""

    @property
    def excess(self) -> float:
        """The busiest thread's work over the mean of all threads; 1 is even."""
        return self.busiest * self.threads / self.total

    @property
    def text(self) -> str:
        """The balance in words, without the number of threads."""
        return (
            f"the busiest has {self.excess:.2f} of the mean; "
            f"{percent(self.apart)} is outside of parallel loops"
        )

    def __str__(self) -> str:
        return f"{self.threads}, {self.text}"


def balance(explanation: Explanation) -> Balance | None:
    """The balance of a program; None if nothing of it is shared out."""
    loops = [node for node in explanation.root.walk() if node.impl.action.forks]
    busiest = sum(node.runs * _busiest(node) for node in loops)
    total = sum(node.runs * _total(node) for node in loops)
    if not total:
        return None
    apart = 1 - busiest / explanation.cost
    return Balance(explanation.target.threads, busiest, total, apart)


def _busiest(node: Node) -> int:
    shared = _team_runs(node)
    return sum(c.times * c.impl.cost for c in node.children if c.role in shared)


def _total(node: Node) -> int:
    shared = _team_runs(node)
    return sum(shared.get(c.role, 0) * c.impl.cost for c in node.children)


def _team_runs(node: Node) -> dict[str, int]:
    return node.impl.action.team_runs(node.impl.spec)
