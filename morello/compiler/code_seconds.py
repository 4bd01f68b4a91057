"""The seconds that code takes once programs are known, as this process has seen it.

A search with a time limit ends so much earlier. Of a Spec with more nodes than any
whose code was made, the code of a first program is made for the time (`Searches`).
"""

import contextlib
import statistics
import time
from collections import deque
from collections.abc import Iterable

from morello.compiler.stages import build_stages
from morello.errors import MorelloError
from morello.machine import Target
from morello.runtime.engine import compile_object
from morello.search import Solution
from morello.spec import Spec

_KEPT = 32
"""How many kernels are remembered: the machine may be busier than it was."""


class CodeSeconds:
    """The time of passes and LLVM for the kernels of a process."""

    def __init__(self) -> None:
        self._each: deque[float] = deque(maxlen=_KEPT)
        """Compile time of the last kernels, in seconds per part."""
        self._most = 0
        """The most nodes of a part."""

    def knows(self, spec: Spec) -> bool:
        """Whether there was a part of so many nodes."""
        return _nodes(spec) <= self._most

    def note(self, seconds: float, specs: Iterable[Spec]) -> None:
        """Remember a kernel with parts of some Specs."""
        distinct = set(specs)
        if distinct:
            self._each.append(seconds / len(distinct))
            self._most = max(self._most, *map(_nodes, distinct))

    def expected(self, parts: int) -> float:
        """The seconds of so many parts: the most that one took, and the mean of all
        for each other one; 0 if nothing is known."""
        each = tuple(self._each)
        if not each or not parts:
            return 0.0
        return max(each) + statistics.fmean(each) * (parts - 1)

    def time(self, solution: Solution, target: Target, parts: int = 1) -> None:
        """Make the code of a program for the time that it takes. One that cannot be
        compiled says so where it is wanted.

        Args:
            solution: the program.
            target: the machine.
            parts: how many the time stands for. Where these are several, the first code
                of a process is made twice: passes and LLVM are loaded once.
        """
        spec = solution.impl.spec
        start = time.monotonic()
        for _ in range(2 if parts > 1 and not self._each else 1):
            start = time.monotonic()
            with contextlib.suppress(MorelloError):
                llvm = build_stages(spec, target, solution).llvm
                compile_object(llvm, cpu=target.cpu, features=target.llvm_features)
        self.note(time.monotonic() - start, (spec,))


def _nodes(spec: Spec) -> int:
    graph = spec.kind.as_graph
    return 1 if graph is None else len(graph.nodes)


CODE_SECONDS = CodeSeconds()
"""Times of the code of this process."""
