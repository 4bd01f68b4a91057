"""Actions: rewrites of a Spec into a piece of program with smaller Specs.

An action is a frozen value. `Action.expand` says, for a whole frame of Specs at once,
where it applies, its own cost, and its child Specs with the number of their runs. The
cost of a program is affine: the action's own cost plus, for each child, the number of
its runs · its cost. The search, the transform ops and the tests all call `expand`.
"""

import dataclasses
from abc import abstractmethod
from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import ClassVar

from morello.actions.sizes.over import rewrite_over
from morello.errors import ScheduleError
from morello.machine import Target
from morello.spec import (
    L1,
    Dtype,
    Form,
    Layout,
    Limits,
    Memory,
    Spec,
    SpecKey,
    TensorSpec,
)
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.hashing import Interned

Axes = tuple[tuple[int, ...], ...]
"""The sizes that each dimension takes, ascending."""


@dataclasses.dataclass(frozen=True)
class Child:
    """The Specs that are left in one hole of the rewritten program."""

    role: str
    """The name of the hole: ``main``, ``remainder``, ``prologue``, ``body``, …"""
    frame: Frame
    times: Ints
    """How often its cost counts: as often as the busiest thread runs it."""
    dims: tuple[int, ...]
    """For each dimension of the child, the parent's dimension that it is a part of. One
    that is a part of none is of one size n, or a tile of that: -1 - n, so -2 for 1."""
    there: Ints | None = None
    """Not 0 where there is such a hole; elsewhere sizes mean nothing. None for where
    the hole counts: one that does not is hidden behind the work of others."""

    @property
    def exists(self) -> Ints:
        """Mask: non-zero where this child exists."""
        return self.times if self.there is None else self.there

    @property
    def is_lesser(self) -> bool:
        """Whether the program in the hole has no say in the class of the whole: what
        remains at an edge, copies and fills, what runs in rare cases. A first part has
        one only where no main part is left."""
        return self.role in _LESSER


_LESSER = frozenset(
    {
        *("remainder", "right", "below", "corner", "first"),
        *("prologue", "epilogue", "init", "init1", "init2", "init3"),
        *("before", "before1", "before2", "after", "after1", "after2"),
        *("fill", "copy", "save", "rescale", "merge", "general"),
    }
)
"""The roles of holes that are lesser."""


@dataclasses.dataclass(frozen=True)
class Expansion:
    """The result of an action on a frame: conditions, own cost and children."""

    conditions: tuple[Condition, ...]
    """All must hold for the action to apply."""
    cost: Ints
    """The cost without the holes, in millicycles."""
    children: tuple[Child, ...] = ()
    """In the order in which they run."""

    @classmethod
    def refused(cls, reason: str) -> "Expansion":
        """The expansion of an action that applies to no Spec of a frame."""
        return cls((Condition(False, reason),), 0)

    @property
    def leading(self) -> tuple[Child, ...]:
        """The holes whose programs say which class the whole program is of."""
        there = [child for child in self.children if int(child.exists)]
        return tuple(c for c in there if not c.is_lesser) or tuple(
            c for c in there if c.role == "first"
        )

    def refusal(self) -> str:
        """The first condition that fails for a frame of one Spec; empty if none."""
        return next((c.text for c in self.conditions if not c.holds), "")

    def rewrite(self) -> "Rewrite":
        """The rewrite of the single Spec of the frame; no condition may fail."""
        holes = tuple(
            Hole(child.role, child.frame.spec(), int(child.times))
            for child in self.children
            if int(child.exists)
        )
        return Rewrite(int(self.cost), holes)


@dataclasses.dataclass(frozen=True)
class Hole:
    """A child Spec of one rewritten Spec."""

    role: str
    spec: Spec
    times: int
    """How often its cost counts; 0 if it runs beside others that take longer."""
    follows: tuple[int, ...] = ()
    """For each range of the Spec, that of the rewritten one which it follows from."""


@dataclasses.dataclass(frozen=True)
class Rewrite:
    """The result of an action on one Spec: its own cost and the child Specs."""

    cost: int
    """The cost without the holes, in millicycles."""
    holes: tuple[Hole, ...]

    def total(self, costs: tuple[int, ...]) -> int:
        """The cost of the program, given the cost of each hole."""
        holes = zip(self.holes, costs, strict=True)
        return self.cost + sum(hole.times * cost for hole, cost in holes)


@dataclasses.dataclass(frozen=True)
class LoopForm:
    """A key that stands for all on which some loops are the same.

    Args:
        form: all that their conditions, trips and costs depend on, besides the sizes.
        key: one of the keys.
    """

    form: Hashable
    key: SpecKey = dataclasses.field(compare=False)


@lru_cache(maxsize=4096)
def canonical(tensor: TensorSpec) -> TensorSpec:
    """A canonical form that replaces an operand that does not matter
    (`Action.relevant`). Operands in registers stay."""
    if tensor.level.is_registers:
        return tensor
    return near_form(tensor.dtype, Layout.row_major(tensor.rank))


@lru_cache(maxsize=4096)
def near_form(dtype: Dtype, layout: Layout) -> TensorSpec:
    """The form of an operand in the first-level cache."""
    return TensorSpec(dtype, L1, layout)


