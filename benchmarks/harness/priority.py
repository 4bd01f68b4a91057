"""Running before all else, for samples on a machine that others use.

As `morello.compiler.tuning.timing` has it: workers of other libraries run in
environments without Morello.
"""

import contextlib
import os
from collections.abc import Iterator

_PRIORITY = 50


@contextlib.contextmanager
def before_all_else(wanted: bool) -> Iterator[None]:
    """While it lasts, nothing else has the core of the calling thread, if ``wanted``
    and if the system allows it."""
    if not wanted:
        yield
        return
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(OSError):  # only some users may
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, policy, parameters)
