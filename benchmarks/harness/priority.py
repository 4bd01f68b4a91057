"""Running before all else, for samples on a machine that others use.

As `morello.compiler.tuning.timing` has it: workers of other libraries run in
environments without Morello.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

_PRIORITY = 50


@contextlib.contextmanager
def before_all_else(wanted: bool) -> Iterator[None]:
    """While it lasts, no other process has the cores of this one's threads, if
    ``wanted`` and if the system allows it: libraries have threads of their own."""
    if not wanted:
        yield
        return
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    _schedule(os.SCHED_FIFO, os.sched_param(_PRIORITY))
    try:
        yield
    finally:
        _schedule(policy, parameters)


def _schedule(policy: int, parameters: os.sched_param) -> None:
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # only some users may; a thread may end
            os.sched_setscheduler(int(thread.name), policy, parameters)
