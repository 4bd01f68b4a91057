"""Pins: Specs whose schedule a person has fixed.

Wherever a search meets a pinned Spec, its program is that of the pin, whatever it
costs; holes of the pin are searched as goals of their own. In a table the pin is one
more action, `Pinned`, at the points that it holds.

A limit that cannot decide anything for a Spec has no axis in its table: the point then
stands for Specs with any such limit, and so does the pin.
"""

import dataclasses
import hashlib
from collections.abc import Callable, Iterator
from typing import ClassVar

from morello.actions import Action, Axes, Expansion
from morello.errors import MorelloError, ScheduleError, SearchError
from morello.machine import Target
from morello.search.dp.axes import matters
from morello.search.dp.box import ANY, Box
from morello.search.dp.table import position, spec_at
from morello.search.impl import Impl
from morello.search.queries.partial_program import Partial, complete
from morello.search.storage.connection import DatabaseError
from morello.search.storage.overlay import warn
from morello.search.storage.schema import PinRow
from morello.spec import Limits, Memory, Spec, SpecKey, parse_spec, print_spec
from morello.spec.frame import Frame

_NO_LIMITS = Limits()
"""Limits that count no memory: with these as the default, a text names every limit."""


@dataclasses.dataclass(frozen=True)
class Pin:
    """A Spec and what is decided of its program."""

    spec: Spec
    target: str
    """The name of the target that it is for."""
    program: Partial

    @classmethod
    def of(cls, row: PinRow) -> "Pin":
        """The pin that a database holds.

        Raises:
            SpecError, ScheduleError: another version of Morello made it.
        """
        spec = parse_spec(row.spec, _NO_LIMITS)
        return cls(spec, row.target, Partial.parse(row.program))

    @property
    def text(self) -> str:
        """The Spec, with every limit."""
        return full_text(self.spec)

    @property
    def digest(self) -> str:
        """A hash of all that it decides."""
        parts = "\n".join((self.text, self.target, str(self.program)))
        return hashlib.blake2b(parts.encode(), digest_size=12).hexdigest()

    @property
    def action(self) -> "Pinned":
        """Action that represents the pin in a table."""
        return Pinned(self.digest)


def full_text(spec: Spec) -> str:
    """A Spec as text that is read alike on every target: with every limit."""
    return print_spec(spec, _NO_LIMITS)


@dataclasses.dataclass(frozen=True, order=True)
class Pinned(Action):
    """Do as a pin says. Only tables have it: programs have the actions of the pin."""

    name: ClassVar[str] = "pinned"
    digest: str

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """It applies nowhere by itself: the search puts it where it belongs."""
        return Expansion.refused("it stands for a pinned schedule")

    @classmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator[Action]:
        """None: pins are given."""
        return iter(())


@dataclasses.dataclass(frozen=True)
class Pins:
    """The pins that a search respects: at most one for each Spec."""

    pins: tuple[Pin, ...] = ()

    @property
    def digest(self) -> str:
        """A hash of all pins; empty if there are none."""
        if not self.pins:
            return ""
        every = "\n".join(sorted(pin.digest for pin in self.pins))
        return hashlib.blake2b(every.encode(), digest_size=12).hexdigest()

    def of(self, key: SpecKey) -> tuple[Pin, ...]:
        """Pins of the Specs of one key."""
        return tuple(pin for pin in self.pins if pin.spec.key == key)

    def find(self, action: Pinned) -> Pin:
        """The pin that an action stands for."""
        return next(pin for pin in self.pins if pin.action == action)


@dataclasses.dataclass(frozen=True)
class Fixed:
    """A point of a table that is not the search's to decide."""

    point: tuple[int, ...]
    action: Pinned
    cost: int


