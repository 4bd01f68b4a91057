"""What the search tries on graphs: where temporaries lie, and heads one by one."""

import dataclasses

import numpy as np
import pytest

import morello
from morello.actions import Cut, CutInPlace, Drop, Move, Tile, candidates, may_drop
from morello.cost.of_target import cost_model
from morello.machine import AVX2
from morello.machine.operand_context import OperandContext
from morello.search import Solver
from morello.search.dp.axes import goal_axes
from morello.spec import (
    L1,
    L2,
    MEM,
    VRF,
    Dtype,
    Layout,
    Memory,
    Spec,
    argument_tensor,
    parse_spec,
)
from morello.spec.frame import Frame
from morello.spec.structure import followers
from tests.quality.graph_programs import check_program
from tests.quality.programs import build_programs

MASKED = (
    "compose:3x5x4x8:f32:graph=t[b,m,n]=sum(a[b,m,k]*w[b,n,k]);y[b,m]=max(t+c[m,n])"
)
BATCHED = "compose:3x5x4x8:f32:graph=t[b,m,n]=sum(a[b,m,k]*w[b,k,n]);y[b,m,n]="

EPILOGUE = "gelu_matmul:8x8x64:f32"


def _serial(text: str, **levels: Memory) -> Spec:
    """A Spec of one thread with operands at levels."""
    spec = parse_spec(text, AVX2.limits)
    tensors = tuple(
        dataclasses.replace(tensor, level=levels.get(operand.name, tensor.level))
        for operand, tensor in zip(spec.kind.operands, spec.tensors, strict=True)
    )
    return dataclasses.replace(spec, tensors=tensors, serial=True)


def _cut_levels(spec: Spec) -> set[Memory]:
    tried = candidates(spec.key, goal_axes(spec, 1), AVX2)
    return {action.level for action in tried if isinstance(action, Cut)}


def test_a_temporary_lies_no_farther_than_the_nearest_operand() -> None:
    spec = _serial(EPILOGUE)
    names = [operand.name for operand in spec.kind.operands]
    out = names[-1]
    assert {MEM, L2, L1} <= _cut_levels(spec)
    assert _cut_levels(_serial(EPILOGUE, **{out: L2})) == {L2, L1}
    assert L2 not in _cut_levels(_serial(EPILOGUE, **{out: L1}))


def _in_place(spec: Spec) -> list[str]:
    tried = candidates(spec.key, goal_axes(spec, 1), AVX2)
    return [action.nodes for action in tried if isinstance(action, CutInPlace)]


def test_a_temporary_may_lie_where_an_output_will() -> None:
    softmax = _serial("softmax:3x40:f32")
    out = softmax.kind.operands[-1].name
    assert _in_place(softmax) == ["v0,v1,v2,v3"]
    assert _in_place(_serial("softmax:3x40:f32", **{out: L2})) == ["v0,v1,v2,v3"]
    assert _in_place(_serial("softmax:3x40:f32", **{out: L1})) == ["v0,v1,v2,v3"]
    assert _in_place(_serial(EPILOGUE)) == ["v0"]
    turned = "compose:8x8x64:f32:graph=t[m,n]=sum(a[m,k]*w[k,n]);y[n,m]=gelu(t)"
    assert not _in_place(_serial(turned))


def test_a_softmax_in_place_needs_no_memory_for_a_row() -> None:
    kernel = morello.compile("softmax:2x60001:f32", target="avx2", threads=1)
    assert "cut_in_place" in kernel.schedule
    x = np.random.default_rng(0).standard_normal((2, 60001), np.float32)
    exact = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    exact /= exact.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(kernel(x), exact, rtol=1e-5, atol=1e-12)
    assert "memref<60001xf32>" not in kernel.mlir
    assert "memref<1x60001xf32>" not in kernel.mlir


def test_registers_are_not_filled_by_a_cut_while_both_factors_are_far() -> None:
    lhs, rhs, *_ = (o.name for o in _serial(EPILOGUE).kind.operands)
    assert VRF not in _cut_levels(_serial(EPILOGUE))
    assert VRF not in _cut_levels(_serial(EPILOGUE, **{lhs: L2}))
    both = {lhs: L2, rhs: L2}
    assert VRF in _cut_levels(_serial(EPILOGUE, **both))
    assert VRF in _cut_levels(_serial(EPILOGUE, **{rhs: L1}))


def test_what_is_left_in_bf16_is_not_read_after_a_cut() -> None:
    """What it keeps is half the bits: what is read is computed again."""
    spec = _serial("softmax_unscaled:3x8:f32")
    wide = [a for a in candidates(spec.key, goal_axes(spec, 1), AVX2) if "v1" in str(a)]
    out = argument_tensor(Dtype.BF16, Layout.row_major(2))
    tensors = (spec.tensors[0], out, spec.tensors[2])
    spec = dataclasses.replace(spec, tensors=tensors)
    cuts = [action for action in wide if isinstance(action, Cut)]
    assert cuts
    for action in cuts:
        refusal = action.expand(Frame.of(spec), AVX2).refusal()
        assert refusal == (
            "'v1' is left in bf16, and is read after the cut; name it in 'again', too"
        )


