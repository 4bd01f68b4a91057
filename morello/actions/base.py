"""What an action is: a rewrite of a Spec into a piece of program with smaller Specs.

An action is a frozen value. `Action.expand` says, for a whole frame of Specs at once,
where it applies, what it costs by itself, and which child Specs it leaves, how often
each. The cost of a program is affine: the action's own cost plus, for each child, times
it runs · its cost. The search, the transform ops and the tests all ask `expand`.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from morello.errors import ScheduleError
from morello.machine import Target
from morello.spec import Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints


@dataclasses.dataclass(frozen=True)
class Child:
    """The Specs that are left in one hole of the rewritten program."""

    role: str
    """The name of the hole: ``main``, ``remainder``, ``prologue``, ``body``, …"""
    frame: Frame
    times: Ints
    """How often its cost counts: as often as the busiest thread runs it."""
    dims: tuple[int, ...]
    """For each dimension of the child, the parent's dimension that it is a part of."""
    there: Ints | None = None
    """Where it is not 0 there is such a hole; elsewhere sizes mean nothing. None for
    where the hole counts: one that does not is hidden behind the work of others."""

    @property
    def exists(self) -> Ints:
        """Where there is such a hole, not 0."""
        return self.times if self.there is None else self.there


@dataclasses.dataclass(frozen=True)
class Expansion:
    """What an action makes of a frame."""

    conditions: tuple[Condition, ...]
    """All must hold for the action to apply."""
    cost: Ints
    """Its own cost, in millicycles."""
    children: tuple[Child, ...] = ()
    """In the order in which they run."""

    def refusal(self) -> str:
        """The first condition that fails for a frame of one Spec; empty if none."""
        return next((c.text for c in self.conditions if not c.holds), "")


@dataclasses.dataclass(frozen=True)
class Hole:
    """A child Spec of one rewritten Spec."""

    role: str
    spec: Spec
    times: int
    """How often its cost counts; 0 if it runs beside others that take longer."""


@dataclasses.dataclass(frozen=True)
class Rewrite:
    """What an action makes of one Spec."""

    cost: int
    """Its own cost, in millicycles."""
    holes: tuple[Hole, ...]

    def total(self, costs: tuple[int, ...]) -> int:
        """The cost of the program, given the cost of each hole."""
        holes = zip(self.holes, costs, strict=True)
        return self.cost + sum(hole.times * cost for hole, cost in holes)


@dataclasses.dataclass(frozen=True, order=True)
class Action(ABC):
    """A rewrite. Its fields are the attributes of its transform op."""

    name: ClassVar[str]
    """The mnemonic of its op in the ``morello_transform`` dialect."""

    def __str__(self) -> str:
        given = ((f, getattr(self, f.name)) for f in dataclasses.fields(self))
        values = (str(value) for f, value in given if value != f.default)
        return f"{self.name}({', '.join(values)})"

    @abstractmethod
    def expand(self, frame: Frame, target: Target) -> Expansion:
        """The rewrite of every Spec of ``frame``."""

    @classmethod
    @abstractmethod
    def candidates(
        cls, key: SpecKey, axes: tuple[tuple[int, ...], ...], target: Target
    ) -> Iterator["Action"]:
        """The actions of this class that the search tries on a key.

        ``axes`` holds the sizes that each dimension takes, ascending. What it yields
        may still be refused by the conditions of `expand`.
        """

    def loop_dim(self, key: SpecKey) -> int | None:
        """The dimension that it makes a loop over; None if it makes none.

        The holes of a loop have the key `loop_key` and the limits of the Spec.
        """
        return None

    def loop_key(self, key: SpecKey) -> SpecKey:
        """The key of the holes of a loop: one for all sizes of a loop of one class.

        Raises:
            ScheduleError: the action makes no loop.
        """
        raise ScheduleError(f"{self.name} makes no loop")

    def apply(self, spec: Spec, target: Target) -> Rewrite:
        """The rewrite of one Spec.

        Raises:
            ScheduleError: the action does not apply; the message says why.
        """
        expansion = self.expand(Frame.of(spec), target)
        reason = expansion.refusal()
        if reason:
            raise ScheduleError(f"{self.name} does not apply to {spec}: {reason}")
        holes = tuple(
            Hole(child.role, child.frame.spec(), int(child.times))
            for child in expansion.children
            if int(child.exists)
        )
        return Rewrite(int(expansion.cost), holes)
