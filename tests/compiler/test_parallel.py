"""Kernels with several threads: exact, balanced, and safe to call from anywhere."""

import concurrent.futures
import dataclasses
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

import morello
from morello.actions import Action, GridParallel, SplitParallel, TileParallel
from morello.compiler.kernel import Kernel
from morello.compiler.stages import spec_module
from morello.dialect import in_context
from morello.machine import AVX2
from morello.passes.synthesize import add_schedule
from morello.runtime import openmp
from morello.runtime.calls.glue import process
from morello.search import Branch, Impl, Solver, best_program
from morello.spec import parse_spec
from tests.child import printed, python
from tests.quality.compiled import arguments, same_bytes

pytestmark = pytest.mark.usefixtures("one_database")

SPECS = (
    "matmul:49x8x24",
    "matmul:3x20x6x9:s32",
    "matmul_accum:32x4x16",
    "move:130x67:f32:dst=[1,0]",
    "max:101x77",
    "fill:211x33:s32",
)

CHEAP_FORK_TEXT = "avx2{fork=1000,relayouts=0}"
CHEAP_FORK = dataclasses.replace(
    AVX2,
    coefficients=dataclasses.replace(AVX2.coefficients, fork=1000),
    relayouts=False,
)
"""With this cost of a fork even small Specs are shared out; their programs are soon
found."""


def check(kernel: Kernel, seed: int) -> None:
    arrays, expected = arguments(kernel, seed)
    kernel(*arrays)
    assert same_bytes(arrays, expected)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("text", SPECS)
def test_threads_give_the_bits_of_the_definition(text: str, threads: int) -> None:
    kernel = morello.compile(text, target=CHEAP_FORK, threads=threads)
    assert kernel.threads == threads
    assert "__kmpc_fork_call" in kernel.llvm
    for seed in range(3):
        check(kernel, seed)


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("matmul:64x8x32", GridParallel("m", 32, "n", 16)),
        ("matmul:50x8x30", GridParallel("m", 32, "n", 16)),
        ("matmul_accum:64x8x30:s32", GridParallel("n", 16, "m", 32)),
        ("matmul:3x20x6x9", GridParallel("b", 2, "m", 16)),
        ("move:130x67:f32:dst=[1,0]", GridParallel("d0", 80, "d1", 48)),
        ("move:33x64:f32:dst=[0,1,1p16]", GridParallel("d0", 17, "d1", 32)),
        ("matmul:50x8x30", TileParallel("m", 16)),
        ("matmul:49x8x30", TileParallel("m", 12)),
        ("fill:211x33:s32", TileParallel("d0", 48)),
        ("matmul:3x400x5", SplitParallel("k", 112, 4)),
        ("matmul_accum:2x3x64x16", SplitParallel("k", 16, 4)),
        ("max:3x301", SplitParallel("d1", 80, 4)),
        ("matmul:3x5x401x7:u8,s8,s32", SplitParallel("k", 112, 4)),
        ("matmul_accum:3x64x5:s16,s16,s32", SplitParallel("k", 16, 4)),
        ("max:19x301:s32", SplitParallel("d1", 80, 4)),
    ],
)
def test_tiles_and_what_remains_have_the_bits_of_the_definition(
    text: str, action: Action
) -> None:
    kernel = begun_with(text, action)
    assert kernel.threads == 4
    for seed in range(3):
        check(kernel, seed)


def begun_with(text: str, action: Action) -> Kernel:
    """The kernel of a Spec on four threads whose program begins with an action."""
    target = dataclasses.replace(CHEAP_FORK, threads=4)
    spec = dataclasses.replace(parse_spec(text, target.limits), serial=False)
    rewrite, solver = action.apply(spec, target), Solver(target.at(spec))
    below = [
        best_program(hole.spec, target, solver=solver).impl for hole in rewrite.holes
    ]
    branches = tuple(
        Branch(hole.role, hole.times, impl)
        for hole, impl in zip(rewrite.holes, below, strict=True)
    )
    cost = rewrite.total(tuple(impl.cost for impl in below))
    with in_context():
        module = spec_module(spec, target)
        add_schedule(module.operation, lambda op: Impl(spec, action, cost, branches))
        schedule = str(module)
    kernel = morello.compile(text, target=CHEAP_FORK, threads=4, schedule=schedule)
    assert kernel.cost() == cost
    return kernel


