"""Tables, program, schedule and IR are equal for every hash seed (C6)."""

import subprocess
import sys

import pytest

SEEDS = 20

PRINT = """
import hashlib
from morello.search import Solution, Solver
from morello.search.ranges.cover import cover
from morello.search.storage.codec import encode_costs, encode_decisions
from morello.spec import parse_spec
from morello.compiler.stages import build_stages
from morello.machine import AVX2
solver = Solver(AVX2)
near = "lhs=[0,1,2]@L1:rhs=[0,2,1]@L1:out=[0,1,2]@L1"
for text in (f"matmul_accum:6x8x32:f32:l2=0:{near}", "max:9x17:f32",
             "move:20x16:f32:dst=[1,0,1p8]"):
    spec = parse_spec(text, AVX2.limits)
    solution = solver.solve(spec)
    print(solution.impl)
    for packed in solver.run_of(spec).store.packed():
        data = encode_decisions(packed) + encode_costs(packed)
        print(packed.id.key, hashlib.sha256(data).hexdigest())
    if all(str(tensor.level) == "MEM" for tensor in spec.tensors):
        stages = build_stages(spec, AVX2, solution)
        print(stages.schedule, stages.mlir)
for text in ("matmul:1..9x4x8:f32", "matmul:1..3x4x1..3:f32"):
    spec = parse_spec(text, AVX2.limits)
    stages = build_stages(spec, AVX2, cover(spec, AVX2).solution)
    print(stages.schedule, stages.mlir)
"""


def output(program: str, seed: str) -> str:
    """What a program prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def first() -> str:
    return output(PRINT, "0")


@pytest.mark.sampled(19)
@pytest.mark.parametrize("seed", [*range(1, SEEDS - 1), (1 << 32) - 1])
def test_the_hash_seed_changes_nothing(first: str, seed: int) -> None:
    assert first.count("select(") >= 5
    assert first.count("@__transform_main") == 4
    assert first.count("func.func @") == 8
    assert first.count("morello_transform.range") >= 10
    assert output(PRINT, str(seed)) == first
