"""The process that times graphs, ours beside PyTorch's, in turns.

It runs in the environment of the peer ``torch`` where that has what Morello needs, else
in Morello's own. Requests and answers are lines of JSON, as in `benchmarks.harness`.
"""

import sys
from functools import partial
from typing import Any

import morello
from benchmarks.graphs.calls import (
    Call,
    beside_torch,
    calls_of,
    enough_calls,
    seconds_of,
)
from benchmarks.graphs.torch_graphs import torch_for
from benchmarks.harness.ours import avx2_target, tuning
from benchmarks.harness.priority import before_all_else
from benchmarks.harness.rounds import interleave
from benchmarks.harness.worker import answers_pipe, serve
from morello.errors import MorelloError

Answer = dict[str, Any]


class Graphs:
    """Answers requests.

    Args:
        threads: that a call may use.
        db: the database of searches.
    """

    def __init__(self, threads: int, db: str) -> None:
        self._threads = threads
        self._db = db
        self._torch: Any = None

    def do(self, request: Answer) -> Answer:
        """Answer one request: ``open``, or ``measure``."""
        if request["do"] == "open":
            return self._open(bool(request["torch"]))
        return self._measure(request)

    def _open(self, torch: bool) -> Answer:
        if not torch:
            return {"missing": "it is not wanted"}
        try:
            self._torch = torch_for(self._threads)
        except ImportError as error:
            return {"missing": f"PyTorch cannot be imported: {error}"}
        return {"version": str(self._torch.__version__)}

    def _measure(self, request: Answer) -> Answer:
        """Samples of each contender, and why others have none."""
        kernels, failed = {}, {}
        for name, tune in request["ours"].items():
            try:
                kernels[name] = morello.compile(
                    request["spec"],
                    threads=self._threads,
                    target=avx2_target()[0],
                    db=self._db,
                    tune=tuning(tune),
                )
            except MorelloError as error:
                failed[name] = f"unsupported: {str(error).splitlines()[0]}"
        if not kernels:
            return {"samples": {}, "failed": failed}
        calls, wrong = self._calls(request["spec"], kernels)
        counts = {n: enough_calls(c, request["sample"]) for n, c in calls.items()}
        samplers = {n: partial(seconds_of, c, counts[n]) for n, c in calls.items()}
        with before_all_else(bool(request["priority"])):
            samples = interleave(samplers, request["seconds"], request["rounds"])
        return {"samples": samples, "failed": {**failed, **wrong}}

    def _calls(
        self, spec: str, kernels: dict[str, Any]
    ) -> tuple[dict[str, Call], dict[str, str]]:
        """Find the functions to call, and the reason where PyTorch is left out."""
        every = list(kernels.values())
        failed = {}
        if self._torch is not None:
            try:
                ours, theirs = beside_torch(self._torch, spec, every)
            except KeyError:
                failed = {"torch": "unsupported: no function computes it"}
            except AssertionError:
                failed = {"torch": "wrong: its result differs from ours"}
            else:
                return {**dict(zip(kernels, ours, strict=True)), "torch": theirs}, {}
        return dict(zip(kernels, calls_of(every)[0], strict=True)), failed


def main(argv: list[str]) -> int:
    """Serve on standard input and output: how many threads, and the database."""
    serve(Graphs(int(argv[0]), argv[1]), sys.stdin, answers_pipe())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
