"""The same program for every hash seed (C6), and no MLIR in the search."""

import subprocess
import sys

import pytest

PRINT = """
from morello.search import Solver
from morello.spec import parse_spec
from morello.targets import AVX2
solver = Solver(AVX2)
for text in (
    "matmul_accum:1x6x8x32:f32:l2=0:lhs=[0,1,2]@L2:rhs=[0,2,1]@L2:out=[0,1,2]@L2",
    "max:33x65:f32", "move:3x20x16:f32:dst=[0,2,1,2p16]", "fill:9x100:s32",
):
    print(solver.solve(parse_spec(text, AVX2.limits)).impl)
"""

NO_MLIR = """
import sys
from morello.search import Solver
from morello.spec import parse_spec
from morello.targets import AVX2
Solver(AVX2).solve(parse_spec("max:16x16:f32", AVX2.limits))
found = sorted(m for m in sys.modules if m.split(".")[0] in ("mlir", "torch_mlir"))
sys.exit(f"imported: {found[:5]}" if found else 0)
"""


def output(program: str, seed: str) -> str:
    """What a program prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def first() -> str:
    return output(PRINT, "0")


@pytest.mark.parametrize("seed", ["1", "2", "12345", "4294967295"])
def test_the_hash_seed_changes_nothing(first: str, seed: str) -> None:
    assert first.count("select(") >= 6
    assert output(PRINT, seed) == first


def test_the_search_runs_without_mlir() -> None:
    assert output(NO_MLIR, "0") == ""
