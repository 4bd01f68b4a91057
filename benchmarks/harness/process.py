"""A contender seen from the command: a process that is asked, and stopped meanwhile."""

import contextlib
import dataclasses
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]


class ContenderError(Exception):
    """A contender's process has ended, or does not answer; says how."""


@dataclasses.dataclass(frozen=True)
class Command:
    """How the process of a contender is started.

    Args:
        backend: its class, as ``MODULE:CLASS``.
        threads: that a call may use.
        options: further arguments of the class.
        environment: variables to set, before any library is loaded.
        python: the interpreter; this one if it is left out.
    """

    backend: str
    threads: int = 1
    options: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    python: str = sys.executable
    line: tuple[str, ...] = ()
    """The whole command line, where it is not that of a contender."""

    def words(self) -> list[str]:
        """The command line."""
        if self.line:
            return list(self.line)
        options = [f"{key}={value}" for key, value in self.options]
        worker = [self.python, "-m", "benchmarks.harness.worker"]
        return [*worker, self.backend, str(self.threads), *options]

    def variables(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """The environment of the process."""
        threads = str(self.threads)
        counts = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        common = {"PYTHONPATH": str(ROOT), **dict.fromkeys(counts, threads)}
        return {**inherited, **common, **dict(self.environment)}


def last_error(text: str) -> str:
    """The line that says what a process died of: the last that names an error."""
    lines = [line for line in text.split("\n") if line.strip()]
    named = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
    return (named or lines or [""])[-1]


def open_unnamed() -> IO[bytes]:
    """A file without a name, which whoever opens it closes."""
    return tempfile.TemporaryFile()


def cores(threads: int) -> list[int]:
    """Cores of contenders and roofs: the last of the cores that this process has."""
    return sorted(os.sched_getaffinity(0))[-threads:]


@contextlib.contextmanager
def held_to(threads: int) -> Iterator[None]:
    """Pin processes that are started in this context to these `cores`, with all
    their threads."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores(threads))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Process:
    """A contender's process, on its `cores`; it runs only while it is asked.

    Threads of an OpenMP runtime wait for work by spinning, for up to 0.2 s, on cores
    that the next contender wants: so a process is stopped between its turns.
    """

    def __init__(self, command: Command) -> None:
        self._errors = open_unnamed()
        self._over = ""
        with held_to(command.threads):
            self._process = subprocess.Popen(
                command.words(),
                env=command.variables(os.environ),
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
            )

    def ask(self, request: dict[str, Any], timeout: float = 300.0) -> dict[str, Any]:
        """Send a request and wait for its answer.

        Raises:
            ContenderError: the process has ended, or takes longer than ``timeout``.
        """
        out, pipe = self._process.stdin, self._process.stdout
        if self._over or out is None or pipe is None:
            raise ContenderError(self._over)
        self._signal(signal.SIGCONT)
        try:
            out.write(json.dumps(request).encode() + b"\n")
            out.flush()
        except OSError as error:
            self._over = self._end()
            raise ContenderError(self._over) from error
        if not select.select([pipe], [], [], timeout)[0]:
            self.close()
            self._over = f"no answer within {timeout:.0f} s"
            raise ContenderError(self._over)
        line = pipe.readline()
        if not line:
            self._over = self._end()
            raise ContenderError(self._over)
        self._stop()
        answer: dict[str, Any] = json.loads(line)
        return answer

    @property
    def is_over(self) -> bool:
        """Whether it has ended, or was given up."""
        return bool(self._over)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def close(self) -> None:
        """End the process."""
        self._over = self._over or "the process was ended"
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _stop(self) -> None:
        """Stop it, and wait until it has stopped."""
        self._signal(signal.SIGSTOP)
        with contextlib.suppress(ChildProcessError):
            # Its end is left for others to see.
            os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def _signal(self, number: int) -> None:
        self._process.send_signal(number)

    def _end(self) -> str:
        """How the process has ended."""
        self._signal(signal.SIGCONT)
        try:
            code = self._process.wait(5)
        except subprocess.TimeoutExpired:
            self.close()
            return "the process closed its pipe"
        self._errors.seek(0)
        last = last_error(self._errors.read().decode(errors="replace"))
        if code < 0:
            return f"the process was ended by {signal.Signals(-code).name}: {last}"
        return f"the process ended with exit code {code}: {last}"
