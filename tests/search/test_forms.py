"""Forms: operands take the dtypes and layouts that kernels ask for, where that pays."""

import dataclasses
import random
from collections.abc import Iterator

import pytest

from morello.actions import Move, Select
from morello.actions.copies.forms import as_asked, asked_forms, relayout_levels
from morello.kernels import KERNELS
from morello.machine import AVX2, Target
from morello.machine.targets.avx2_golden_cove import AVX2_GOLDEN_COVE as GOLDEN_COVE
from morello.machine.targets.avx2_zen3 import AVX2_ZEN3
from morello.search import Impl, Solver
from morello.search.dp.axes import matters
from morello.spec import (
    L1,
    L2,
    MEM,
    VRF,
    Dtype,
    Form,
    Layout,
    Memory,
    SpecKey,
    TensorSpec,
    parse_spec,
)
from morello.spec.mixes import may_widen
from tests.named_kinds import reuses_inputs
from tests.search.goals import KINDS, random_goal


def program(text: str) -> Impl:
    """The best program with all operands in L2: the forms are those from memory, and
    the tables are few."""
    spec = parse_spec(text, AVX2.limits)
    near = tuple(dataclasses.replace(t, level=L2) for t in spec.tensors)
    return Solver(AVX2).solve(dataclasses.replace(spec, tensors=near)).impl


def nodes(impl: Impl) -> Iterator[Impl]:
    yield impl
    for branch in impl.branches:
        yield from nodes(branch.impl)


def moves(impl: Impl, operand: str) -> set[tuple[str, str]]:
    """The layouts and dtypes that an operand of a matmul takes."""
    return {
        (str(node.action.layout), node.action.dtype)
        for node in nodes(impl)
        if isinstance(node.action, Move)
        and node.action.operand == operand
        and reuses_inputs(node.spec.kind)
        and node.action.level is not VRF
    }


BROADCASTS = {"gemm_registers", "gemm_tile"}
"""The kernels of one loop over k that broadcasts elements of lhs."""


def kernels(impl: Impl) -> set[str]:
    return {n.action.kernel for n in nodes(impl) if isinstance(n.action, Select)}


def test_a_target_asks_for_what_its_kernels_read() -> None:
    text = "matmul:64x64x64:u8,s8,s16:saturating=true"
    wide = Layout.parse("[0,2,1,2p64,1p2]")
    for target, asked in ((AVX2, False), (GOLDEN_COVE, True)):
        forms = asked_forms(parse_spec(text, target.limits).key, 1, target)
        assert (Form(Dtype.S8, wide) in forms) is asked


@pytest.mark.sampled(5)
def test_products_of_few_k_ask_for_out_where_that_pays() -> None:
    for target, asks in ((AVX2, False), (GOLDEN_COVE, True)):
        spec = parse_spec("matmul:1000x3x1000:f32", target.limits)
        chosen = kernels(Solver(target.at(spec)).solve(spec).impl)
        assert ("gemm_outer" in chosen) is asks, target.name


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("transpose_prefetch", GOLDEN_COVE),
        ("gemv_axpy_prefetch", GOLDEN_COVE),
        ("gemv_axpy_bf16_prefetch", GOLDEN_COVE),
        ("gemv_dot_prefetch", GOLDEN_COVE),
        ("gemv_axpy_streams", AVX2_ZEN3),
        ("gemv_axpy_bf16_streams", AVX2_ZEN3),
        ("gemv_dot_streams", AVX2_ZEN3),
    ],
)
def test_variants_are_in_the_space_of_their_machines_alone(
    name: str, target: Target
) -> None:
    assert name in KERNELS
    assert name in target.kernels
    assert name not in AVX2.kernels


def test_rows_of_bf16_are_read_as_streams_where_that_pays() -> None:
    text = "matmul:1x512x1024:bf16,bf16,f32:rhs=[0,2,1,2p16]"
    spec = parse_spec(text, AVX2_ZEN3.limits)
    chosen = kernels(Solver(AVX2_ZEN3.at(spec)).solve(spec).impl)
    assert "gemv_axpy_bf16_streams" in chosen


def test_bf16_is_multiplied_by_vectors() -> None:
    impl = program("matmul:96x64x96:bf16,bf16,f32")
    assert kernels(impl) & BROADCASTS
    assert "scalar" not in kernels(impl)


def test_few_columns_are_multiplied_along_k() -> None:
    impl = program("matmul:48x128x4:f32")
    assert ("[0,2,1]", "") in moves(impl, "rhs")
    assert kernels(impl) == {"transpose", "gemv_dot"}


def test_u8_and_s8_are_widened_to_pairs_without_a_sign() -> None:
    impl = program("matmul:48x67x64:u8,s8,s32")
    assert ("[0,1,2]", "u8w") in moves(impl, "lhs")
    assert ("[0,2,1,2p16,1p2]", "s8z") in moves(impl, "rhs")
    assert {"int_dot2_float", "interleave2"} <= kernels(impl)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("dtypes", "out"), [("s8,s8", "s32"), ("u8,s8", "s16")])
