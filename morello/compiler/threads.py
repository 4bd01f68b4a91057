"""The number of threads of a kernel: argument, schedule, environment, processors."""

import operator
import os
from typing import Any

from morello.compiler.target_choice import schedule_target
from morello.errors import CompileError
from morello.machine.processors import processors
from morello.machine.target import MAX_THREADS

VARIABLE = "MORELLO_THREADS"

_OPENMP = ("OMP_NUM_THREADS", "OMP_THREAD_LIMIT")
"""Variables by which the runtime itself would be limited."""


def thread_count(choice: int | None, schedule: str | None = None) -> int:
    """The most threads that a call of a kernel may use.

    Args:
        choice: the choice of the user; None to use the next source.
        schedule: a module with a schedule, which was made for so many threads; then
            ``MORELLO_THREADS``; then the processors that this process may use, or fewer
            where ``OMP_NUM_THREADS`` or ``OMP_THREAD_LIMIT`` say so.

    Raises:
        CompileError: not an integer from 1 to `MAX_THREADS`.
        TargetError: the schedule is for a target that is not known.
    """
    if choice is not None:
        return _checked(choice)
    if schedule is not None:
        return schedule_target(schedule).threads
    return _from_environment() or min(processors(), *map(_openmp_limit, _OPENMP))


def _checked(choice: Any) -> int:
    """An argument as a number of threads; NumPy's integers are as good.

    Raises:
        CompileError: it is none.
    """
    try:
        count = operator.index(choice)
    except TypeError:
        count = 0
    if isinstance(choice, bool) or not 1 <= count <= MAX_THREADS:
        raise CompileError(
            f"'threads' is {choice!r}", f"give an integer of at least 1, and {_MOST}"
        )
    return count


_MOST = f"at most {MAX_THREADS}"


def _openmp_limit(variable: str) -> int:
    """The number in a variable of OpenMP, which may list one for each level of nesting;
    what is no number is for the runtime to complain of."""
    first = os.environ.get(variable, "").partition(",")[0].strip()
    return max(1, int(first)) if first.isascii() and first.isdigit() else MAX_THREADS


def _from_environment() -> int | None:
    """The number in ``MORELLO_THREADS``; None if it is not set.

    Raises:
        CompileError: not a number from 1 to `MAX_THREADS`.
    """
    text = os.environ.get(VARIABLE, "")
    if not text:
        return None
    is_number = text.isascii() and text.isdigit() and len(text) < _DIGITS
    if not (is_number and 1 <= int(text) <= MAX_THREADS):
        raise CompileError(
            f"{VARIABLE} is {text!r}",
            f"set it to a whole number of at least 1, and {_MOST}",
        )
    return int(text)


_DIGITS = 100
"""Python reads no numbers of thousands of digits."""
