"""A4: 100 modules compute their Specs after each pass."""

import random
import re
from collections.abc import Iterator

import numpy as np
import pytest

from morello.compiler.stages import PLANNED, SCHEDULED
from morello.dialect import in_context
from morello.machine import AVX2
from morello.mlir import ir
from morello.passes.pipelines.pipeline import Pipeline
from morello.spec import Spec, parse_spec
from tests.quality.programs import lower, scheduled_module
from tests.quality.stages import STAGES, check_module, check_stages
from tests.quality.walks import random_program

MODULES = 100
BATCH = 25


@pytest.mark.sampled(8)
@pytest.mark.parametrize("first", range(0, MODULES, BATCH))
def test_each_pass_keeps_the_meaning(first: int) -> None:
    assert check_stages(range(first, first + BATCH)) == BATCH


def test_the_stages_are_those_of_the_compiler() -> None:
    """Up to the pass that makes branches of loops."""
    lowering = Pipeline.parse("builtin.module(morello-lower-to-llvm)")
    first = SCHEDULED.removesuffix(")") + "," + PLANNED.removeprefix("builtin.module(")
    names = [n for n in STAGES if n not in first]
    assert ",".join(STAGES[: len(STAGES) - len(names)]) in first
    assert ",".join(names) in str(lowering)


@pytest.mark.parametrize(
    ("pattern", "wrong"),
    [
        (r"dense<0\.0+e\+00>", "dense<1.0>"),
        (r"math\.fma (%\w+), %\w+,", r"math.fma \1, \1,"),
        (r"scf\.for (%\w+) = %c0 to", r"scf.for \1 = %c1 to"),
    ],
)
def test_a_wrong_pass_is_seen(pattern: str, wrong: str) -> None:
    spec = parse_spec("matmul:5x3x8:f32", AVX2.limits)
    with in_context():
        module = next(m for m in _lowered(spec) if re.search(pattern, str(m)))
        inputs = spec.random(np.random.default_rng(0))
        check_module(module, spec, inputs)
        text = re.sub(pattern, wrong, str(module))
        with pytest.raises(AssertionError):
            check_module(ir.Module.parse(text), spec, inputs)


def _lowered(spec: Spec) -> Iterator[ir.Module]:
    """Random programs of a product by broadcasts, before their types are LLVM's."""
    for seed in range(100):
        impl = random_program(spec, random.Random(seed))
        if impl and "gemm_registers" in str(impl):
            module = scheduled_module([impl])
            lower(module)
            Pipeline.parse("builtin.module(canonicalize)").run(module.operation)
            yield module
