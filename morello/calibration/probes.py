"""Cost of single instructions on this CPU: `probe`, and bounds of a fit from it.

Programs alone do not determine what instructions cost: loads, stores and arithmetic
come in the same proportions in most of them. Short loops of one instruction each do,
and bound the coefficients. So does a loop over lines of L2: programs that were drawn
seldom wait for these, and a search looks for tiles that read more of them than arrive.
"""

import ctypes
import dataclasses
import math
import statistics
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from morello.calibration.timing import Stopwatch
from morello.learned.ledger import FITTED, cost_of
from morello.machine import Target
from morello.machine.isa import Isa, Op
from morello.runtime.engine import compile_llvm

Bounds = Mapping[str, tuple[int, int]]
"""The least and the largest value of coefficients, in millicycles."""

_TRIPS = 5000
_SAMPLES = 25
_LINES = 2048
"""Lines that are read from L2: more than L1 holds, half of what L2 does, and few enough
that the loads of a trip stay in the cache of instructions."""

_BYTES = 64 * _LINES
"""Bytes of the buffer: loads and stores use eight lines of it, which stay in L1."""

_CONFIGURATION = 2048
"""Place of the configuration of tiles in this buffer, in bytes."""


@dataclasses.dataclass(frozen=True)
class Probe:
    """A loop of one instruction, as assembly.

    Args:
        coefficient: what it measures.
        text: the instruction; ``{r}`` is what registers are called but for their
            number, ``{i}`` a number, ``{at}`` a place in memory, ``{line}`` one in
            another line for each.
        count: how often it stands in the loop.
        ops: instructions in ``text``.
        chain: whether each waits for the one before.
        needs: what not every instruction set has.
        before: instructions before the loop.
        after: instructions after it.
    """

    coefficient: str
    text: str
    count: int = 12
    ops: int = 1
    chain: bool = False
    needs: Op = Op.FMA
    before: str = ""
    after: str = ""

    def code(self, isa: Isa) -> str:
        """Assembly of the loop's body."""
        return r"\0A".join(
            self.text.format(
                r="%zmm" if isa.vector_bytes == 64 else "%ymm",
                i=0 if self.chain else i % 12,
                line=f"{64 * i}($0)",
                at=f"{isa.vector_bytes * (i % 8)}($0)",
            )
            for i in range(self.count)
        )


_MAXIMUM = r"vmaxps {r}15, IN, {r}{i}\0Avorps {r}15, {r}{i}, {r}{i}"
"""A comparison and a bitwise operation."""


def probes(isa: Isa) -> tuple[Probe, ...]:
    """The coefficients that a loop of one instruction shows."""
    masked = "vmaskmovps {at}, {r}15, {r}{i}"
    if isa.mask_registers:
        masked = "vmovups {at}, {r}{i} {{%k1}} {{z}}"
    candidates = (
        Probe("fma", "vfmadd231ps {r}15, {r}14, {r}{i}"),
        Probe("fma_latency", "vfmadd231ps {r}15, {r}14, {r}{i}", chain=True),
        Probe(
            "multiply_add_int",
            r"vpmulld {r}15, {r}14, {r}13\0Avpaddd {r}13, {r}{i}, {r}{i}",
        ),
        Probe("load", "vmovups {at}, {r}{i}"),
        Probe("line_l2", "vmovups {line}, {r}{i}", _LINES),
        Probe("store", "vmovups {r}{i}, {at}"),
        Probe("masked_load", masked),
        Probe("shuffle", "vshufps $$27, {r}15, {r}14, {r}{i}"),
        Probe("vector_op", _MAXIMUM.replace("IN", "{r}14"), ops=2),
        Probe("vector_op_latency", _MAXIMUM.replace("IN", "{r}{i}"), ops=2, chain=True),
        Probe("dot", "vpdpbusd {r}15, {r}14, {r}{i}", needs=Op.DOT4),
        Probe(
            "dot_latency", "vpdpbusd {r}15, {r}14, {r}{i}", chain=True, needs=Op.DOT4
        ),
        Probe("dot_bf16", "vdpbf16ps {r}15, {r}14, {r}{i}", needs=Op.DOT2_BF16),
        Probe(
            "dot_bf16_latency",
            "vdpbf16ps {r}15, {r}14, {r}{i}",
            chain=True,
            needs=Op.DOT2_BF16,
        ),
        *_tile_probes(),
    )
    return tuple(probe for probe in candidates if isa.has(probe.needs))