class PinnedPrograms:
    """The programs of pins, completed by the search.

    Args:
        pins: which.
        target: the machine.
        solve: the best program of a Spec, as a goal of its own.
    """

    def __init__(
        self, pins: Pins, target: Target, solve: Callable[[Spec], Impl]
    ) -> None:
        self.pins = pins
        self._target = target
        self._solve = solve
        self._programs: dict[tuple[Pin, Spec], Impl] = {}
        self._depends: dict[tuple[Pin, Memory], bool] = {}

    def program(self, action: Pinned, spec: Spec) -> Impl:
        """Complete the program of a pin for a Spec that it holds for.

        Raises:
            ScheduleError, SearchError: it does not apply.
        """
        return self._program(self.pins.find(action), spec)

    def fixed(self, key: SpecKey, box: Box, limits: Limits) -> tuple[Fixed, ...]:
        """The points of a table that pins decide.

        A pin that does not apply is left out, with a warning.

        Args:
            key: of the table.
            box: of the table.
            limits: of its goal.
        """
        points = []
        for pin in self.pins.of(key):
            point = position(box, pin.spec.sizes, pin.spec.limits)
            if point is None:
                continue
            _, left = spec_at(key, box, point, limits)
            spec = dataclasses.replace(pin.spec, limits=left)
            try:
                if self._holds(pin, box, left):
                    cost = self._program(pin, spec).cost
                    points.append(Fixed(point, pin.action, cost))
            except (ScheduleError, SearchError) as error:
                _warn(pin.text, f"does not apply: {error.what}")
        return tuple(points)

    def _holds(self, pin: Pin, box: Box, left: Limits) -> bool:
        """Whether a pin holds at a point that stands for many limits."""
        return not any(
            axis == (ANY,)
            and free != pin.spec.limits[memory]
            and self.depends(pin, memory)
            for (memory, free), axis in zip(left.items(), box.limits, strict=True)
        )

    def depends(self, pin: Pin, level: Memory) -> bool:
        """Whether the program of a pin is another where nothing is left of a memory."""
        differs = self._depends.get((pin, level))
        if differs is None:
            spec = pin.spec
            bare = dataclasses.replace(spec, limits=spec.limits.replace(level, 0))
            cost = self._program(pin, spec).cost
            try:
                differs = self._program(pin, bare).cost != cost
            except (ScheduleError, SearchError):
                differs = True
            self._depends[pin, level] = differs
        return differs

    def check(self, pin: Pin) -> Impl:
        """The program of a pin, if it can be respected wherever its Spec occurs.

        Raises:
            ScheduleError, SearchError: it cannot, and why.
        """
        if pin.program.action is None:
            raise ScheduleError(
                f"the schedule decides nothing of {pin.spec}", "begin with an action"
            )
        impl = complete(pin.program, pin.spec, self._target, self._solve)
        for level in self._target.caches:
            if not matters(pin.spec.key, level, self._target) and (
                self.depends(pin, level)
            ):
                raise ScheduleError(
                    f"the schedule takes a part of {level}, but nothing of {pin.spec} "
                    f"can move there, so that the search does not count what is left "
                    f"of it",
                    "pin the Spec before its operands are brought nearer",
                )
        return impl

    def _program(self, pin: Pin, spec: Spec) -> Impl:
        program = self._programs.get((pin, spec))
        if program is None:
            try:
                program = complete(pin.program, spec, self._target, self._solve)
            except (RecursionError, OverflowError) as error:
                raise ScheduleError(
                    f"the pinned schedule of {pin.text} is too deep, or has numbers "
                    "that are too large"
                ) from error
            self._programs[pin, spec] = program
        return program


def read_pins(rows: tuple[PinRow, ...], target: Target) -> Pins:
    """The pins of a target. One that cannot be read is left out, with a warning."""
    pins = []
    for row in rows:
        if row.target != target.name:
            continue
        try:
            pins.append(Pin.of(row))
        except MorelloError as error:
            _warn(row.spec, f"cannot be read: {error.what}")
    return Pins(tuple(sorted(pins, key=lambda pin: pin.text)))


def _warn(text: str, why: str) -> None:
    """Say that a pin is left out: others, and all that is not pinned, can be done."""
    error = DatabaseError(
        f"the schedule that is pinned for {text} {why}",
        f"take it out: morello db unpin '{text}'",
    )
    warn(error, "it is not respected")
