"""How long a cycle of the core is now: `cycle`.

A chain of dependent additions, which every core does one a cycle, is timed.
"""

import ctypes
import functools
import time
from typing import Any

from morello.machine.architectures import HOST
from morello.runtime.calls.glue import FOLDER
from morello.runtime.engine import Engine, compile_llvm

CHAIN = 128
"""Additions of a trip, as ``clock.c`` has them."""

CHAIN_TRIPS = 500
_SHORT = 50


def clock_code() -> str:
    """LLVM IR of the functions of ``clock.c``."""
    return (FOLDER / "clock.ll").read_text()


@functools.cache
def _compiled() -> tuple[Engine, Any]:
    """Compile the function; returns the engine that owns the code, too."""
    engine = compile_llvm(clock_code(), cpu=HOST.vector_cpu)
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)
    return engine, kind(engine.address("chain"))


def cycle() -> float:
    """Seconds of a cycle of the core that the caller runs on: the least of some."""
    _, chain = _compiled()
    return cycle_by(chain, 5)


def cycle_by(chain: Any, samples: int) -> float:
    """Seconds of a cycle, from the time of a chain of dependent instructions.

    The time of a short run is subtracted from that of a long one, as both contain the
    call from Python.

    Args:
        chain: the compiled function, whose first argument is the number of trips.
        samples: how often each run is timed; the shortest time counts.
    """
    short, long = (
        min(_seconds(chain, trips) for _ in range(samples))
        for trips in (_SHORT, _SHORT + CHAIN_TRIPS)
    )
    return (long - short) / (CHAIN * CHAIN_TRIPS)


def _seconds(chain: Any, trips: int) -> float:
    start = time.thread_time()
    chain(trips, 3, 5)
    return time.thread_time() - start
