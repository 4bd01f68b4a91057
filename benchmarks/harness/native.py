"""Parts that libraries with a C interface share: loading them, operands, a loop."""

import ctypes
from pathlib import Path

from benchmarks.harness.backend import MissingError, Ready
from benchmarks.harness.case import Array, Case, Data, aligned, aligned_copy
from benchmarks.harness.loops import Argument, NativeLoop, Pointer


class Operands:
    """The operands of a case in memory of their own, and pointers to them."""

    def __init__(self, case: Case, data: Data) -> None:
        b, m, _, n = case.sizes
        self.lhs = aligned_copy(data.lhs, case.dtypes[0])
        self.rhs = aligned_copy(data.rhs, case.dtypes[1])
        self.out = aligned((b, m, n), case.dtypes[2])

    def pointers(self) -> tuple[Pointer, Pointer, Pointer]:
        """To lhs, rhs and out, each with the step to the next product."""
        arrays = (self.lhs, self.rhs, self.out)
        lhs, rhs, out = (Pointer(a.ctypes.data, a.strides[0]) for a in arrays)
        return lhs, rhs, out


class NativeReady(Ready):
    """A native function, called in a loop that is native too.

    Args:
        kept: whatever must live as long as the function is called.
    """

    def __init__(
        self,
        operands: Operands,
        function: int,
        arguments: list[Argument],
        batch: int = 1,
        note: str = "",
        owner: object = None,
    ) -> None:
        self._operands = operands
        self._loop = NativeLoop(function, arguments, batch)
        self._owner = owner
        self.note = note

    def run(self, calls: int) -> None:
        """Compute the product ``calls`` times."""
        self._loop(calls)

    def output(self) -> Array:
        """The output."""
        return self._operands.out


def load(path: str | Path) -> ctypes.CDLL:
    """A shared library.

    Raises:
        MissingError: it cannot be loaded.
    """
    try:
        return ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise MissingError(str(error)) from error


def address(library: ctypes.CDLL, symbol: str) -> int:
    """Address of a function.

    Raises:
        MissingError: the library has none of this name.
    """
    try:
        pointer = ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value
    except AttributeError as error:
        raise MissingError(f"the library has no {symbol}") from error
    return pointer or 0