def test_a_small_spec_is_not_worth_a_fork() -> None:
    kernel = morello.compile("fill:4x4", threads=2)
    assert kernel.threads == 1
    assert "omp" not in kernel.mlir
    check(kernel, 0)


def test_the_price_of_the_schedule_is_the_cost_of_the_search() -> None:
    kernel = morello.compile("matmul:49x8x24", target=CHEAP_FORK, threads=2)
    assert kernel.solution is not None
    assert kernel.cost() == kernel.solution.impl.cost
    again = morello.compile(
        "matmul:49x8x24", target=CHEAP_FORK, threads=2, schedule=kernel.schedule
    )
    assert again.object == kernel.object


def test_many_python_threads_may_call_one_kernel() -> None:
    kernel = morello.compile("matmul:49x8x24", target=CHEAP_FORK, threads=2)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda seed: check(kernel, seed), range(40)))


@pytest.mark.sampled(2)
def test_a_kernel_works_after_a_fork() -> None:
    code = (
        "import os, dataclasses, morello\n"
        "from tests.compiler.test_parallel import CHEAP_FORK, check\n"
        "kernel = morello.compile('max:101x77', target=CHEAP_FORK, threads=2)\n"
        "check(kernel, 0)\n"
        "child = os.fork()\n"
        "check(kernel, 1)\n"
        "if child == 0: os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )
    python("-c", code, check=True, cwd=Path(__file__).parents[2])


def test_without_a_runtime_there_is_a_warning_and_one_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("morello.compiler.driver.load_openmp", lambda: False)
    with pytest.warns(RuntimeWarning, match="no OpenMP runtime was found"):
        kernel = morello.compile("max:101x77", target=CHEAP_FORK, threads=2)
    assert kernel.threads == 1
    check(kernel, 0)


def test_the_runtime_is_found_and_loaded() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert openmp.load_openmp()


SPIN = (
    "import ctypes\n"
    "from morello.runtime.openmp import openmp_library\n"
    "print(ctypes.CDLL(openmp_library()).kmp_get_blocktime())\n"
)


def test_idle_threads_soon_leave_the_processor_to_others() -> None:
    assert printed(SPIN) == "1"
    assert printed(SPIN, KMP_BLOCKTIME="30") == "30"


AFFINITY = """
import os
import numpy as np
import morello

def processor(thread):
    with open(f"/proc/self/task/{thread}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[36])

first, *others = sorted(os.sched_getaffinity(0))
every = {first, *others}
kernel = morello.compile("matmul:25x20x16", target="TARGET", threads=2)
call = kernel.bind(*(np.ones(p.shape, p.dtype) for p in kernel.parameters))
before = set(os.listdir("/proc/self/task"))
call()
(worker,) = (int(t) for t in set(os.listdir("/proc/self/task")) - before)
os.sched_setaffinity(0, {first})
left = 0
for _ in range(40):
    os.sched_setaffinity(worker, {first})  # it spins, so it goes there at once
    os.sched_setaffinity(worker, every)
    call()
    left += processor(worker) != first
print(left)
print(os.sched_getaffinity(worker) == every)
"""


@pytest.mark.sampled(2)
@pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="there is no other processor to go to"
)
def test_threads_leave_the_processor_of_the_one_that_calls() -> None:
    code = AFFINITY.replace("TARGET", CHEAP_FORK_TEXT)
    left, everywhere = printed(code, KMP_BLOCKTIME="infinite").split()
    assert int(left) >= 20  # of 40: others use the processors, too
    assert everywhere == "True"


@pytest.mark.parametrize("text", ["matmul:25x20x16", "max:101x77"])
def test_one_thread_gives_the_same_bits(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A10: what a call computes does not depend on how many threads were free."""
    kernel = morello.compile(text, target=CHEAP_FORK, threads=2)
    rng = np.random.default_rng(0)
    inputs = [
        rng.standard_normal(parameter.shape).astype(parameter.dtype)
        for parameter in kernel.parameters[:-1]
    ]
    alone = kernel(*inputs)
    monkeypatch.setattr(process(), "busy", 100)
    beside_others = kernel(*inputs)
    assert process().busy == 100
    assert beside_others.tobytes() == alone.tobytes()
