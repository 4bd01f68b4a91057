"""The arithmetic peak of one core, measured by a generated loop.

`measure_peak` is the entry point. The loop goes the same way as every kernel: MLIR
text, the same passes, the same engine. It holds 12 independent vectors in registers,
as much as the latency times the throughput of today's cores needs, and reads no memory
within the loop.
"""

import ctypes
import functools
import time

from morello.errors import TargetError
from morello.machine.isa import AVX2, Isa, Op
from morello.mlir import ir
from morello.runtime.engine import Engine, compile_llvm
from morello.runtime.translate import lower_to_llvm_text

_WORD = 4
"""Bytes of a lane of the sums."""
_ACCUMULATORS = 12
_TRIPS = 20_000
"""Trips of a sample: about 60 µs, so that most samples see no interrupt."""

_DOTS = {"u8": (Op.DOT4, 4), "bf16": (Op.DOT2_BF16, 2)}
"""The products of neighbours that one instruction adds to a sum, and how many."""

_STEPS = {
    "f32": "%{out} = vector.fma %x, %y, %{acc} : {vector}",
    "s32": "%p{i} = arith.muli %{acc}, %x : {vector}\n"
    "      %{out} = arith.addi %p{i}, %y : {vector}",
    **dict.fromkeys(
        _DOTS,
        '%{out} = llvm.call_intrinsic "{name}"(%{acc}, %a, %b) : '
        "({vector}, {factor}, {factor}) -> {vector}",
    ),
}
"""One multiplication and one addition a lane, or of each neighbour, as MLIR."""

_ELEMENTS = {"f32": "f32", "s32": "i32", "u8": "i32", "bf16": "f32"}
_FACTORS = {"u8": "i8", "bf16": "bf16"}


def peak_dtypes(isa: Isa) -> tuple[str, ...]:
    """The dtypes of factors whose peak an instruction set has an own loop for."""
    return tuple(d for d in _STEPS if d not in _DOTS or isa.has(_DOTS[d][0]))


def peak_module(dtype: str = "f32", isa: Isa = AVX2) -> str:
    """The loop as MLIR: ``@peak(memref<16xT>, memref<8xT>)``, inputs and a sum.

    Args:
        dtype: of the factors, one of `peak_dtypes`.
        isa: whose vectors it is written in.

    Raises:
        TargetError: a dtype without a loop.
    """
    if dtype not in peak_dtypes(isa):
        raise TargetError(
            f"no peak is measured for dtype {dtype!r} in {isa.name}",
            f"use {' or '.join(peak_dtypes(isa))}",
        )
    element, lanes = _ELEMENTS[dtype], isa.vector_bytes // _WORD
    vector = f"vector<{lanes}x{element}>"
    casts, steps = _products(dtype, isa, vector, lanes)
    add = f"arith.add{element[0]}"
    count = range(_ACCUMULATORS)
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
    return f"""func.func @peak(%in: memref<{2 * lanes}x{element}>,
                %out: memref<{lanes}x{element}>) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cy = arith.constant {lanes} : index
    %trips = arith.constant {_TRIPS} : index
    %x = vector.load %in[%c0] : memref<{2 * lanes}x{element}>, {vector}
    %y = vector.load %in[%cy] : memref<{2 * lanes}x{element}>, {vector}
    {casts}
    {starts}
    %done:{_ACCUMULATORS} = scf.for %i = %c0 to %trips step %c1
        iter_args({carried}) -> ({types}) {{
      {steps}
      scf.yield {outs} : {types}
    }}
    {sums}
    vector.store %sum{_ACCUMULATORS - 1}, %out[%c0]
        : memref<{lanes}x{element}>, {vector}
    return
  }}
"""


def _products(dtype: str, isa: Isa, vector: str, lanes: int) -> tuple[str, str]:
    """The casts before the loop, and its products: one for each accumulator."""
    factor, name, casts = "", "", ""
    if dtype in _DOTS:
        op, group = _DOTS[dtype]
        factor = f"vector<{lanes * group}x{_FACTORS[dtype]}>"
        name = isa.instructions[op]
        casts = "\n    ".join(
            f"%{to} = vector.bitcast %{of} : {vector} to {factor}"
            for to, of in (("a", "x"), ("b", "y"))
        )
    steps = (
        _STEPS[dtype].format(
            i=i, acc=f"acc{i}", out=f"out{i}", vector=vector, factor=factor, name=name
        )
        for i in range(_ACCUMULATORS)
    )
    return casts, "\n      ".join(steps)


@functools.cache
def _engine(dtype: str, isa: Isa = AVX2) -> Engine:
    """The loop as machine code."""
    features = ",".join(f"+{feature}" for feature in isa.features)
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(peak_module(dtype, isa))
        text = lower_to_llvm_text(module)
    return compile_llvm(text, cpu=isa.cpu, features=features)


def measure_peak(dtype: str = "f32", seconds: float = 0.2, isa: Isa = AVX2) -> float:
    """The peak of one core now, in 10^9 operations a second.

    A multiplication and an addition count as 2. The best of many short samples: it is
    a limit that is looked for, and everything else on the machine only takes away.

    Args:
        dtype: of the factors, one of `peak_dtypes`.
        seconds: how long to measure; at least one sample is taken.
        isa: whose vectors are computed with.

    Raises:
        TargetError: no such dtype, or the machine lacks the instructions.
    """
    engine, lanes = _engine(dtype, isa), isa.vector_bytes // _WORD
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    native = kind(engine.address("peak"))
    element = ctypes.c_float if _ELEMENTS[dtype] == "f32" else ctypes.c_int32
    # x multiplies: 1 keeps the values finite and normal.
    values = (element * (2 * lanes))(*[1] * (2 * lanes))
    result = (element * lanes)()
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
    group = _DOTS[dtype][1] if dtype in _DOTS else 1
    return 2 * group * lanes * _ACCUMULATORS * _TRIPS / best / 1e9
