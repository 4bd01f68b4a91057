"""Random legal programs of graphs, as machine code, against the definition."""

import contextlib
import random
from collections import Counter
from collections.abc import Iterator

import pytest

from morello.errors import SearchError
from morello.machine import AVX2
from morello.search import Solver
from morello.search.impl import Impl
from morello.spec import parse_spec
from morello.spec.graphs import canonical, print_graph
from morello.spec.structure import contractions
from tests.graphs.random_graphs import random_graph
from tests.quality.graph_programs import check_program
from tests.quality.programs import build_programs
from tests.quality.walks import DeadEndError, random_program
from tests.tables import rows

PROGRAMS = 6
"""Of each graph."""

STATE = "out m[r]+=max(x[r,n]);p[r,n]=exp(x-m);out l[r]+=sum(p)"

GRAPHS = dict(rows(__file__, "programs"))
"""Some columns are read after the reduction, or repeated along other dimensions; states
are relative to the maximum that they hold."""


def _actions(impl: Impl) -> Iterator[str]:
    yield impl.action.name
    for branch in impl.branches:
        yield from _actions(branch.impl)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", GRAPHS)
def test_random_programs_are_within_the_bound(name: str) -> None:
    spec = parse_spec(GRAPHS[name], AVX2.limits)
    count, most = 0, PROGRAMS // (2 if contractions(spec.kind) > 1 else 1)
    for seed in range(most):
        try:
            impl = random_program(spec, random.Random(f"{name} {seed}"))
        except DeadEndError:
            continue
        count += 1
        (program,) = build_programs([impl], [f"{name}, seed {seed}"])
        check_program(program, seed)
    assert count >= most // 2


@pytest.mark.sampled(5)
def test_random_programs_are_cut_online_and_bordered() -> None:
    used = Counter[str]()
    for name, text in GRAPHS.items():
        spec = parse_spec(text, AVX2.limits)
        for seed in range(PROGRAMS):
            with contextlib.suppress(DeadEndError):
                impl = random_program(spec, random.Random(f"{name} {seed}"))
                used.update({*_actions(impl)})
    assert used["cut"] >= 30
    assert used["online"] >= 4
    assert used["to_accum"] >= 30
    assert used["border"] >= 1
    assert used["taps"] >= 1


@pytest.mark.sampled(5)
@pytest.mark.parametrize("first", range(0, 16, 8))
def test_random_graphs_that_were_searched(first: int) -> None:
    """Few have no program: those with many operands beside each other in L1. Every
    fourth may use L2, of which most tables are."""
    count = 0
    for seed in range(first, first + 8):
        rng = random.Random(f"searched {seed}")
        graph = canonical(random_graph(rng)).graph
        sizes = "x".join(str(rng.choice((1, 2, 5, 8, 9))) for _ in range(graph.rank))
        text = f"compose:{sizes}:f32:graph={print_graph(graph)}"
        text += ":l2=0" if seed % 4 else ""
        try:
            solution = Solver(AVX2).solve(parse_spec(text, AVX2.limits))
        except SearchError:
            continue
        (program,) = build_programs([solution.impl], [text])
        check_program(program, seed)
        count += 1
    assert count >= 5


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "text",
    [
        # More rows than L1 has ways, with and without gaps between them.
        "compose:40x300:f32:graph=t[n]=sum(x[m,n]);y[n]=relu(t+b[n])",
        "compose:300x40:f32:graph=q[n]=max(x[m,n]);y[m,n]=exp(x-q)",
        # A row longer than L1.
        "compose:2x9000:f32:graph=t[m]=sum(x[m,n]);y[m]=relu(t)",
        "compose:2x9000:f32:graph=out t[m]+=sum(x[m,n]);y[m]=relu(t)",
        # Nine taps, each in a row of its own; in steps.
        "compose:9x9x17x3x3:f32:graph="
        "t[u,v,c]=sum(w[i,j,c]*x[u+i,v+j,c]);y[u,v,c]=relu(t+b[c])",
        "compose:9x9x17x3x3:f32:graph=t[u,v,c]=max(x[2*u+i,2*v+j,c]);y[u,v,c]=exp(t)",
    ],
)
def test_what_follows_a_reduction_that_is_larger_than_l1(text: str) -> None:
    solution = Solver(AVX2).solve(parse_spec(text, AVX2.limits))
    (program,) = build_programs([solution.impl], [text])
    check_program(program, 0)
