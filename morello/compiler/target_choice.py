"""The choice of a target: argument, schedule, environment, machine."""

import dataclasses
import functools
import os

from morello.errors import TargetError
from morello.machine import Target, find_target, parse_target
from morello.machine.text import NATIVE, UNNAMED

VARIABLE = "MORELLO_TARGET"


def chosen_target(choice: str | Target | None, schedule: str | None = None) -> Target:
    """The machine to compile for.

    Args:
        choice: the choice of the user; None to use the next source.
        schedule: a module with a schedule, which was made for a target; then
            ``MORELLO_TARGET``; then the target that is nearest to this machine.

    Raises:
        TargetError: no target has the name; no name.
        ScheduleError: the schedule is not a module.
    """
    if isinstance(choice, Target):
        return choice
    if choice is not None:
        if not isinstance(choice, str):
            raise TargetError(
                f"'target' is {type(choice).__name__}, not a target or its name",
                "give for example 'avx2' or 'native'",
            )
        return find_target(choice)
    if schedule is not None:  # how many threads, `thread_count` says
        return dataclasses.replace(schedule_target(schedule), threads=1)
    wanted = os.environ.get(VARIABLE, "")
    if not wanted:
        return find_target(NATIVE)
    try:
        return find_target(wanted)
    except TargetError as error:
        raise TargetError(f"{VARIABLE}: {error.what}", error.remedy) from None


@functools.lru_cache(maxsize=4)
def schedule_target(schedule: str) -> Target:
    """The target that a module with a schedule was made for.

    Raises:
        ScheduleError: the text is not a module.
        TargetError: its target is not known.
    """
    # MLIR is imported only where there is a schedule.
    from morello.compiler.schedule_reader import named_target_in

    return parse_target(named_target_in(schedule) or UNNAMED)
