"""Random legal programs of graphs, as machine code, against the definition."""

import collections
import random
from collections.abc import Iterator

import numpy as np
import pytest

from morello.machine import AVX2
from morello.search.impl import Impl
from morello.spec import parse_spec
from tests.quality.execution import RUNS, run
from tests.quality.programs import build_programs
from tests.quality.walks import random_program

PROGRAMS = 12
"""Of each graph."""

STATE = "out m[r]+=max(x[r,n]);p[r,n]=exp(x-m);out l[r]+=sum(p)"

GRAPHS = {
    "softmax": "softmax:3x19:f32",
    "layer_norm": "layer_norm:3x19:f32",
    "attention": "attention:3x17x2x5:f32",
    "heads": "attention:2x3x9x2x5:f32",
    "gelu_matmul": "gelu_matmul:5x17x6:f32",
    "chain": "chain:3x4x9x5:f32",
    # What they hold is relative to the maximum that they hold.
    "state": f"compose:3x19:f32:graph={STATE}",
    "twice relative": f"compose:3x19:f32:graph={STATE};out z[r]+=sum(p*p)",
}

USED: collections.Counter[str] = collections.Counter()
"""How often each action was in a program."""


def _actions(impl: Impl) -> Iterator[str]:
    yield impl.action.name
    for branch in impl.branches:
        yield from _actions(branch.impl)


@pytest.mark.parametrize("name", GRAPHS)
def test_random_programs_are_within_the_bound(name: str) -> None:
    spec = parse_spec(GRAPHS[name], AVX2.limits)
    for seed in range(PROGRAMS):
        impl = random_program(spec, random.Random(f"{name} {seed}"))
        (program,) = build_programs([impl], [f"{name}, seed {seed}"])
        rng = np.random.default_rng(seed)
        given = spec.random(rng)
        exact = tuple(array.astype(np.float64) for array in given)
        wanted = spec.kind.reference(spec.sizes, exact)
        for side, byte in RUNS:
            found = run(program, given, side, byte)
            for array, (number, error) in zip(found, wanted, strict=True):
                assert np.all(np.abs(array - number) <= error), f"{name} {seed}"
        USED.update({*_actions(impl)})


def test_programs_were_cut_and_online() -> None:
    assert USED["cut"] >= 30
    assert USED["online"] >= 3
    assert USED["to_accum"] >= 30
