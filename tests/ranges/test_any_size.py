"""The kernels of rows, for any number of them and any length."""

import numpy as np
import pytest

from morello.actions import Action, Move, Select
from morello.compiler.kernel import native_function, parameters
from morello.compiler.stages import build_stages
from morello.errors import ScheduleError
from morello.machine import find_target
from morello.runtime.engine import compile_object, load
from morello.search import Branch, Impl, Solution, Statistics
from morello.spec import L1, L2, Spec, parse_spec
from tests.guarded import check_canaries, check_in_child, guarded_array


def program(spec: Spec, kernel: str, target_name: str) -> Impl:
    """All operands in L1, then the kernel."""
    target = find_target(target_name).at(spec)
    moves: list[Action] = [
        Move(operand.name, level, tensor.layout)
        for operand, tensor in zip(spec.kind.operands, spec.tensors, strict=True)
        for level in (L2, L1)
    ]

    def below(spec: Spec, actions: list[Action]) -> Impl:
        first, *others = actions
        try:
            rewrite = first.apply(spec, target)
        except ScheduleError as error:
            if "follows" not in error.what:
                raise
            return below(spec, others)  # another operand brings it along
        branches = tuple(
            Branch(hole.role, hole.times, below(hole.spec, others))
            for hole in rewrite.holes
        )
        cost = rewrite.total(tuple(branch.impl.cost for branch in branches))
        return Impl(spec, first, cost, branches)

    return below(spec, [*moves, Select(kernel)])


# Rows, lengths, both; rows or lengths that are reduced; a scalar of each row.
@pytest.mark.sampled(3)
@pytest.mark.parametrize("target_name", ["avx2", "avx512"])
@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("relu:1..4x13:f32", "map_rows"),
        ("relu:2..21:f32", "map_rows"),
        ("relu:1..2x2..21:f32", "map_rows"),
        ("relu:s=1..8xs:f32", "map_rows"),
        ("fill:3..8x2x5:f32", "fill_rows"),
        ("fill:3..19/8:f32", "fill_rows"),
        ("move:1..40:bf16,f32", "copy_rows"),
        ("relu:1..41:f32", "graph_rows"),
        ("relu:1..6x1..19:f32", "graph_rows"),
        ("sum:1..7x19:f32", "graph_rows"),
        ("compose:1..5x11x1..9:f32:graph=y[a,c]=sum(x0[a,b,c])", "graph_rows"),
        ("compose:1..5x1..18:f32:graph=y[a,b]=x0[a]*x1[a,b]", "graph_rows"),
        ("sum:2x1..150:f32", "graph_rows"),
        ("max:1..3x1..70:f32", "graph_rows"),
        ("min:3..39/9x4x5:f32", "graph_rows"),
        ("compose:1..90x3:f32:graph=y[a]=sum(square(x[b,a]))", "graph_rows"),
        ("sum:3x1..150:f32", "reduce_rows"),
        ("max:4x1..150:f32", "reduce_rows"),
        ("min:1x3..395/7:f32", "reduce_rows"),
        ("sum:2x5..64:s32", "reduce_rows"),
        ("sum:1x1..1000/37:s32", "reduce_rows"),
        ("max:4x9..1500/71:f32", "reduce_rows"),
        ("compose:2x3..700/41:f32:graph=y[a,b]=exp(x0[a,b])", "graph_rows"),
        (
            "compose:3x1..900/29:f32:graph=t[a,b]=exp(x0[a,b]);y[a]=sum(t[a,b])",
            "graph_rows",
        ),
        ("compose:2x1..35:f32:graph=y[a]=sum(square(x0[a,b]))", "graph_rows"),
        ("relu:2x1..70:bf16", "graph_rows"),
        ("compose:2x1..37:f16,f32:graph=y[a,b]=abs(x0[a,b])", "graph_rows"),
        ("compose:2x1..70:f32,f16:graph=y[a,b]=exp(x0[a,b])", "graph_rows"),
        ("compose:2x1..70:u8,f32:graph=y[a,b]=sqrt(x0[a,b])", "graph_rows"),
        ("compose:2x1..70:f32,s8:graph=y[a,b]=round_s8(x0[a,b])", "graph_rows"),
        ("compose:3x1..80:bf16,f32:graph=y[a]=sum(square(x0[a,b]))", "graph_rows"),
    ],
)
def test_any_size(text: str, kernel: str, target_name: str) -> None:
    target = find_target(target_name)
    spec = parse_spec(text, target.limits)
    name = kernel + target.isa.suffix
    impl = program(spec, name, target_name)
    stages = build_stages(spec, target, Solution(impl, Statistics(0, 0, 0.0)))
    assert stages.cost == impl.cost
    features = ",".join(f"+{feature}" for feature in target.features)
    engine = load(compile_object(stages.llvm, cpu=target.cpu, features=features))
    function = native_function(stages, engine, parameters(spec))

    def run() -> None:
        rng = np.random.default_rng(4)
        for call in spec.calls:
            settled = spec.at(*call)
            values = settled.random(rng)
            if values and values[0].dtype == np.float32 and rng.integers(2):
                values[0].flat[rng.integers(values[0].size)] = np.nan
            wanted = settled.evaluate(*values)
            for side in ("start", "end"):
                arrays = [
                    guarded_array(np.ascontiguousarray(x), "x", side)  # type: ignore[arg-type]
                    for x in (*values, np.zeros_like(wanted))
                ]
                function(*arrays)
                np.testing.assert_allclose(
                    arrays[-1].astype(np.float32), wanted.astype(np.float32), rtol=1e-6
                )
                for array in arrays:
                    check_canaries(array)

    check_in_child(run)


def test_what_takes_settled_sizes() -> None:
    spec = parse_spec("sum:1..3x9:f32", find_target("avx2").limits)
    with pytest.raises(ScheduleError, match="takes settled sizes"):
        program(spec, "reduce_rows", "avx2")
