"""The number of threads of a kernel: argument, schedule, environment, affinity."""

import os

from morello.compiler.target_choice import schedule_target
from morello.errors import CompileError

VARIABLE = "MORELLO_THREADS"


def thread_count(given: int | None, schedule: str | None = None) -> int:
    """The most threads that a call of a kernel may use.

    Args:
        given: the choice of the user; None to use the next source.
        schedule: a module with a schedule, which was made for so many threads; then
            ``MORELLO_THREADS``; then the processors that this process may use.

    Raises:
        CompileError: not an integer of at least 1.
        TargetError: the schedule is for a target that is not known.
    """
    if given is not None:
        if isinstance(given, bool) or not isinstance(given, int) or given < 1:
            raise CompileError(
                f"'threads' is {given!r}", "give an integer of at least 1"
            )
        return given
    if schedule is not None:
        return schedule_target(schedule).threads
    return _from_environment() or len(os.sched_getaffinity(0))


def _from_environment() -> int | None:
    """The number in ``MORELLO_THREADS``; None if it is not set.

    Raises:
        CompileError: not a number of at least 1.
    """
    text = os.environ.get(VARIABLE, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text)):
        raise CompileError(
            f"{VARIABLE} is {text!r}", "set it to a whole number of at least 1"
        )
    return int(text)
