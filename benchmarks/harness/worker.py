"""The process of one contender: ``python -m benchmarks.harness.worker MODULE:CLASS``.

Reads requests, one JSON object a line, and answers each with one. What a library
prints goes to standard error, so that it cannot disturb the talk. `process` is the
other end.

- ``open``: load the library; answers `About`, or ``missing``.
- ``load``: get the case of a folder ready, and check its result; answers notes, or
  ``unsupported``, or ``wrong``.
- ``sample``: seconds a call of at least so many seconds of back-to-back calls.
- ``check``: whether the output is still right.
"""

import ctypes
import dataclasses
import gc
import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TextIO

import numpy as np

from benchmarks.harness.backend import Backend, MissingError, Ready, UnsupportedError
from benchmarks.harness.case import Array, Case, Data, widen
from benchmarks.harness.priority import before_all_else

Answer = dict[str, Any]

_PR_SET_PDEATHSIG = 1
"""An option of Linux's ``prctl``."""


class Answering(Protocol):
    """Interface of an object that answers requests."""

    def do(self, request: Answer) -> Answer:
        """Answer one request."""


def answered(do: Callable[[Answer], Answer], request: Answer) -> Answer:
    """The answer to a request; why there is none, where a contender lacks something."""
    try:
        return do(request)
    except MissingError as error:
        return {"missing": str(error)}
    except UnsupportedError as error:
        return {"unsupported": str(error)}


class Worker:
    """A contender and the case that it is at."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._ready: Ready | None = None
        self._case: Case | None = None
        self._answer: Array | None = None
        self._calls = self._warm = 0

    def do(self, request: Answer) -> Answer:
        """Answer one request."""
        return answered(self._do, request)

    def _do(self, request: Answer) -> Answer:
        match request["do"]:
            case "open":
                return dataclasses.asdict(self._backend.open())
            case "load":
                return self._load(Path(request["folder"]), request["case"])
            case "sample":
                return self._sample(float(request["seconds"]))
            case "check":
                return {"wrong": self._wrong()}
            case other:
                raise ValueError(f"no request is called {other!r}")

    def _load(self, folder: Path, text: str) -> Answer:
        self._ready, self._answer = None, None  # frees what the last case took
        gc.collect()
        case = Case.parse(text)
        data = load_data(folder)
        ready = self._best_form(case, data)
        self._ready, self._case, self._answer = ready, case, data.answer
        self._calls = self._warm = 0
        ready.run(1)
        return {
            "wrong": self._wrong(),
            "note": ready.note,
            "in_python": ready.in_python,
            "out_dtype": ready.out_dtype or case.dtypes[2],
        }

    def _best_form(self, case: Case, data: Data) -> Ready:
        """Ready for a case, in the form that is the fastest if it may be chosen.

        Raises:
            UnsupportedError: in no form.
        """
        if case.rhs != "open":
            return self._backend.ready(case, data)
        best, least, refused = None, float("inf"), UnsupportedError("in no form")
        for form in self._backend.open_forms:
            settled = dataclasses.replace(case, rhs=form)
            try:
                ready = self._backend.ready(settled, data.in_form(case, form))
            except UnsupportedError as error:
                refused = error
                continue
            ready.run(1)
            seconds = min(timed(ready, 1) for _ in range(3))
            if form != "open":
                ready.note = f"{form}-major, {ready.note}".strip(", ")
            if seconds < least:
                best, least = ready, seconds
        if best is None:
            raise refused
        return best

    def _wrong(self) -> str:
        """Describe a fault of the output; empty if there is none."""
        if self._ready is None or self._case is None or self._answer is None:
            raise ValueError("no case is loaded")
        dtype = self._ready.out_dtype or self._case.dtypes[2]
        result = widen(self._ready.output(), dtype)
        if result.shape != self._answer.shape:
            return f"the output has the shape {result.shape}"
        # bf16 keeps 8 bits; every other output holds the sums exactly.
        slack = 2.0**-8 if dtype == "bf16" else 0.0
        bad = np.abs(result - self._answer) > slack * np.abs(self._answer)
        bad |= result != result  # NaN is never above anything
        if not bad.any():
            return ""
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        return (
            f"{int(bad.sum())} of {bad.size} elements differ, the first at {place}: "
            f"{result[place]} instead of {self._answer[place]}"
        )

    def _sample(self, seconds: float) -> Answer:
        if self._ready is None or self._case is None:
            raise ValueError("no case is loaded")
        if not self._calls:
            settling = settling_calls(timed(self._ready, 1), self._case.bytes)
            self._ready.run(settling)
            self._calls = enough_calls(self._ready, seconds)
            self._warm = max(settling, self._calls // 4)
        # Others have had the caches since: bring the operands back, wake the threads.
        self._ready.run(self._warm)
        return {"s": timed(self._ready, self._calls), "calls": self._calls}


_SETTLED = 40
"""Calls, each of which reads its operands once."""
_RATE = 16e9
"""Bytes a second that such calls read, at least: the rate of memory."""
_MOST_SECONDS = 0.25
"""Operands that are too large for that time are too large for a cache."""


def settling_calls(once: float, nbytes: int) -> int:
    """Calls after which operands are where they stay, each of so many seconds.

    A last-level cache may take what is as large as a part of it only when it has been
    read often: 64 MiB in 300 took 5 to 30 times, by how busy it was. A call that takes
    longer than to read its operands needs fewer, for it reads them again by itself.
    """
    seconds = min(_SETTLED * nbytes / _RATE, _MOST_SECONDS)
    return max(1, min(_SETTLED, int(seconds / max(once, 1e-7))))


def timed(ready: Ready, calls: int) -> float:
    """Seconds of one of so many calls."""
    start = time.perf_counter()
    ready.run(calls)
    return (time.perf_counter() - start) / calls


def enough_calls(ready: Ready, seconds: float) -> int:
    """How many calls take at least that long, with a margin."""
    calls = 1
    while (elapsed := timed(ready, calls) * calls) < seconds:
        calls = max(2 * calls, int(1.1 * calls * seconds / max(elapsed, 1e-7)))
    return calls


def load_data(folder: Path) -> Data:
    """Read data that `save_data` has written."""
    names = [field.name for field in dataclasses.fields(Data)]
    return Data(*(np.load(folder / f"{name}.npy") for name in names))


def save_data(data: Data, folder: Path) -> None:
    """Write the operands and the answer for every contender to read."""
    for field in dataclasses.fields(data):
        np.save(folder / f"{field.name}.npy", getattr(data, field.name))


def serve(worker: Answering, requests: TextIO, answers: TextIO) -> None:
    """Answer requests until there are no more; those with ``priority`` before all else
    that runs."""
    gc.disable()
    for line in requests:
        request = json.loads(line)
        with before_all_else(bool(request.get("priority"))):
            answer = worker.do(request)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def answers_pipe() -> TextIO:
    """Open the pipe of answers; libraries print to standard error from now on.

    The process is ended with the one that asks, even while it is stopped.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def main(argv: list[str]) -> int:
    """Serve on standard input and output.

    Args:
        argv: the class of the contender as ``MODULE:CLASS``, how many threads, and its
            other arguments as ``NAME=TEXT``.
    """
    answers = answers_pipe()
    name, threads, *rest = argv
    module, _, attribute = name.partition(":")
    options = dict(word.split("=", 1) for word in rest)
    backend = getattr(importlib.import_module(module), attribute)
    serve(Worker(backend(int(threads), **options)), sys.stdin, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