def _tile_probes() -> tuple[Probe, ...]:
    """Products of tiles, in four sums or in one, and configurations."""
    configure = f"ldtilecfg {_CONFIGURATION}($0)"
    common: dict[str, Any] = {"needs": Op.TILE_DOT_U8S8, "after": "tilerelease"}
    whole: dict[str, Any] = {**common, "before": configure}
    text = "tdpbusd %tmm6, %tmm4, %tmm{i}"
    return (
        Probe("tile_dot", text, 4, **whole),
        Probe("tile_dot_latency", text, 4, chain=True, **whole),
        Probe("tile_config", configure, 4, **common),
    )


_CLOBBERS = ",".join(f"~{{xmm{i}}}" for i in range(16))

LEAST, MOST = 0.95, 2.0
"""Lower and upper bound of a probed coefficient, relative to the measured value. The
lower one allows for the error of the measurement; the upper one is larger because in
real code other instructions compete for the same ports."""

CHAINED = 1.1
"""The least for a latency: what waits for a result then waits for a port, which it does
not where there is one chain alone."""

FREEDOM = 5.0
"""Coefficients without a probe stay within this factor of their former values."""


def bounds(target: Target, probed: Mapping[str, float]) -> Bounds:
    """The least and the largest value of each coefficient that is fitted."""
    limits = {}
    for name in FITTED:
        if name in probed:
            least = CHAINED if name.endswith("_latency") else LEAST
            low, high = least * probed[name], MOST * probed[name]
        else:
            before = max(1, cost_of(target, name))
            low, high = before / FREEDOM, before * FREEDOM
        limits[name] = max(1, round(low)), max(1, round(high))
    return limits


def probe(watch: Stopwatch, isa: Isa) -> dict[str, float]:
    """Millicycles of each instruction of `probes`, timed in turns by one clock."""
    text = "\n".join(written(p, isa) for p in probes(isa))
    features = ",".join(f"+{feature}" for feature in isa.features)
    engine = compile_llvm(text, cpu=isa.cpu, features=features)
    memory = np.zeros(_BYTES + 64, np.uint8)
    line = -int(memory.ctypes.data) % 64
    address = int(memory.ctypes.data) + line
    configure(memory[line + _CONFIGURATION :])
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
    best = {p: [math.inf, math.inf] for p in probes(isa)}
    clocks = []
    for _ in range(_SAMPLES):
        for p, least in best.items():
            call = kind(engine.address(f"probe_{p.coefficient}"))
            call(address, _TRIPS)  # wakes the vector unit
            for run, trips in enumerate((_TRIPS, 2 * _TRIPS)):
                start = time.perf_counter()
                call(address, trips)
                least[run] = min(least[run], time.perf_counter() - start)
            clocks.append(watch.cycle())
    cycle = statistics.median(clocks)
    # What a call from Python takes is in both runs, and is no part of an instruction.
    return {
        p.coefficient: 1000 * (two - one) / cycle / (_TRIPS * p.count * p.ops)
        for p, (one, two) in best.items()
    }


def configure(memory: np.ndarray[Any, Any]) -> None:
    """Write a configuration of eight whole tiles: palette 1, 64 bytes, 16 rows."""
    memory[0], memory[16:32:2], memory[48:56] = 1, 64, 16


def written(p: Probe, isa: Isa) -> str:
    """A loop that begins with zeros: whatever is in the registers may be denormal
    numbers, for which some cores take a hundred cycles."""
    return f"""
define void @probe_{p.coefficient}(ptr %p, i64 %n) {{
entry:
  call void asm sideeffect "vzeroall", "{_CLOBBERS}"()
  {_once(p.before)}
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void asm sideeffect "{p.code(isa)}", "r,{_CLOBBERS},~{{memory}}"(ptr %p)
  %next = add i64 %i, 1
  %done = icmp uge i64 %next, %n
  br i1 %done, label %exit, label %loop
exit:
  {_once(p.after)}
  ret void
}}
"""


def _once(text: str) -> str:
    """A call of assembly that may read the buffer; none without text."""
    return f'call void asm sideeffect "{text}", "r,~{{memory}}"(ptr %p)' if text else ""
