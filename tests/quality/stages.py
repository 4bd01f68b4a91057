"""A4: after each pass the module still computes what its Specs say."""

import dataclasses
import random
from collections.abc import Sequence

import numpy as np

from morello.compiler.tuning.verify import judge
from morello.dialect import in_context
from morello.mlir import ir
from morello.passes.pipelines.pipeline import Pipeline
from morello.search.impl import Impl
from morello.spec import Spec
from morello.spec.checking import is_exact
from morello.spec.kind import Array
from tests.quality.execution import bits, physical
from tests.quality.interpreter import run_function
from tests.quality.programs import functions, scheduled_module, workspace_bytes
from tests.quality.specs import random_spec
from tests.quality.walks import DeadEndError, random_program

STAGES = (
    "morello-apply-schedule", "morello-lower-kernels", "morello-plan-memory",
    "morello-entry-points", "canonicalize", "cse", "convert-vector-to-scf",
    "lower-affine", "loop-invariant-code-motion",
)  # fmt: skip
"""Every pass that leaves loops, in the compiler's order."""

SMALL = 9
"""The largest size: each op of each trip is run in Python."""

MAX_LEAVES = 200

WALKS = 20
"""A Spec that has no such program after so many walks is left for another."""


def check_stages(seeds: Sequence[int]) -> int:
    """For each seed a module, run after each pass; how many modules.

    Raises:
        AssertionError: names the seed and the pass after which the result is wrong.
    """
    for seed in seeds:
        impl = _small_program(random.Random(f"stages {seed}"))
        command = f"python -m tests.soak stages --count 1 --seed {seed}"
        _check(impl, np.random.default_rng(seed), f"{command}  # {impl.spec}")
    return len(seeds)


def _small_program(rng: random.Random) -> Impl:
    """A program that runs few kernels: not every Spec drawn has one."""
    while True:
        try:
            return random_program(
                small_spec(rng), rng, max_leaves=MAX_LEAVES, walks=WALKS
            )
        except DeadEndError:
            continue


def small_spec(rng: random.Random) -> Spec:
    """A random Spec whose sizes are small."""
    spec = random_spec(rng)
    sizes = tuple(min(size, rng.randint(1, SMALL)) for size in spec.sizes)
    return dataclasses.replace(spec, sizes=sizes)


def _check(impl: Impl, rng: np.random.Generator, label: str) -> None:
    inputs = impl.spec.random(rng)
    with in_context():
        module, checked = scheduled_module([impl]), ""
        for stage in STAGES:
            Pipeline.parse(f"builtin.module({stage})").run(module.operation)
            if checked == (checked := str(module)):
                continue  # the pass had nothing to do
            try:
                check_module(module, impl.spec, inputs)
            except AssertionError as error:
                raise AssertionError(f"{label}: after {stage}: {error}") from error


def check_module(module: ir.Module, spec: Spec, inputs: Sequence[Array]) -> None:
    """Run the module's function by the interpreter, and compare all bits.

    Raises:
        AssertionError: the output is not what the Spec says.
    """
    remaining = list(inputs)
    arrays = [
        physical(spec, i, remaining.pop(0) if operand.is_read else None, 0x5A)
        for i, operand in enumerate(spec.kind.operands)
    ]
    (function,) = functions(module)
    if len(function.regions[0].blocks[0].arguments) > len(arrays):
        work = np.full(workspace_bytes(function), 0x96, np.uint8)
        run_function(function, [*arrays, work])
    else:
        run_function(function, arrays)
    if not is_exact(spec.kind, spec.sizes):
        results = tuple(spec.to_logical(i, arrays[i]) for i in spec.kind.written)
        verdict = judge(spec, tuple(inputs), results, exact=False)
        assert verdict.holds, verdict
        return
    for index, output in zip(spec.kind.written, spec.outputs(*inputs), strict=True):
        results = spec.to_logical(index, arrays[index])
        wanted = output.astype(results.dtype)
        assert np.array_equal(bits(results), bits(wanted)), f"{results} is not {wanted}"
