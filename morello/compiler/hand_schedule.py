"""A schedule as a program, to be pinned or explained.

`read_program` runs a schedule on the Spec of its module and records every decision. A
Spec that the schedule leaves is a hole.
"""

from morello.compiler.schedule_reader import place_text, read_schedule
from morello.dialect import in_context
from morello.dialect.ops import spec_ops
from morello.dialect.target import TARGET_ATTRIBUTE, target_of
from morello.dialect.transform.trace import Trace, tracing
from morello.errors import ScheduleError
from morello.machine import Target, print_target
from morello.machine.operand_context import PLAIN
from morello.mlir import ir
from morello.passes.apply_schedule import entry_sequence, interpret
from morello.passes.base import PassFailure
from morello.search.queries.partial_program import HOLE, Partial
from morello.spec import Spec


def read_program(schedule: str, spec: Spec, target: Target) -> Partial:
    """The decisions of a schedule.

    Args:
        schedule: a module with the Spec and its schedule, as `Kernel.schedule` has it.
        spec: the Spec that it must be for.
        target: the machine; the context of a goal's operands does not matter.

    Raises:
        ScheduleError: the text cannot be read, is for another Spec or target, or an
            action does not apply; it begins with the place in the text.
    """
    with in_context():
        module = read_schedule(schedule, spec)
        _set_target(module, target.in_context(PLAIN))
        with tracing() as trace:
            root = trace.number(spec_ops(module.operation)[0])
            try:
                interpret(module.operation, entry_sequence(module.operation))
            except PassFailure as error:
                raise ScheduleError(f"{place_text(error.location)}: {error}") from error
    return _program(trace, root)


def _set_target(module: ir.Module, target: Target) -> None:
    """Write the target into a module that names none, and check it in others.

    Raises:
        ScheduleError: it is for another.
    """
    attributes = module.operation.attributes
    if TARGET_ATTRIBUTE not in attributes:
        attributes[TARGET_ATTRIBUTE] = ir.StringAttr.get(print_target(target))
    recorded = target_of(module.operation)
    if recorded != target:
        raise ScheduleError(
            f"the schedule is for the target '{print_target(recorded)}', not for "
            f"'{print_target(target)}'",
            "give its target with --target",
        )


def _program(trace: Trace, number: int) -> Partial:
    step = trace.steps.get(number)
    if step is None:
        return HOLE
    return Partial(step.action, tuple(_program(trace, hole) for hole in step.holes))
