"""Ctrl-C ends each phase of a compilation at once."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import morello
from morello.frontends.model import trusted_model
from morello.machine import AVX2
from morello.runtime.engine import compile_object
from morello.search import Solver
from morello.search.queries.counting import count_programs
from morello.search.storage.overlay import open_database
from morello.spec import parse_spec
from tests.phases.programs import constant, instructions, layers

pytestmark = pytest.mark.usefixtures("tried_first")

LONGEST = 0.5
"""Seconds after which the caller must have the interrupt."""


def _read(tmp_path: Path) -> object:
    return morello.from_mlir(layers(200))


def _group(tmp_path: Path) -> object:
    return trusted_model(layers(200))


def _read_constant(tmp_path: Path) -> object:
    return trusted_model(constant(20_000))


def _search(tmp_path: Path) -> object:
    spec = parse_spec("attention:2x64x64x16x16:f32", AVX2.limits)
    return Solver(AVX2.at(spec)).solve(spec)


def _store(tmp_path: Path) -> object:
    spec = parse_spec("matmul:64x48x80:f32", AVX2.limits)
    return Solver(AVX2.at(spec), open_database(tmp_path / "t.sqlite")).solve(spec)


def _count(tmp_path: Path) -> object:
    return count_programs(parse_spec("matmul:64x48x80:f32", AVX2.limits), AVX2)


def _generate(tmp_path: Path) -> object:
    return compile_object(instructions(4000), cpu="x86-64")


PHASES = [_read, _group, _read_constant, _search, _store, _count, _generate]


# JAX's callback of the garbage collector may take the interrupt: Python drops it then.
@pytest.mark.filterwarnings(
    "ignore:.*_xla_gc_callback:pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.parametrize("phase", PHASES, ids=lambda p: p.__name__.strip("_"))
def test_ctrl_c_ends_a_phase_at_once(
    phase: Callable[[Path], object], tmp_path: Path
) -> None:
    """Once in its beginning, later, and at its end, by the clock of this thread: the
    machine may be busy."""
    pressed: list[tuple[float, float]] = []

    def press(number: int, frame: object) -> None:
        pressed.append((time.perf_counter(), time.thread_time()))
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGALRM, press)
    try:
        for seconds in (0.05, 0.3, 0.8):
            folder = tmp_path / str(seconds)
            folder.mkdir()
            signal.setitimer(signal.ITIMER_REAL, seconds)
            try:
                phase(folder)
            except KeyboardInterrupt:
                waited = time.perf_counter() - pressed[-1][0]
                worked = time.thread_time() - pressed[-1][1]
                assert min(waited, worked) < LONGEST
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert pressed, "the phase is too short to be interrupted"
