"""Pinning: a person fixes the schedule of a Spec, and every search respects it.

`pin` writes it to a database. From then on every program that is found with that
database, for this Spec or for one that it occurs in, is made so.
"""

from morello.compiler.hand_schedule import read_program
from morello.compiler.target_choice import chosen_target
from morello.errors import MorelloError
from morello.machine import Target
from morello.processes.small_stacks import on_large_stack
from morello.processes.subinterpreters import in_any_interpreter
from morello.search import Solver
from morello.search.queries.pins import Pin, Pins, full_text, read_pins
from morello.search.storage.database import Database
from morello.search.storage.overlay import VARIABLE, Overlay, PathLike, open_database
from morello.search.storage.schema import PinRow
from morello.spec import Spec, parse_spec


@on_large_stack
@in_any_interpreter
def pin(
    spec: str | Spec,
    schedule: str,
    *,
    target: str | Target | None = None,
    db: PathLike | Overlay | None = None,
) -> Pin:
    """Fix the schedule of a Spec; one that was pinned for it before is replaced.

    Args:
        spec: which; as text it may name levels, layouts and limits:
            ``matmul_accum:6x64x16:f32:lhs=[0,1,2]@L1/strided:l1=64``.
        schedule: a module with the Spec and its schedule, as `Kernel.schedule` has it.
            Its holes are searched.
        target: the machine, as `compile` takes it.
        db: the database, as `compile` takes it; the first of several is written.

    Raises:
        SpecError, TargetError: an argument cannot be read.
        ScheduleError: the schedule cannot be read, is for another Spec, or does not
            apply; it begins with the place in the text.
        SearchError: a Spec that it leaves has no program.
        DatabaseError: the database cannot be written.
    """
    machine, wanted = _read(spec, target, schedule)
    overlay = _opened(db)
    pinned = Pin(wanted, machine.name, read_program(schedule, wanted, machine))
    others = (p for p in read_pins(overlay.pins(), machine).pins if p.spec != wanted)
    solver = Solver(machine.at(wanted), overlay, pins=Pins((*others, pinned)))
    solver.pinned.check(pinned)
    row = PinRow(pinned.text, machine.name, str(pinned.program), schedule)
    _top(overlay).pin((row,), replace=True)
    return pinned


def unpin(
    spec: str | Spec,
    *,
    target: str | Target | None = None,
    db: PathLike | Overlay | None = None,
) -> bool:
    """Leave a Spec to the search again; whether it was pinned in this database.

    Raises:
        SpecError, TargetError: an argument cannot be read.
        DatabaseError: the database cannot be written.
    """
    machine, wanted = _read(spec, target)
    return _top(_opened(db)).unpin(full_text(wanted), machine.name)


def pinned(
    *, target: str | Target | None = None, db: PathLike | Overlay | None = None
) -> tuple[Pin, ...]:
    """The pins of a target.

    Raises:
        ScheduleError: a pin was made by another version of Morello.
        DatabaseError: the database cannot be read.
    """
    machine = chosen_target(target)
    return read_pins(_opened(db).pins(), machine).pins


def _read(
    spec: str | Spec, target: str | Target | None, schedule: str | None = None
) -> tuple[Target, Spec]:
    machine = chosen_target(target, schedule)
    return machine, parse_spec(spec, machine.limits) if isinstance(spec, str) else spec


def _opened(db: PathLike | Overlay | None) -> Overlay:
    overlay = open_database(db)
    if overlay is None:
        raise MorelloError(
            "there is no database to pin a schedule in",
            f"give its path, or set {VARIABLE}",
        )
    return overlay


def _top(overlay: Overlay) -> Database:
    if overlay.top is None:
        raise MorelloError("the database cannot be written", "give the path of another")
    return overlay.top
