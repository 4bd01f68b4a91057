"""Runs what may crash in a child process first: `check_survival`, `bytes_from_child`.

MLIR's parsers and conversions are C++: some texts that are wrong end the process. An
untrusted program is read in a forked child before it is read here.
"""

import contextlib
import faulthandler
import json
import os
import resource
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from morello.errors import CompileError, MorelloError
from morello.processes.interrupts import check_sigint, defer_sigint

PATIENCE = 120.0
"""Seconds that a child may wait in all. Then its parent reads, without having tried."""

MOST_IDLE = 10.0
"""Seconds that a child may sleep without computing: it waits for a lock, then."""

MOST_BUSY = 900.0
"""CPU seconds of the subprocess that reads a program first; a program that takes more
is refused."""


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
        CompileError: the child was ended by a signal, or does not end.
    """
    with defer_sigint():  # what a hook of a fork raises is lost
        status = _tried(read, source, remedy)
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        raise CompileError(
            f"{source} makes MLIR end the process that reads it ({name})", remedy
        )


def bytes_from_child(make: Callable[[], bytes], source: str, remedy: str) -> bytes:
    """Bytes that a child makes, as `check_survival` tries what may crash.

    What a child raises is raised here, too.

    Raises:
        CompileError: the child was ended by a signal, or does not end; or it raised it.
    """
    with os.fdopen(os.memfd_create("answer"), "w+b") as file:

        def attempt() -> None:
            state, data = _MADE, b""
            try:
                data = make()
            except MorelloError as error:
                if type(error) is not CompileError:
                    raise  # others have more than words, such as objects of MLIR
                state, data = _REFUSAL, json.dumps([error.what, error.remedy]).encode()
            file.write(_BROKEN + data)
            file.flush()
            file.seek(0)
            file.write(state)
            file.flush()

        check_survival(attempt, source, remedy)
        file.seek(0)
        state, data = file.read(1), file.read()
    if state == _REFUSAL:
        raise CompileError(*json.loads(data))
    return data if state == _MADE else make()  # which raises what the child has


_BROKEN, _MADE, _REFUSAL = b"\0", b"\1", b"\2"
"""First byte of a child's answer, which says what follows."""


def _tried(read: Callable[[], object], source: str, remedy: str) -> int:
    """How a child ends that reads; 0 where none can be made.

    Raises:
        CompileError: it does not end.
    """
    try:
        with warnings.catch_warnings():
            # Of threads that the child will not have: it calls nothing that needs them.
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", RuntimeWarning)  # JAX's own words for it
            child = os.fork()
    except (OSError, RuntimeError):
        return 0
    if child == 0:
        _run(read)
    try:
        return _status(child, source, remedy)
    except BaseException:
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        raise


def _status(child: int, source: str, remedy: str) -> int:
    """How the child has ended; 0 if it had to be given up.

    Another library's thread may have held a lock when the child was made, for which
    that waits for ever: then it computes nothing. One that computes may yet end.

    Raises:
        CompileError: it computes, and does not end.
    """
    start, pause = time.monotonic(), 1e-4
    moved, known, waited = start, 0.0, 0.0
    while time.monotonic() - moved <= MOST_IDLE and waited <= PATIENCE:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(pause)
        check_sigint()
        spent, state, last = _busy(child), _state(child), start
        start = time.monotonic()
        if spent > MOST_BUSY:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise CompileError(
                f"{source} takes MLIR more than {spent:.0f} s to read, and was given "
                "up",
                remedy,
            )
        # On a loaded machine one that is ready to compute does not wait.
        if spent > known or state in _AT_WORK:
            moved, known = start, spent
        else:
            waited += start - last
            if not state:
                moved = start
        pause = min(2 * pause, 0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 0


_AT_WORK = ("R", "D")
"""States of a process that computes, or waits for a processor or a disk."""


def _busy(child: int) -> float:
    """Seconds that a child has computed; 0 where that is not known."""
    try:
        ticks = sum(map(int, _fields(child)[_TIMES]))
        return ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return 0.0


def _state(child: int) -> str:
    """The letter of a child's state; empty where that is not known."""
    try:
        return _fields(child)[0]
    except (OSError, IndexError):
        return ""


def _fields(child: int) -> list[str]:
    """The fields of ``/proc/PID/stat`` after the process's name; its state is first."""
    text = Path(f"/proc/{child}/stat").read_text(encoding="utf-8")
    return text.rpartition(")")[2].split()


_TIMES = slice(11, 13)
"""The fields after the name in which Linux has the times of a process."""


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
