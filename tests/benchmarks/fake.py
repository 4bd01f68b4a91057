"""A contender that behaves as it is told, in a process like any other's."""

import os
import sys
import time

import numpy as np

from benchmarks.harness.backend import (
    About,
    Backend,
    MissingError,
    Ready,
    UnsupportedError,
)
from benchmarks.harness.case import Array, Case, Data, store


class FakeReady(Ready):
    """The right product, or what the mode makes of it."""

    note = "made up"
    pause = 1e-6

    def __init__(self, case: Case, data: Data, mode: str) -> None:
        self._out = store(data.answer, case.dtypes[2])
        self._mode = mode
        self._calls = 0
        if mode == "wrong":
            self._out[0, -1, -1] += 1
        if mode == "bf16":
            self.out_dtype = "bf16"
            self._out = store(data.answer, "bf16")
        if mode == "python":
            self.in_python = True

    def run(self, calls: int) -> None:
        """Take a pause for each call."""
        self._calls += calls
        time.sleep(self.pause * calls)
        if self._mode == "drift" and self._calls > 3:
            self._out = self._out * 2 + 1
        if self._mode == "die late" and self._calls > 3:
            os.abort()

    def output(self) -> Array:
        """What the last call left."""
        return np.asarray(self._out)


class Fake(Backend):
    """A contender.

    Args:
        mode: what is to go wrong, if anything.
    """

    name = "fake"

    def __init__(self, threads: int, mode: str = "right") -> None:
        super().__init__(threads)
        self._mode = mode

    def open(self) -> About:
        """Print, as libraries do, and say who it is."""
        os.write(1, b"a banner of the library\n")
        if self._mode == "missing":
            raise MissingError("it was never installed")
        if self._mode == "die":
            sys.exit("no such instruction")
        if self._mode == "hang":
            time.sleep(60)
        said = os.environ.get("FAKE_LIMIT", "none")
        return About(f"1.0, {self.threads} threads", said, said == "AVX2")

    def ready(self, case: Case, data: Data) -> Ready:
        """Be ready at once."""
        if self._mode == "unsupported":
            raise UnsupportedError("no such product")
        return FakeReady(case, data, self._mode)


class FakeRoofs:
    """Roofs that are always the same."""

    def ask(self, request: dict[str, object], timeout: float = 1) -> dict[str, object]:
        """A rate that nothing reaches."""
        rate = 1e9 if request["do"] == "read" else 1e6
        return {"rate": rate, "mean": rate}