@dataclasses.dataclass(frozen=True, order=True)
class Action(Interned):
    """A rewrite. Its fields are the attributes of its transform op."""

    name: ClassVar[str]
    """The mnemonic of its op in the ``morello_transform`` dialect."""

    turn: ClassVar[int] = 3
    """When a search in a hurry tries it on a Spec: those of the least turn first."""
    takes_ranges: ClassVar[bool] = False
    """Whether it applies where each call says a size (`sizes/over.py`)."""
    splits_sizes: ClassVar[bool] = False
    """Whether its holes take parts of the sizes that calls may say."""
    ends: ClassVar[bool] = False
    """Whether it leaves no holes, whatever the Spec."""
    forks: ClassVar[bool] = False
    """Whether it makes a loop of several threads."""
    cuts_graphs: ClassVar[bool] = False
    """Whether nodes of a graph are computed first, and others from them."""
    by_sizes: ClassVar[bool] = False
    """Whether `candidates` reads the sizes of dimensions; else they may be left out."""

    def __str__(self) -> str:
        fields = ((f, getattr(self, f.name)) for f in dataclasses.fields(self))
        values = (str(value) for f, value in fields if value != f.default)
        return f"{self.name}({', '.join(values)})"

    @abstractmethod
    def expand(self, frame: Frame, target: Target) -> Expansion:
        """The rewrite of every Spec of ``frame``."""

    @classmethod
    @abstractmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator["Action"]:
        """The actions of this class that the search tries on a key.

        ``axes`` holds the sizes that each dimension takes, ascending. What it yields
        may still be refused by the conditions of `expand`.
        """

    def feature(self, key: SpecKey) -> str:
        """The text that the action adds to the name of a program's candidate family;
        empty for loops, and for moves that copy nothing, which define no family."""
        return ""

    def team_runs(self, spec: Spec) -> dict[str, int]:
        """How often all threads together run each hole that they share out, by role."""
        return {}

    def loop_dim(self, key: SpecKey) -> int | None:
        """The dimension that it makes a loop over; None if it makes none.

        The holes of a loop have the key `loop_key` and the limits of the Spec.
        """
        return None

    @property
    def loop_size(self) -> int:
        """The size of a tile of the loop that it makes; 0 if it makes none."""
        return int(getattr(self, "size", 0))

    def loop_key(self, key: SpecKey) -> SpecKey:
        """The key of the holes of a loop: one for all sizes of a loop of one class.

        Raises:
            ScheduleError: the action makes no loop.
        """
        raise ScheduleError(f"{self.name} makes no loop")

    def relevant(self, key: SpecKey, target: Target) -> SpecKey:
        """A key with which `expand` says the same conditions, costs, times and sizes.

        The operands that do not matter have a canonical form in it, so that what was
        expanded for one key holds for many. Operands in registers stay as they are:
        what is left of the registers follows from them.
        """
        return key

    def loop_form(self, key: SpecKey, target: Target) -> LoopForm:
        """The form of the loop that it makes, and of others of its class along the same
        dimension that are legal on the key.

        Raises:
            ScheduleError: the action makes no loop.
        """
        raise ScheduleError(f"{self.name} makes no loop")

    def child_keys(self, key: SpecKey, target: Target) -> tuple[SpecKey, ...]:
        """The keys of the holes of `expand`, in their order."""
        frame = Frame(key, (1,) * len(key.kind.dims), Limits())
        children = self.expand(frame, target).children
        return tuple(child.frame.key for child in children)

    def first_part(self, key: SpecKey) -> tuple[int, int] | None:
        """The reduction and the size of a first part that keeps the key; None if every
        hole that is no tile of a loop has another key."""
        return None

    @classmethod
    def part_sizes(
        cls, key: SpecKey, axis: tuple[int, ...], target: Target
    ) -> tuple[int, ...]:
        """The sizes to which actions of this class cut a reduction that overwrites its
        output, and that takes the sizes of ``axis``."""
        return ()

    @classmethod
    def levels_taken(cls, key: SpecKey, target: Target) -> frozenset[Memory]:
        """The caches that it, or what follows, takes a part of or needs room in."""
        return frozenset()

    @classmethod
    def forms_beforehand(
        cls, key: SpecKey, operand: int, target: Target
    ) -> tuple[Form, ...]:
        """The forms of an operand, packed before the kernel runs, to be tried."""
        return ()

    def passes(self, spec: Spec) -> bool:
        """Whether it passes the ranges of a Spec on, where it takes any at all."""
        return True

    def is_unbounded(self, spec: Spec) -> bool:
        """Whether it needs no more memory or code the greater a size is, of a Spec with
        a range without end."""
        return False

    def varying_cost(
        self, frame: Frame, varying: frozenset[int], target: Target
    ) -> Ints:
        """Millicycles in addition to the cost of the expansion, where a call says some
        sizes."""
        return 0

    def apply(self, spec: Spec, target: Target) -> Rewrite:
        """The rewrite of one Spec.

        Raises:
            ScheduleError: the action does not apply; the message says why.
        """
        if spec.ranges:
            cost, holes = rewrite_over(self, spec, target)
            return Rewrite(cost, tuple(Hole(*hole) for hole in holes))
        expansion = self.expand(Frame.of(spec), target)
        reason = expansion.refusal()
        if reason:
            raise ScheduleError(f"{self.name} does not apply to {spec}: {reason}")
        return expansion.rewrite()
