"""MLIR text to a callable on raw arrays, for the tests of the back end."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from morello.mlir import ir
from morello.runtime.engine import Engine, compile_llvm
from morello.runtime.translate import lower_to_llvm_text
from tests.threads import in_threads


def llvm_text(source: str) -> str:
    """The LLVM IR of a module of MLIR, as the engine takes it."""
    with ir.Context(), ir.Location.unknown():
        return lower_to_llvm_text(ir.Module.parse(source))


def build(source: str, cpu: str = "haswell") -> Engine:
    """A module of MLIR as machine code."""
    return compile_llvm(llvm_text(source), cpu=cpu)


def raw(engine: Engine, name: str = "f") -> Callable[..., None]:
    """A native function that takes arrays without any check; keeps the engine."""

    def call(*arrays: np.ndarray[Any, Any]) -> None:
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))
        kind(engine.address(name))(*(array.ctypes.data for array in arrays))

    return call


def side_by_side(call: Callable[..., Any], count: int) -> list[int]:
    """What calls find that run at the same time, each in a thread of its own.

    Args:
        call: takes a counter at 0 that all calls share, the number of calls, and what
            is found as ``out``, each an array of one word.
        count: how many calls.
    """
    here, wanted = np.zeros(1, np.int64), np.full(1, count)
    results = np.zeros((count, 1), np.int64)

    def work(number: int) -> None:
        call(here, wanted, out=results[number])

    in_threads(work, range(count))
    return list(map(int, results[:, 0]))
