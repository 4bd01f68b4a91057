"""What may crash is tried first in a child, which nobody misses.

MLIR's parsers and conversions are C++: some texts that are wrong end the process. A
program of a stranger is read in a forked child before it is read here.
"""

import contextlib
import faulthandler
import os
import resource
import signal
import time
import warnings
from collections.abc import Callable

from morello.errors import CompileError

PATIENCE = 120.0
"""Seconds that a child may read. Then its parent reads, without having tried."""


def check_survival(
    read: Callable[[], object],
    source: str,
    remedy: str = "correct the text; 'morello-opt FILE' shows the first error in it",
) -> None:
    """Refuse what ends a process that reads it.

    Where no child can be made, as in a subinterpreter, nothing is tried.

    Args:
        read: what is tried; what it raises or prints is not seen.
        source: what it reads, for the message.
        remedy: what to do about it.

    Raises:
        CompileError: the child was ended by a signal.
    """
    try:
        with warnings.catch_warnings():
            # Of threads that the child will not have: it calls nothing that needs them.
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", RuntimeWarning)  # JAX's own words for it
            child = os.fork()
    except (OSError, RuntimeError):
        return
    if child == 0:
        _run(read)
    try:
        status = _status(child)
    except BaseException:
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        raise
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        raise CompileError(
            f"{source} makes MLIR end the process that reads it ({name})",
            remedy,
        )


def _status(child: int) -> int:
    """How the child has ended; 0 if it had to be given up.

    Another library's thread may have held a lock when the child was made, for which
    that waits for ever.
    """
    end, pause = time.monotonic() + PATIENCE, 1e-4
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(pause)
        pause = min(2 * pause, 0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 0


def _run(read: Callable[[], object]) -> None:
    """The child: it ends here, silently."""
    try:
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        read()
    finally:
        os._exit(0)
