"""An Impl: a program, as the tree of decisions that makes it."""

import dataclasses
from collections.abc import Iterator

from morello.actions import Action
from morello.spec import Spec


@dataclasses.dataclass(frozen=True)
class Branch:
    """A hole of an Impl and the program in it."""

    role: str
    times: int
    """How often its cost counts for each run of the Impl; 0 if it runs beside others
    that take longer."""
    impl: "Impl"


@dataclasses.dataclass(frozen=True)
class Impl:
    """The program of a Spec: an action, and the programs of the holes it leaves."""

    spec: Spec
    action: Action
    cost: int
    """Millicycles of the whole program."""
    branches: tuple[Branch, ...]

    def walk(self) -> Iterator["Impl"]:
        """Itself and every Impl below it, in the order in which they first run."""
        yield self
        for branch in self.branches:
            yield from branch.impl.walk()

    @property
    def leaves(self) -> int:
        """How many kernels its code has."""
        return sum(branch.impl.leaves for branch in self.branches) or 1

    def __str__(self) -> str:
        return "\n".join(self._lines("", "", 1))

    def _lines(self, indent: str, role: str, times: int) -> Iterator[str]:
        sizes = "x".join(map(str, self.spec.sizes))
        head = f"{role} {times} x " if role else ""
        label = self.spec.kind.label
        yield f"{indent}{head}{label} {sizes}: {self.action} [{self.cost}]"
        for branch in self.branches:
            yield from branch.impl._lines(indent + "  ", branch.role, branch.times)
