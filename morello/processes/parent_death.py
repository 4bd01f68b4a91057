"""Child processes that end with their parent, however that ends."""

import ctypes
import os
import signal

_SET_PARENT_DEATH_SIGNAL = 1
"""The option of ``prctl``."""


def end_with_parent(parent: int) -> None:
    """End this process when its parent does, by a signal or otherwise.

    Args:
        parent: the number of the parent; if it has ended by now, this process ends.
    """
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
