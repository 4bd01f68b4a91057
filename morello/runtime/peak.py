"""The arithmetic peak of one core, measured by a generated loop.

`measure_fma_peak` is the entry point. The loop goes the same way as every kernel: MLIR
text, the same passes, the same engine. It holds 12 independent vectors of 8 elements in
registers, more than the latency times the throughput of today's cores needs, and reads
no memory within the loop.
"""

import ctypes
import functools
import time

from morello.errors import TargetError
from morello.mlir import ir
from morello.runtime.engine import Engine, compile_llvm
from morello.runtime.translate import lower_to_llvm_text

_LANES = 8
_ACCUMULATORS = 12
_TRIPS = 20_000
"""Trips of a sample: about 60 µs, so that most samples see no interrupt."""

_STEPS = {
    "f32": "%{out} = vector.fma %x, %y, %{acc} : {vector}",
    "s32": "%p{i} = arith.muli %{acc}, %x : {vector}\n"
    "      %{out} = arith.addi %p{i}, %y : {vector}",
}
"""One multiplication and one addition a lane, as MLIR: 2 operations."""

_ELEMENTS = {"f32": "f32", "s32": "i32"}


def peak_module(dtype: str = "f32") -> str:
    """The loop as MLIR: ``@peak(memref<16xT>, memref<8xT>)``, inputs and a sum.

    Args:
        dtype: ``f32`` or ``s32``.

    Raises:
        TargetError: a dtype without a loop.
    """
    if dtype not in _STEPS:
        raise TargetError(
            f"no peak is measured for dtype {dtype!r}", f"use {' or '.join(_STEPS)}"
        )
    element = _ELEMENTS[dtype]
    vector = f"vector<{_LANES}x{element}>"
    add = f"arith.add{element[0]}"
    count = range(_ACCUMULATORS)
    steps = "\n      ".join(
        _STEPS[dtype].format(i=i, acc=f"acc{i}", out=f"out{i}", vector=vector)
        for i in count
    )
    sums = "\n    ".join(
        f"%sum{i} = {add} %{f'sum{i - 1}' if i > 1 else 'done#0'}, %done#{i} : {vector}"
        for i in count[1:]
    )
    # The accumulators start apart, so that none of them can be shared.
    starts = "\n    ".join(
        f"%start{i} = {add} %{f'start{i - 1}' if i else 'x'}, %y : {vector}"
        for i in count
    )
    carried = ", ".join(f"%acc{i} = %start{i}" for i in count)
    types = ", ".join([vector] * _ACCUMULATORS)
    outs = ", ".join(f"%out{i}" for i in count)
    return f"""func.func @peak(%in: memref<{2 * _LANES}x{element}>,
                %out: memref<{_LANES}x{element}>) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cy = arith.constant {_LANES} : index
    %trips = arith.constant {_TRIPS} : index
    %x = vector.load %in[%c0] : memref<{2 * _LANES}x{element}>, {vector}
    %y = vector.load %in[%cy] : memref<{2 * _LANES}x{element}>, {vector}
    {starts}
    %done:{_ACCUMULATORS} = scf.for %i = %c0 to %trips step %c1
        iter_args({carried}) -> ({types}) {{
      {steps}
      scf.yield {outs} : {types}
    }}
    {sums}
    vector.store %sum{_ACCUMULATORS - 1}, %out[%c0]
        : memref<{_LANES}x{element}>, {vector}
    return
  }}
"""


@functools.cache
def _engine(dtype: str) -> Engine:
    """The loop as machine code for AVX2 and FMA."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(peak_module(dtype))
        return compile_llvm(lower_to_llvm_text(module), cpu="haswell")


def measure_fma_peak(dtype: str = "f32", seconds: float = 0.2) -> float:
    """The peak of one core now, in 10^9 operations a second.

    A multiplication and an addition count as 2. The best of many short samples: it is
    a limit that is looked for, and everything else on the machine only takes away.

    Args:
        dtype: ``f32`` or ``s32``.
        seconds: how long to measure; at least one sample is taken.

    Raises:
        TargetError: no such dtype, or the machine lacks AVX2 or FMA.
    """
    engine = _engine(dtype)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    native = kind(engine.address("peak"))
    element = ctypes.c_float if dtype == "f32" else ctypes.c_int32
    # x multiplies: 1 keeps the values finite and normal.
    values = (element * (2 * _LANES))(*[1] * (2 * _LANES))
    result = (element * _LANES)()
    arguments = ctypes.addressof(values), ctypes.addressof(result)
    best = float("inf")
    end = time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        native(*arguments)
        now = time.perf_counter()
        best = min(best, now - start)
        if now >= end:
            break
    return 2 * _LANES * _ACCUMULATORS * _TRIPS / best / 1e9
