"""A memory is a row: with another one, registers that hold tiles, everything works that
knows of memories. It takes nothing but the row, its kernels and a target that has them.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest

from morello.actions import Move as MoveAction
from morello.compiler.stages import program_schedule, spec_module
from morello.cost.counts import OpCounts
from morello.dialect import in_context
from morello.dialect.attributes import limits_attr, limits_of, tensor_attr, tensor_of
from morello.errors import ScheduleError, SearchError, SpecError
from morello.explain.memory import counted_memories
from morello.kernels import KERNELS, Buffer, Emitter, Kernel
from morello.machine import Target, find_target, print_target, text
from morello.machine.targets.avx512 import AVX512
from morello.mlir import ir
from morello.passes.pipelines.pipeline import Pipeline
from morello.search import Solver
from morello.search.impl import Impl
from morello.search.storage.database import Database
from morello.search.storage.overlay import Overlay
from morello.spec import (
    L1,
    L2,
    MEM,
    MEMORIES,
    VRF,
    Fill,
    Kind,
    Layout,
    Limits,
    Matmul,
    Memory,
    Move,
    Spec,
    SpecKey,
    TensorSpec,
    parse_spec,
    print_spec,
)
from morello.spec.frame import Condition, Frame
from morello.spec.tensors import memories
from tests.search.agreement import Agreement, compare
from tests.search.brute_force import BruteForce

TMM = Memory("TMM", L1, rows=16, row_bytes=64, count=8, feature="toy-tile")
"""Eight registers of 16 rows of 64 bytes, beside the vectors, filled from L1."""

GOAL = "matmul:32x64x32:f32"


@dataclasses.dataclass(frozen=True)
class TileKernel(Kernel):
    """A kernel of operands in tiles; the search needs none of its code."""

    kind: type[Kind]
    levels: tuple[Memory, ...]

    @property
    def register_file(self) -> Memory:
        return TMM

    def register_operands(self, key: SpecKey) -> tuple[int, ...]:
        return (2,) if isinstance(key.kind, self.kind) and self.kind is Matmul else ()

    def accepts(self, key: SpecKey) -> bool:
        levels = tuple(tensor.level for tensor in key.tensors)
        rows = all(tensor.layout.is_row_major for tensor in key.tensors)
        overwrites = isinstance(key.kind, Matmul) and not key.kind.accum
        fits = isinstance(key.kind, self.kind) and levels == self.levels
        return fits and rows and not overwrites

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        if self.kind is not Matmul:
            return ()
        return (Condition(frame.limits[TMM] >= 2, "needs two tiles for factors"),)

    def op_counts(self, frame: Frame) -> OpCounts:
        return OpCounts.of({"load": 1})

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        raise NotImplementedError


def tile_kernels() -> dict[str, Kernel]:
    isa = AVX512.isa
    rows = (
        ("tile_load", Move, (L1, TMM)),
        ("tile_store", Move, (TMM, L1)),
        ("tile_zero", Fill, (TMM,)),
        ("tile_multiply", Matmul, (L1, L1, TMM)),
    )
    return {name: TileKernel(name, isa, "", kind, at) for name, kind, at in rows}


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Target:
    """AVX-512 with tiles."""
    monkeypatch.setattr(memories, "MEMORIES", (VRF, TMM, *MEMORIES[1:]))
    return with_kernels(TMM, tile_kernels(), monkeypatch)


def with_kernels(
    memory: Memory, kernels: dict[str, Kernel], monkeypatch: pytest.MonkeyPatch
) -> Target:
    for name, kernel in kernels.items():
        monkeypatch.setitem(KERNELS, name, kernel)
    target = dataclasses.replace(
        AVX512,
        name="toy",
        features=(*AVX512.features, memory.feature),
        kernels=(*AVX512.kernels, *kernels),
    )
    monkeypatch.setitem(text.TARGETS, "toy", target)
    return target


def nodes(impl: Impl) -> list[Impl]:
    below = (node for branch in impl.branches for node in nodes(branch.impl))
    return [impl, *below]


def test_the_target_has_it_and_others_do_not(target: Target) -> None:
    assert target.memories == (VRF, TMM, L1, L2, MEM)
    assert target.caches == (L1, L2)
    assert str(target.limits) == "vrf=32,tmm=8,l1=768,l2=8192"
    assert TMM not in AVX512.limits.memories
    assert AVX512.limits[TMM] == 0
    assert find_target(print_target(target)) == target
    counted = [f"{free} {unit}" for free, unit in counted_memories(target.limits)]
    assert counted[:3] == ["32 registers", "8 registers of TMM", "768 lines of L1"]


def test_it_is_beside_the_vectors(target: Target) -> None:
    assert TMM.path == VRF.path == (L1, L2, MEM)
    assert not TMM.is_beyond(VRF)
    assert not VRF.is_beyond(TMM)
    assert L1.is_beyond(TMM)
    assert (TMM.distance, L1.distance, MEM.distance) == (0, 1, 3)
    assert sorted([MEM, TMM, L2, VRF, L1])[2:] == [L1, L2, MEM]


def test_forms_and_limits_have_its_name(target: Target) -> None:
    form = TensorSpec.parse("f32@TMM[0,1,2]v16")
    assert (str(form), form.level) == ("f32@TMM[0,1,2]v16", TMM)
    assert form.register_grid((1, 33, 40)) == (1, 3, 3)
    assert form.amount((1, 33, 40)) == 9
    assert TensorSpec.parse("f32@VRF[0,1,2]v16").amount((1, 33, 40)) == 99
    with pytest.raises(SpecError, match="goes with level VRF or TMM and no other"):
        TensorSpec.parse("f32@TMM[0,1,2]")
    assert Limits.parse(str(target.limits)) == target.limits
    spec = parse_spec(f"{GOAL}:tmm=3:out=[0,1,2]@TMMv16", target.limits)
    assert spec.limits == target.limits.replace(TMM, 3)
    assert spec.tensors[2] == form
    assert parse_spec(print_spec(spec, target.limits), target.limits) == spec
    assert parse_spec(print_spec(spec, Limits()), Limits()) == spec
    with pytest.raises(SpecError, match=r"unknown option 'tmm'.*vrf, l1, l2, serial"):
        parse_spec(f"{GOAL}:tmm=3", AVX512.limits)


def test_attributes_have_its_name(target: Target) -> None:
    with in_context():
        form = TensorSpec.parse("f32@TMM[0,1,2]v16")
        assert tensor_of(tensor_attr(form)) == form
        assert limits_of(limits_attr(target.limits)) == target.limits


def test_taking_of_it_leaves_the_vectors(target: Target) -> None:
    left = target.take(target.limits, TMM, 3)
    assert str(left) == "vrf=32,tmm=5,l1=768,l2=8192"


def test_the_search_moves_to_it(target: Target) -> None:
    spec = parse_spec(GOAL, target.limits)
    impls = nodes(Solver(target).solve(spec).impl)
    plain = Solver(AVX512).solve(parse_spec(GOAL, AVX512.limits)).impl
    assert impls[0].cost < plain.cost / 2
    words = {str(node.action) for node in impls}
    assert any("move(out, TMM" in action for action in words)
    assert {"select(tile_zero)", "select(tile_store)", "select(tile_multiply)"} <= words
    for node in impls:
        taken = sum(
            tensor.amount(node.spec.shape(i))
            for i, tensor in enumerate(node.spec.tensors)
            if tensor.level is TMM
        )
        assert node.spec.limits[TMM] + taken == 8
        assert node.spec.limits[VRF] == 32 or not taken


@pytest.mark.sampled(5)
def test_few_of_it_are_too_few_for_its_kernel(target: Target) -> None:
    """A tile for sums and two for factors."""
    for free, used in ((2, False), (3, True)):
        spec = parse_spec(f"{GOAL}:tmm={free}", target.limits)
        actions = {str(n.action) for n in nodes(Solver(target).solve(spec).impl)}
        assert ("select(tile_multiply)" in actions) is used
    with pytest.raises(SearchError, match="target toy has 8; give tmm=8 or less"):
        Solver(target).solve(parse_spec(f"{GOAL}:tmm=9", target.limits))


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    "goal",
    [
        "matmul:5x3x18:f32:l2=0",
        "matmul_accum:4x2x17:f32:lhs=[0,1,2]@L1:rhs=[0,1,2]@L1:tmm=3:l2=0",
        "matmul_accum:18x2x17:f32:out=[0,1,2]@TMMv16:l2=0",
        "fill:3x20:f32:out=[0,1]@TMMv16",
    ],
)
def test_no_program_is_better(goal: str, target: Target) -> None:
    agreement = Agreement()
    spec = parse_spec(goal, target.limits)
    compare(spec, Solver(target), BruteForce(target), agreement)
    assert agreement.mismatches == []
    assert agreement.programs[spec.kind.label] > 0


@pytest.mark.sampled(5)
def test_tables_in_a_database_count_it(target: Target, tmp_path: Path) -> None:
    spec = parse_spec(GOAL, target.limits)
    few = dataclasses.replace(spec, limits=spec.limits.replace(TMM, 2))
    overlay = Overlay(Database(tmp_path / "a.sqlite"))
    wanted = {goal: Solver(target, overlay).solve(goal).impl for goal in (spec, few)}
    assert wanted[spec].cost < wanted[few].cost
    for goal, impl in wanted.items():
        again = Solver(target, overlay)
        assert again.solve(goal).impl == impl
        again.solve_tables(goal)
        assert again.run_of(goal).points == 0
    overlay.close()


def test_its_programs_are_schedules_and_memrefs(target: Target) -> None:
    spec = parse_spec(GOAL, target.limits)
    schedule = program_schedule(spec, target, Solver(target).solve(spec).impl)
    assert 'level = "TMM"' in schedule
    with in_context():
        module = ir.Module.parse(schedule)
        Pipeline.parse("builtin.module(morello-apply-schedule)").run(module.operation)
        code = str(module)
        assert str(spec_module(spec, target)) != code
    assert "xvector<16x16xf32>>" in code
    assert 'kernel = "tile_multiply"' in code


SIDE = Memory("SIDE", MEM, count=24, feature="toy-cache")
"""A cache of 24 lines, beside L2: L1 is not filled from it."""


@pytest.mark.sampled(10)
def test_tables_have_an_axis_for_each_of_three_caches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    goal = "matmul_accum:4x3x18:f32:l2=64"
    monkeypatch.setattr(memories, "MEMORIES", (VRF, L1, L2, SIDE, MEM))
    kernel = TileKernel("from_side", AVX512.isa, "", Matmul, (L1, SIDE, L1))
    monkeypatch.setattr(TileKernel, "conditions", lambda self, frame: ())
    monkeypatch.setattr(TileKernel, "register_operands", lambda self, key: ())
    target = with_kernels(SIDE, {"from_side": kernel}, monkeypatch)
    spec = parse_spec(goal, target.limits)
    assert spec.limits.memories == (VRF, L1, L2, SIDE)
    solver, agreement = Solver(target), Agreement()
    compare(spec, solver, BruteForce(target), agreement)
    assert agreement.mismatches == []
    used = {str(node.action) for node in nodes(solver.solve(spec).impl)}
    assert "select(from_side)" in used
    run = solver.run_of(spec)
    boxes = [*map(run.whole_box, run.store)]
    assert {box.caches for box in boxes} == {3}
    assert any(all(len(axis) > 1 for axis in box.limits[1:]) for box in boxes)
    with pytest.raises(ScheduleError, match="L1 is farther than SIDE"):
        MoveAction("rhs", L1, Layout.row_major(3)).apply(
            parse_spec(f"{goal}:rhs=[0,1,2]@SIDE", target.limits), target
        )
