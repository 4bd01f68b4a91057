"""Arrays of a tournament's operands at several addresses: `Placements`.

Each placement has arrays of its own, and a workspace of its own for each program; they
are made when they are asked for, and live as long as the contest.
"""

from collections.abc import Sequence
from typing import overload

import numpy as np

from morello import new_arrays
from morello.compiler.kernel import Kernel, bound_apart
from morello.compiler.tuning.entry import Call
from morello.compiler.tuning.trial import Trial
from morello.spec import Array, Spec

_COUNTS = ((8 << 20, 8), (64 << 20, 3), (256 << 20, 2))
"""Up to so many bytes of operands there are so many placements; beyond, one."""


class Placements:
    """Arguments of a trial, several times.

    Args:
        trial: gives arguments.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._known: list[list[Array]] = []

    def __len__(self) -> int:
        return count_of(self._trial.spec)

    def arguments(self, placement: int) -> list[Array]:
        """Arrays and workspaces of one placement."""
        while len(self._known) <= placement:
            arguments = self._trial.arguments()
            self._known.append([_on_line(array) for array in arguments])
        return self._known[placement]

    def calls(self, kernel: Kernel) -> Sequence[Call]:
        """A call of a kernel for each placement."""
        return _Calls(kernel, self)


class _Calls(Sequence[Call]):
    """Calls of a kernel that are bound when they are asked for."""

    def __init__(self, kernel: Kernel, placements: Placements) -> None:
        self._kernel = kernel
        self._placements = placements
        self._bound: dict[int, Call] = {}

    def __len__(self) -> int:
        return len(self._placements)

    @overload
    def __getitem__(self, index: int) -> Call: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Call]: ...

    def __getitem__(self, index: int | slice) -> Call | Sequence[Call]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        if index not in range(len(self)):
            raise IndexError(f"placement {index} of {len(self)}")
        if index not in self._bound:
            arguments = self._placements.arguments(index)
            self._bound[index] = bound_apart(self._kernel, arguments)
        return self._bound[index]


def _on_line(array: Array) -> Array:
    """The array; a copy that begins on a line, as the cost model and other libraries
    have them, where NumPy has put it somewhere else."""
    if not array.flags.c_contiguous or not array.ctypes.data % new_arrays.ALIGNMENT:
        return array
    return new_arrays.on_line(array)


def count_of(spec: Spec) -> int:
    """How many copies of the operands programs are timed on."""
    size = sum(
        spec.span(i) * np.dtype(t.dtype.numpy).itemsize
        for i, t in enumerate(spec.tensors)
    )
    return next((count for most, count in _COUNTS if size <= most), 1)
