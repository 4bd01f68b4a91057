"""The process of a commit that times any Spec, called from Python.

Requests and answers are lines of JSON, as in `benchmarks.harness`:

- ``open``: import Morello; answers `About`, or ``missing``.
- ``load``: compile a Spec and write the output of a call to a file; answers the seconds
  of the search, or ``unsupported``.
- ``count``: how many calls take so many seconds.
- ``sample``: seconds of one of so many calls: of the processor where one thread
  computes, so that other processes count less.
"""

import dataclasses
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness.case import bytes_on_line
from benchmarks.harness.ours import Ours
from benchmarks.harness.worker import answered, answers_pipe, serve

Answer = dict[str, Any]

_FIRST = "softmax:2x8:f32"
"""Searched before any other Spec: a new checkout compiles its search first."""


class Specs:
    """Answers requests.

    Args:
        ours: Morello of the commit.
    """

    def __init__(self, ours: Ours) -> None:
        self._ours = ours
        self._call: Callable[[], Any] = _nothing

    def do(self, request: Answer) -> Answer:
        """Answer one request."""
        return answered(self._do, request)

    def _do(self, request: Answer) -> Answer:
        match request["do"]:
            case "open":
                about = self._ours.open()
                self._ours.kernel(_FIRST)
                return dataclasses.asdict(about)
            case "load":
                return self._load(request["spec"], request["output"])
            case "count":
                return {"calls": self._count(float(request["seconds"]))}
            case "sample":
                return {"s": self._seconds(int(request["calls"]))}
            case other:
                raise ValueError(f"no request is called {other!r}")

    def _load(self, text: str, file: str) -> Answer:
        self._call = _nothing  # frees what the last Spec took
        kernel = self._ours.kernel(text)
        spec = kernel.spec
        arrays = [
            _on_line(spec.to_physical(i, array))
            for i, array in enumerate(spec.random(np.random.default_rng(0)))
        ]
        for i, tensor in enumerate(spec.tensors):
            if i >= len(arrays):
                zeros = np.zeros(spec.physical_shape(i), tensor.dtype.numpy)
                arrays.append(_on_line(zeros))
        self._call = kernel.bind(*arrays)
        self._call()
        np.save(file, np.asarray(arrays[-1], np.float64))
        return {"search": kernel.times.search}

    def _count(self, seconds: float) -> int:
        count = 1
        while self._seconds(count) * count < seconds:
            count *= 2
        return count

    def _seconds(self, calls: int) -> float:
        call = self._call
        clock = time.thread_time if self._ours.threads == 1 else time.perf_counter
        start = clock()
        for _ in range(calls):
            call()
        return (clock() - start) / calls


def _on_line(array: Any) -> Any:
    """A copy that begins on a cache line: a quarter of NumPy's do, by chance."""
    memory = bytes_on_line(array.nbytes, fill=0).view(array.dtype).reshape(array.shape)
    memory[...] = array
    return memory


def _nothing() -> None:
    raise ValueError("no Spec is loaded")


def main(argv: list[str]) -> int:
    """Serve on standard input and output: threads, checkout, database, native."""
    threads, root, db, native = argv
    serve(Specs(Ours(int(threads), root, db, native)), sys.stdin, answers_pipe())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