def test_other_bytes_are_widened_to_pairs_of_s16(dtypes: str, out: str) -> None:
    impl = program(f"matmul:48x67x64:{dtypes},{out}")
    assert ("[0,2,1,2p16,1p2]", "s16") in moves(impl, "rhs")
    assert {"int_dot2", "interleave2"} <= kernels(impl)
    casts = {
        n.action.dtype
        for n in nodes(impl)
        if isinstance(n.action, Move) and n.action.level is VRF
    }
    assert casts == {"" if out == "s32" else "s32"}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("rhs", ["[0,1,2]", "[0,1,2,1p6]", "[0,2,1,1p3]"])
@pytest.mark.parametrize("lhs", ["[0,1,2]", "[0,1,2,2oe4]", "[0,1,2,2p3]"])
def test_packs_that_cut_pairs_leave_a_program(lhs: str, rhs: str) -> None:
    spec = parse_spec("matmul:1x2x13x3:u8,s8,s16:saturating=true", AVX2.limits)
    tensors = tuple(
        dataclasses.replace(t, layout=layout, contiguous=not layout.is_packed)
        for t, layout in zip(
            spec.tensors[:2], map(Layout.parse, (lhs, rhs)), strict=True
        )
    )
    spec = dataclasses.replace(spec, tensors=(*tensors, spec.tensors[2]))
    impl = Solver(AVX2).solve(spec).impl
    assert kernels(impl) & {"scalar", "int_dot2_saturating"}


def test_saturating_pairs_keep_their_dtypes() -> None:
    impl = program("matmul:48x67x64:u8,s8,s16:saturating=true")
    assert ("[0,2,1,2p32,1p2]", "") in moves(impl, "rhs")
    assert "int_dot2_saturating" in kernels(impl)
    assert all(not dtype for _, dtype in moves(impl, "rhs") | moves(impl, "lhs"))


def test_rows_of_bf16_are_split_into_odd_and_even_ones() -> None:
    """Columns of rhs lie along k: each word holds an even and an odd element."""
    impl = program("matmul:4x512x64:bf16,bf16,f32:rhs=[0,2,1]")
    assert ("[0,1,2,2oe16]", "f32") in moves(impl, "lhs")
    assert {"gemm_dot_bf16", "deinterleave"} <= kernels(impl)


def test_a_column_major_operand_is_brought_to_panels() -> None:
    impl = program("matmul:48x96x96:f32:rhs=[0,2,1]")
    assert moves(impl, "rhs") & {("[0,2,1,2p16]", ""), ("[0,2,1,2p24]", "")}
    assert kernels(impl) & BROADCASTS
    assert "transpose" in kernels(impl)


def test_what_is_packed_otherwise_is_packed_again() -> None:
    impl = program("matmul:48x96x96:f32:lhs=[0,1,2,1p3]:rhs=[0,2,1,2p8]")
    assert moves(impl, "rhs") & {("[0,2,1,2p16]", ""), ("[0,2,1,2p24]", "")}
    assert kernels(impl) & BROADCASTS


def test_what_is_packed_as_asked_for_stays() -> None:
    key = parse_spec("matmul:96x96x96:f32:rhs=[0,2,1,2p16]", AVX2.limits).key
    assert asked_forms(key, 1, AVX2) == ()
    assert [str(form) for form in asked_forms(key, 0, AVX2)] == ["f32[0,1,2,1p6]"]


def test_nothing_is_asked_for_that_changes_the_meaning() -> None:
    rng = random.Random(0)
    for kind in KINDS:
        for _ in range(20):
            key = random_goal(rng, kind).key
            for index, tensor in enumerate(key.tensors):
                for form in asked_forms(key, index, AVX2):
                    assert form.dtype is tensor.dtype or may_widen(
                        kind, key.dtypes, index, form.dtype
                    )


def test_forms_go_one_way() -> None:
    """Each move is nearer, wider, or from unpacked to packed: no chain comes back."""

    def rank(key: SpecKey, operand: str) -> tuple[int, int, bool]:
        names = [o.name for o in key.kind.operands]
        tensor = key.tensors[names.index(operand)]
        return tensor.level, -tensor.dtype.itemsize, not tensor.layout.is_packed

    rng = random.Random(1)
    count = 0
    for kind in KINDS:
        for _ in range(20):
            goal = random_goal(rng, kind)
            for action in Move.candidates(goal.key, (), AVX2):
                index = [o.name for o in kind.operands].index(action.operand)
                after = goal.key.with_tensor(
                    index, action.destination(goal.key.tensors[index], AVX2)
                )
                assert rank(after, action.operand) < rank(goal.key, action.operand)
                count += 1
    assert count > 200


