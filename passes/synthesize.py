"""`morello-synthesize`: find the best program of every Spec, as a schedule.

With ``fill=true`` an existing schedule is kept, and its holes are searched.
"""

import dataclasses
from collections.abc import Callable
from typing import ClassVar

from morello.dialect import load
from morello.dialect.build import spec_of
from morello.dialect.ops import SPEC_OPS, spec_ops
from morello.dialect.target import TARGET_ATTRIBUTE, target_of
from morello.dialect.transform.price import target_in_context
from morello.errors import MorelloError
from morello.machine import Target, find_target, print_target
from morello.mlir import all_ops, ir
from morello.passes.apply_schedule import ENTRY, named_sequences
from morello.passes.base import Pass, PassFailure, option
from morello.passes.fill_schedule import fill_schedule
from morello.passes.parts.schedule_builder import Goal, build_schedule
from morello.search import Impl, best_program
from morello.search.storage.overlay import open_database


@dataclasses.dataclass(frozen=True)
class Synthesize(Pass):
    """Search the best program of every Spec op and add it as a schedule.

    Before: a module with Spec ops and no schedule. After: the same ops, each marked
    with ``morello.id``, and named sequences that ``morello-apply-schedule`` runs; the
    target, if the option gives one, is recorded in the module. With ``fill`` the module
    may have a schedule: it is kept, and the programs of the Specs that it leaves are
    appended to it, where their handles are defined. Refuses: a module without Spec ops;
    one that has a schedule, without ``fill``; a Spec that has no program on the target,
    or that the schedule leaves without a handle to go on from.
    """

    name: ClassVar[str] = "morello-synthesize"

    target: str = option(
        "", "name of the target; if empty, the module's target, or else avx2"
    )

    fill: bool = option(False, "keep an existing schedule, and search its holes")

    def __post_init__(self) -> None:
        if self.target:
            find_target(self.target)

    def run(self, module: ir.Operation) -> None:
        """Add the schedule to ``module``.

        Raises:
            PassFailure: at the op that is refused.
        """
        load(module.context)
        if self.target:
            with module.context:
                text = ir.StringAttr.get(print_target(find_target(self.target)))
                module.attributes[TARGET_ATTRIBUTE] = text
        if self.fill and ENTRY in named_sequences(module):
            fill_schedule(module, _best_part)
        else:
            add_schedule(module, _best)


def add_schedule(module: ir.Operation, program: Callable[[ir.Operation], Impl]) -> None:
    """Add the schedule of every Spec op of ``module``, given the program of each.

    Raises:
        PassFailure: there are no Spec ops, or there is a schedule.
    """
    ops = _spec_ops(module)
    build_schedule(module, [Goal(op, program(op)) for op in ops])


def _best_part(op: ir.Operation) -> Impl:
    """The best program of a Spec op that a schedule leaves, in the context of its goal.

    Raises:
        PassFailure: it has none.
    """
    return _best(op, target_in_context(op, spec_of(op), target_of(op)))


def _best(op: ir.Operation, context: Target | None = None) -> Impl:
    """The best program of a Spec op.

    Raises:
        PassFailure: it has none.
    """
    spec, target, database = spec_of(op), target_of(op), open_database()
    try:
        return best_program(spec, target, database, context=context).impl
    except MorelloError as error:
        raise PassFailure(op.location, str(error)) from error


def _spec_ops(module: ir.Operation) -> list[ir.Operation]:
    """The Spec ops of a module that has no schedule, in order.

    Raises:
        PassFailure: there are none, or there is a schedule.
    """
    ops = spec_ops(module)
    schedules = [
        op
        for op in all_ops(module, "transform.named_sequence", outer_first=True)
        if ir.StringAttr(op.attributes["sym_name"]).value == ENTRY
    ]
    if schedules:
        raise PassFailure(
            schedules[0].location,
            "the module has a schedule; run morello-apply-schedule, erase it, or give "
            "the option fill=true",
        )
    if not ops:
        raise PassFailure(
            module.location,
            f"the module has no Spec op; those are {', '.join(SPEC_OPS)}",
        )
    return ops
