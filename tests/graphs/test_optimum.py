"""No program of a graph is better than the one found: enumeration agrees.

`tests/search/test_optimum.py` does so for the other kinds. These are graphs of one
pass, with an epilogue, that are cut more than once, that are online, or with windows
and padding.
"""

import dataclasses
import random

import pytest

from morello.machine import AVX2
from morello.machine.operand_context import OperandContext
from morello.machine.targets.avx2_golden_cove import AVX2_GOLDEN_COVE as GOLDEN_COVE
from morello.machine.targets.avx512_vnni_bf16 import AVX512_VNNI_BF16 as AVX512
from morello.search import Solver
from morello.spec import L1, L2, MEM, Limits, Spec, argument_tensor, parse_spec
from morello.spec.elements.dtypes import Dtype
from morello.spec.tensors.layout import Layout
from tests.search.agreement import Agreement, compare
from tests.search.brute_force import BruteForce
from tests.tables import rows

STATE = "out m[r]+=max(x[r,n]);p[r,n]=exp(x-m);out l[r]+=sum(p)"

GRAPHS = dict(rows(__file__, "optimum"))

LEAST = 2000 // len(GRAPHS) + 1
"""Specs of each graph that are compared: 2,000 in all."""

TARGETS = (AVX2, GOLDEN_COVE.in_context(OperandContext(near=True)), AVX512)
"""One after another."""

GOALS = len(TARGETS)
"""Of each graph, at least: of other sizes, levels, layouts and limits."""

MOST = 24
"""Goals that give `LEAST` Specs, whatever they are."""

BUDGET = 1200
"""Specs enumerated for a goal. What was finished is compared."""

LIMITS = (
    Limits.of(vrf=16, l1=512, l2=8192),
    Limits.of(vrf=16, l1=256, l2=1024),
    Limits.of(vrf=7, l1=128, l2=0),
    Limits.of(vrf=12, l1=64, l2=512),
)

LEVELS = (MEM, MEM, L2, L1)


def _goal(rng: random.Random, text: str) -> Spec:
    """The graph at other sizes: each operand row-major, one of them at times not, all
    at one level, one of them nearer at times."""
    plain = parse_spec(text, AVX2.limits)
    kind = plain.kind
    sizes = tuple(max(1, s + rng.choice((-1, 0, 0, 1))) for s in plain.sizes)
    level = rng.choice(LEVELS)
    forms = []
    for operand in kind.operands:
        layout = Layout.row_major(operand.rank)
        if rng.random() < 0.1:
            layout = Layout(layout.dims[::-1])
        level_of_it = L1 if rng.random() < 0.15 else level
        form = argument_tensor(Dtype.F32, layout)
        forms.append(dataclasses.replace(form, level=level_of_it))
    return Spec(kind, sizes, tuple(forms), rng.choice(LIMITS), serial=True)


@pytest.mark.sampled(18)
@pytest.mark.parametrize("name", GRAPHS)
def test_no_program_of_a_graph_is_better(name: str) -> None:
    agreement = Agreement()
    for seed in range(MOST):
        if seed >= GOALS and agreement.points["compose"] >= LEAST:
            break
        spec = _goal(random.Random(f"{name} {seed}"), GRAPHS[name])
        target = TARGETS[seed % len(TARGETS)]
        compare(spec, Solver(target), BruteForce(target, BUDGET), agreement)
    assert agreement.mismatches == []
    assert agreement.points["compose"] >= LEAST
    assert agreement.programs["compose"] >= LEAST // 4