def test_a_level_matters_where_a_form_may_be_taken_there() -> None:
    text = "matmul_accum:4x4x4:bf16,bf16,f32:lhs=[0,1,2]@L2:rhs=[0,1,2]@L1"
    assert relayout_levels(parse_spec(text, AVX2.limits).key, AVX2) == {L1, L2}
    same = parse_spec("move:4x4:bf16,f32:src=[0,1]@L2:dst=[0,1]@L2", AVX2.limits).key
    assert relayout_levels(same, AVX2) == frozenset()


def test_out_lies_along_what_is_read_at_several_points() -> None:
    """An image has no other form; out is transposed when it is done."""
    text = "compose:8x8x32x3x3:f32:graph=s[h,w,c]=sum(x[h+i,w+j,c]*f[i,j,c]);y[c,h,w]="
    key = parse_spec(f"{text}round(s+b[c])", AVX2.limits).key
    assert Form(Dtype.F32, Layout.parse("[1,2,0]")) in asked_forms(key, 3, AVX2)
    key = parse_spec(text.replace("y[c,h,w]=", "y[h,w,c]=exp(s)"), AVX2.limits).key
    assert asked_forms(key, 2, AVX2) == ()


def test_kernels_ask_only_for_what_can_still_be() -> None:
    """A factor in pairs of s16 leaves nothing to ask for but pairs of the other."""
    key = parse_spec("matmul:4x4x4:s16,s8,s32:lhs=[0,1,2,1p6,2p2]", AVX2.limits).key
    pairs = Layout.parse("[0,2,1,2p16,1p2]")
    asked = {Form(Dtype.S16, pairs), Form(Dtype.S8, pairs)}
    assert set(asked_forms(key, 1, AVX2)) == asked
    wide = parse_spec("matmul:4x4x4:s32,s8,s32", AVX2.limits).key
    assert KERNELS["int_dot2"].forms(wide, 1) == ()


def _moves(text: str) -> set[tuple[str, Memory]]:
    key = parse_spec(text, AVX2.limits).key
    return {(a.operand, a.level) for a in Move.candidates(key, (), AVX2)}


def test_memories_are_filled_from_the_farthest_to_the_nearest() -> None:
    far = _moves("matmul_accum:4x4x4:f32:lhs=[0,1,2]@L2")
    assert ("rhs", L2) in far
    near = _moves("matmul_accum:4x4x4:f32:lhs=[0,1,2]@L1")
    assert ("rhs", L1) in near
    assert ("rhs", L2) not in near
    assert ("rhs", MEM) not in near


def test_registers_are_filled_when_little_is_left_to_come() -> None:
    text = "matmul_accum:4x4x4:f32:out=[0,1,2]@L1"
    filled = ("out", VRF)
    for others, may in (
        ("", False),
        (":lhs=[0,1,2]@L2", False),
        (":lhs=[0,1,2]@L2:rhs=[0,1,2]@L2", True),
        (":rhs=[0,1,2]@L1", True),
    ):
        assert (filled in _moves(text + others)) is may, others


def test_panels_of_lhs_go_with_those_of_rhs() -> None:
    def panels(text: str, operand: int) -> set[int]:
        key = parse_spec(f"matmul_accum:48x48x48:f32{text}", AVX2.limits).key
        return {
            form.layout.pack(1 + operand)
            for form in asked_forms(key, operand, AVX2)
            if form.layout.is_packed
        }

    assert panels("", 0) == set()
    assert panels("", 1) == {16, 24}
    assert panels(":rhs=[0,2,1,2p16]", 0) == {6}
    assert panels(":rhs=[0,2,1,2p24]", 0) == {4}
    assert panels(":lhs=[0,1,2,1p6]", 1) == {16}


def test_a_level_matters_where_a_kernel_needs_room() -> None:
    """The rows that `gemv_axpy_bf16` prefetches from memory lie in L2."""
    near = "matmul_accum:1x4x64:bf16,bf16,f32:lhs=[0,1,2]@L1"
    assert matters(parse_spec(near, AVX2.limits).key, L2, AVX2)
    packed = f"{near}:rhs=[0,2,1,2p32]"
    assert not matters(parse_spec(packed, AVX2.limits).key, L2, AVX2)


def test_kernels_ask_alike_in_every_cache_and_of_every_tile() -> None:
    """The search asks them once for all of these."""
    rng = random.Random(0)
    goals = [random_goal(rng, kind) for kind in KINDS for _ in range(20)]
    keys = [(goal.kind, goal.tensors) for goal in goals]
    keys += [(kind, tuple(map(row_major, tensors))) for kind, tensors in keys]
    for kind, tensors in keys:
        key, seen = (SpecKey(kind, t) for t in (tensors, tuple(map(as_asked, tensors))))
        for kernel in KERNELS.values():
            for operand in range(len(tensors)):
                assert kernel.forms(key, operand) == kernel.forms(seen, operand)


def row_major(tensor: TensorSpec) -> TensorSpec:
    return dataclasses.replace(tensor, layout=Layout.row_major(tensor.rank))
