"""Work in a forked child, so that a crash in native code ends the child alone.

The parent imports no MLIR: it stays single-threaded and quick, and each child starts
clean. A child reports by events, pickled over a pipe.
"""

import contextlib
import faulthandler
import os
import pickle
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

from morello.processes.parent_death import end_with_parent

Send = Callable[[object], None]
"""Hands an event to the parent."""


@dataclass(frozen=True)
class Ending:
    """How a child ended.

    Args:
        crash: "" if it did all its work; otherwise ``signal SIGABRT`` or
            ``KeyError: 'x'``.
        trace: Python's traceback, if there was any Python on the stack.
        stdout: what native code printed there.
        stderr: its standard error, if it was captured.
    """

    crash: str
    trace: str
    stdout: bytes
    stderr: bytes = b""


@dataclass(frozen=True)
class _Raised:
    """The last event of a child that an exception has ended."""

    summary: str
    trace: str


@dataclass(frozen=True)
class _Done:
    """The last event of a child that did its work."""


def run_contained(
    work: Callable[[Send], None],
    receive: Callable[[Any], None],
    keep_stderr: bool = False,
) -> Ending:
    """Run ``work`` in a child, and ``receive`` here for each event that it sends.

    Args:
        work: runs in the child; its argument sends an event.
        receive: runs in the parent, in order.
        keep_stderr: catch the child's standard error instead of letting it through.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    reader, writer = os.pipe()
    with _memory("out") as out, _memory("err") as err, _memory("stack") as stack:
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            end_with_parent(parent)  # native code would not see a broken pipe
            os.close(reader)
            faulthandler.enable(stack, all_threads=False)
            os.dup2(out.fileno(), 1)
            if keep_stderr:
                os.dup2(err.fileno(), 2)
            _child(work, writer)
        os.close(writer)
        crash, trace = _listen(child, reader, receive)
        trace = trace or _contents(stack).decode("utf-8", "replace")
        return Ending(crash, trace, _contents(out), _contents(err))


def _memory(name: str) -> BinaryIO:
    """A file in memory: there may be no folder for temporary files."""
    return open(os.memfd_create(f"morello-{name}"), "w+b")  # noqa: PTH123


def _contents(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()


def _child(work: Callable[[Send], None], writer: int) -> None:
    """Run the work and end the process, without the parent's cleanup handlers."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with os.fdopen(writer, "wb") as pipe:

        def send(event: object) -> None:
            pickle.dump(event, pipe)
            pipe.flush()

        last: _Done | _Raised = _Done()
        try:
            work(send)
        except BaseException as error:  # noqa: BLE001 -- the process ends here
            text = traceback.format_exception_only(error)[-1].strip()
            last = _Raised(text, traceback.format_exc())
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        send(last)
    os._exit(0)


def _listen(child: int, reader: int, receive: Callable[[Any], None]) -> tuple[str, str]:
    """Pass on events until the child ends; the crash and the trace."""
    last: object = None
    reaped = False
    try:
        with os.fdopen(reader, "rb") as pipe:
            last = _events(pipe, receive)
        _, status = os.waitpid(child, 0)
        reaped = True
    finally:
        if not reaped:  # an interrupt: native code would not stop by itself
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    match last:
        case _Done():
            return "", ""
        case _Raised(summary, trace):
            return summary, trace
        case _ if os.WIFSIGNALED(status):
            return f"signal {_signal_name(os.WTERMSIG(status))}", ""
        case _:
            return f"exit status {os.waitstatus_to_exitcode(status)}", ""


def _events(pipe: BinaryIO, receive: Callable[[Any], None]) -> object:
    """Receive events up to the last one, or None if the pipe closes before it."""
    while True:
        try:
            event = pickle.load(pipe)
        except (EOFError, pickle.UnpicklingError):
            return None
        if isinstance(event, _Done | _Raised):
            return event
        receive(event)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
