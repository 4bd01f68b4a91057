"""The model of an explanation: costs add up, tiles and memories follow the program."""

import pytest

from morello.actions import Move
from morello.explain import Explanation, Request, as_page, as_text, explain
from morello.explain.fold import fold
from morello.explain.words import Clock
from morello.machine import AVX2
from morello.search import Solver
from morello.spec import VRF, parse_spec

SPECS = (
    "matmul:7x5x17:f32:l1=128:l2=0",
    "max:20x17:f32",
    "move:24x17:f32:dst=[1,0]",
    "fill:3x5x70:s32",
    "matmul_accum:6x4x16:f32:lhs=[0,1,2]@L1:rhs=[0,1,2]@L1:out=[0,1,2]@VRFv8",
)


@pytest.fixture(scope="module", params=SPECS)
def explanation(request: pytest.FixtureRequest) -> Explanation:
    """One explanation, with alternatives everywhere."""
    spec = parse_spec(request.param, AVX2.limits)
    return explain(spec, Solver(AVX2), Request(None))


def test_costs_add_up(explanation: Explanation) -> None:
    nodes = list(explanation.root.walk())
    assert [n.number for n in nodes] == list(range(len(nodes)))
    assert (
        sum(n.own_cost * n.runs for n in nodes)
        == explanation.cost
        == explanation.root.total
    )
    assert sum(n.own_share for n in nodes) == pytest.approx(1)
    for node in nodes:
        below = sum(child.total for child in node.children)
        assert node.total == node.own_cost * node.runs + below
        assert all(c.runs == node.runs * c.times for c in node.children)
    leaves = [n for n in nodes if not n.children]
    assert explanation.hottest().share == max(n.own_share for n in leaves)


def test_tiles_are_the_operands(explanation: Explanation) -> None:
    for node in explanation.root.walk():
        spec = node.impl.spec
        assert [t.name for t in node.tiles] == [o.name for o in spec.kind.operands]
        for index, tiles in enumerate(node.tiles):
            assert tiles.shape == spec.shape(index)
            assert tiles.level is spec.tensors[index].level
            assert tiles.stages[-1].layout == spec.tensors[index].layout
            levels = [s.level for s in tiles.stages]
            assert levels == sorted(levels, reverse=True)
            for outer, inner in zip(tiles.stages, tiles.stages[1:], strict=False):
                assert all(map(int.__ge__, outer.shape, inner.shape))


def test_origins_are_operands_of_the_whole(explanation: Explanation) -> None:
    names = {o.name for o in explanation.spec.kind.operands}
    assert {t.origin for n in explanation.root.walk() for t in n.tiles} == names


def test_memories_are_the_limits(explanation: Explanation) -> None:
    for node in explanation.root.walk():
        limits = node.impl.spec.limits
        assert tuple(use.level for use in node.memory) == limits.memories
        for use in node.memory:
            assert use.free == limits[use.level]
            assert use.capacity == explanation.spec.limits[use.level]
            held = sum(h.amount for h in use.held)
            taken = use.taken.amount if use.taken else 0
            assert held + taken + use.rounded + use.left == use.capacity
            assert use.level is not VRF or use.rounded == 0
            holes = [child.impl.spec.limits[use.level] for child in node.children]
            assert use.left == min(holes, default=use.free)


def test_alternatives_are_where_they_were_asked_for() -> None:
    spec = parse_spec("move:100x75:f32:dst=[1,0]", AVX2.limits)
    solver = Solver(AVX2)
    total = sum(1 for _ in explain(spec, solver).root.walk())
    assert total > 6
    for request, expected in (
        (Request(), lambda n: n.depth == 0),
        (Request(2), lambda n: n.depth <= 2),
        (Request(0, frozenset({3, 5})), lambda n: n.number in (0, 3, 5)),
        (Request(None), lambda n: True),
    ):
        for node in explain(spec, solver, request).root.walk():
            assert (node.alternatives is not None) == expected(node)


def test_a_repeated_program_names_the_first() -> None:
    spec = parse_spec("move:10x97x41:f32:dst=[0,2,1]:l1=64", AVX2.limits)
    repeating = explain(spec, Solver(AVX2))
    nodes = list(repeating.root.walk())
    repeated = [n for n in nodes if n.same_as is not None]
    assert any(n.children for n in repeated)
    assert len({n.impl for n in nodes}) == len(nodes) - len(repeated)
    for node in repeated:
        assert nodes[node.same_as or 0].impl == node.impl
        assert (node.same_as or 0) < node.number
    folded = next(n for n in repeated if n.children)
    assert f"as node {folded.same_as}" in as_text(repeating, Clock(3.0), 0, unfold=True)
    page = as_page(repeating, Clock(3.0), 0, unfold=True)
    assert f'<a href="#n{folded.same_as}">' in page


def test_moves_that_make_no_code_stand_with_the_node_below() -> None:
    spec = parse_spec("matmul:7x9x17:f32", AVX2.limits)
    root = explain(spec, Solver(AVX2.at(spec))).root
    nodes = list(root.walk())
    shown = []
    tops = [root]
    while tops:
        row = fold(tops.pop())
        for move in row.moves:
            assert isinstance(move.impl.action, Move)
            assert [child.role for child in move.children] == ["body"]
        shown.append(row)
        tops += row.node.children
    assert sum(1 + len(row.moves) for row in shown) == len(nodes)
    assert len(shown) < 0.75 * len(nodes)
    assert sum(row.own_share for row in shown) == pytest.approx(1)
    first = fold(root)
    assert first.words.startswith("lhs, rhs, out to L2; ")
    assert first.words.endswith(f"; {first.node.impl.action}")
    assert first.numbers == f"0-{len(first.moves)}"
    assert fold(root, unfold=True).node is root