@pytest.mark.parametrize(
    ("text", "dtypes"),
    [
        ("compose:5x7:f32:graph=out p[r,n]=exp(x[r,n]);l[r]=sum(p);y[r,n]=p/l", "bbb"),
        ("compose:5x7x6:f32:graph=out p[m,k]=exp(x[m,k]);y[m,n]=sum(p*w[k,n])", "bbbf"),
    ],
)
def test_outputs_in_bf16_that_are_read_have_programs(text: str, dtypes: str) -> None:
    spec = parse_spec(text, AVX2.limits)
    tensors = tuple(
        dataclasses.replace(tensor, dtype=Dtype.BF16 if dtype == "b" else Dtype.F32)
        for tensor, dtype in zip(spec.tensors, dtypes, strict=True)
    )
    spec = dataclasses.replace(spec, tensors=tensors)
    (program,) = build_programs([Solver(AVX2).solve(spec).impl], [text])
    check_program(program, 0)


@pytest.mark.sampled(5)
def test_heads_are_taken_one_by_one() -> None:
    text = "graph=t[{0}m,n]=sum(a[{0}m,k]*w[{0}k,n]);y[{0}m,n]=relu(t)*r[{0}m,n]"
    spec = _serial("compose:3x5x4x8:f32:" + text.format("b,"))
    axes = goal_axes(spec, 1)
    assert candidates(spec.key, axes, AVX2) == (Tile("d0", 1), Drop("d0"))
    solver = Solver(AVX2)
    one = solver.solve(_serial("compose:5x4x8:f32:" + text.format(""))).impl.cost
    before = len(solver.tables(spec))
    solution = solver.solve(spec)
    loop = cost_model(AVX2).loop(3, 0)
    assert solution.impl.cost == 3 * one + int(loop)
    assert len(solver.tables(spec)) == before + 1


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("attention:3x5x4x8x8:f32:causal=true", set()),
        (BATCHED + "t+c[n]", set()),
        (BATCHED + "t+c[m,n]", None),
        (MASKED, {"d1", "x2"}),
        ("conv:3x2x5x5x4x2x2:f32", None),
    ],
)
def test_what_rows_heads_share_keeps_none_of_them_together(
    text: str, before: set[str] | None
) -> None:
    """Inputs that only maps read may come nearer before, in tiles."""
    spec = _serial(text)
    *others, last = candidates(spec.key, goal_axes(spec, 1), AVX2)
    assert isinstance(last, Drop) == (before is not None)
    if before is not None:
        assert others.pop() == Tile("d0", 1)
        names = {a.dim if isinstance(a, Tile) else a.operand for a in others}
        assert names == before


@pytest.mark.parametrize(
    ("order", "dtype", "apart"),
    [
        ((1, 0, 2), Dtype.F32, True),
        ((1, 0, 2), Dtype.BF16, False),
        ((1, 2, 0), Dtype.F32, False),
        ((0, 1, 2), Dtype.F32, True),
        ((0, 1, 2), Dtype.BF16, True),
    ],
)
def test_heads_that_share_lines_are_not_taken_apart(
    order: tuple[int, ...], dtype: Dtype, apart: bool
) -> None:
    """Beside each other in memory, of 16 elements each, or element by element."""
    spec = _serial("attention:3x5x4x16x16:f32")
    layout = Layout.row_major(3)
    layout = Layout(tuple(layout.dims[axis] for axis in order))
    tensor = argument_tensor(dtype, layout)
    spec = dataclasses.replace(spec, tensors=(tensor, *spec.tensors[1:]))
    actions = candidates(spec.key, goal_axes(spec, 1), AVX2)
    assert (actions == (Tile("d0", 1), Drop("d0"))) == apart


@pytest.mark.parametrize(
    ("image", "filters", "shape", "left"),
    [
        ("h+i,c,g", "i,c,f,g", "6x3x16", {6, 3}),
        ("h+i,g,c", "g,i,c,f", "6x16x3", set()),
    ],
)
def test_filters_are_taken_one_by_one_where_vectors_go_along_groups(
    image: str, filters: str, shape: str, left: set[int]
) -> None:
    """Or rows, where these are along one axis."""
    result = "h,f,g" if left else "h,g,f"
    graph = f"y[{result}]=sum(x[{image}]*w[{filters}])"
    spec = _serial(f"compose:{shape}x3x2:f32:graph={graph}")
    tried = candidates(spec.key, goal_axes(spec, 1), AVX2)
    drops = {action.dim for action in tried if isinstance(action, Drop)}
    sizes = dict(zip(spec.kind.dims, spec.sizes, strict=True))
    assert {sizes[dim] for dim in drops} == left


def test_rows_that_follow_what_stays_in_l2_take_none_of_it() -> None:
    """Bias and output of a product, from call to call in L2."""
    spec = _serial(EPILOGUE)
    near = AVX2.in_context(OperandContext(near=True))
    move = Move(spec.kind.operands[-1].name, L2, spec.tensors[-1].layout)
    assert len(followers(spec.kind, len(spec.tensors) - 1)) == 1
    assert move.apply(spec, near).holes[-1].spec.limits == spec.limits
    assert move.apply(spec, AVX2).holes[-1].spec.limits != spec.limits


def test_dimensions_of_one_element_may_go_from_graphs_alone() -> None:
    graph = parse_spec("compose:1x6x1:f32:graph=y[a,n,b]=neg(x[a,n,b])", AVX2.limits)
    assert may_drop(graph.kind, ((1,), (6,), (1,))) == (0, 2)
    assert may_drop(graph.kind, ((1, 2), (6,), (1,))) == (2,)
    matmul = parse_spec("matmul:1x1x1:f32", AVX2.limits)
    assert may_drop(matmul.kind, ((1,),) * 4) == ()
