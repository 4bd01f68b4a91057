"""Operands whose rows are as far apart as each call says: ``ld?``."""

import copy
import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import morello
from morello.compiler.kernel import Kernel
from morello.errors import ArgumentError, SpecError
from morello.machine import AVX2, find_target
from morello.spec import Array, Spec, parse_spec, print_spec
from tests.aot.compiler import NEEDS_CC, Linked
from tests.guarded import Side, check_canaries, check_in_child, guarded_array
from tests.quality.compiled import unsearched

SPECS = (
    "matmul:33x40x56:f32:lhs=ld?:rhs=ld?:out=ld?",
    "matmul:33x40x57:f32:rhs=[0,2,1]/ld?:out=[0,2,1]/ld?",
    "matmul:3x5x17x33:f32:lhs=ld?:rhs=ld34:out=ld?",
    "matmul:9x33x40:bf16,bf16,f32:lhs=ld?:rhs=ld?",
    "matmul:9x33x40:u8,s8,s32:lhs=ld?:rhs=ld?:out=ld?",
    "matmul_accum:17x19x23:f32:lhs=ld?:out=ld?", "move:13x17:f32:src=ld?:dst=[1,0]/ld?",
    "fill:9x33:f32:out=ld?", "max:9x33:f32:x0=ld?", "add:9x33:f32:x0=ld?:x1=ld?:v0=ld?",
    "softmax:5x33:f32:x0=ld?",
)  # fmt: skip
"""A case of each kind, of each dtype of products, and of each place of gaps."""


def placed_in(
    spec: Spec, side: Side, seed: int, gap: int = 0
) -> tuple[list[Array], ...]:
    """Arguments on guarded pages, with canaries in their gaps, and the results."""
    values = spec.random(np.random.default_rng(seed))
    inputs = iter(values)
    placed = []
    for index, operand in enumerate(spec.kind.operands):
        array = np.array(spec.argument(index, 0xFF))
        if operand.is_read:
            array = np.array(spec.to_physical(index, next(inputs)))
        leading = spec.leading[index] if spec.leading else 0
        padding = leading - array.shape[-1] if leading else 0
        if spec.has_any_row(index):
            padding = gap + index
        placed.append(
            guarded_array(array, side, operand.is_written, padding, operand.name)
        )
    return placed, list(spec.outputs(*values))


def _check_calls(kernel: Kernel, side: Side, seed: int) -> None:
    """One kernel for rows of several distances, without gaps too."""
    spec = kernel.spec
    for gap in (0, 1, 31):
        placed, wanted = placed_in(spec, side, seed, gap)
        kernel(*placed)
        for array in placed:
            check_canaries(array)
        for index, want in zip(spec.kind.written, wanted, strict=True):
            result = spec.to_logical(index, placed[index])
            np.testing.assert_allclose(result, want, rtol=1e-5, atol=1e-4)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", [1, 4, 6, 10])
def test_random_programs_keep_to_the_rows(number: int) -> None:
    kernel, side = unsearched(SPECS[number], number), ("start", "end")[number % 4 // 2]
    check_in_child(partial(_check_calls, kernel, side, number))


def test_axes_of_one_element_are_left_out_whatever_the_distance() -> None:
    """Where strides are not known, a subview cannot tell which axes are gone."""
    kernel = unsearched("conv:1x3x8x8x4x3x3:f32:x0=ld?:x1=ld?", 1)
    check_in_child(partial(_check_calls, kernel, "end", 1))


@pytest.mark.parametrize("text", SPECS)
def test_text_is_read_back(text: str) -> None:
    spec = parse_spec(text, AVX2.limits)
    again = print_spec(spec, AVX2.limits)
    assert parse_spec(again, AVX2.limits) == spec
    assert again.count("ld?") == text.count("ld?")
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert hash(copy.deepcopy(spec)) == hash(spec)


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("[0,1,2,1p4]/ld?", r"dimension \?; only arguments in MEM of an unpacked"),
        ("[0,1,2]@L1/ld?", "only arguments in MEM of an unpacked layout"),
        ("any/ld?", "is not a form"),
        ("ld??", "is not a form"),
        ("ld-1", "is not a form"),
    ],
)
def test_refused(form: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        Spec.parse(f"matmul:7x9x17:f32:lhs={form}")


def test_calls() -> None:
    """Views, arrays without gaps, bound calls, new outputs: one kernel takes all."""
    kernel = unsearched("matmul:8x9x10:f32:lhs=ld?:rhs=ld?:out=ld?", 0)
    whole = np.random.default_rng(0).integers(-4, 4, (20, 31)).astype(np.float32)
    before = whole.copy()
    a, b, c = whole[:8, :9], whole[3:12, 9:19], whole[5:13, 20:30]
    want = a @ b
    assert kernel(a, b, out=c) is c  # rows in the gaps of the others
    assert np.array_equal(c, want)
    c[...] = before[5:13, 20:30]
    assert np.array_equal(whole, before)
    assert np.array_equal(kernel(a, b), want)
    assert np.array_equal(kernel(a[None], b[None])[0], want)
    assert np.array_equal(kernel(a.copy(), b, np.zeros((8, 12), "f")[:, :10]), want)
    assert np.array_equal(kernel.bind(a, b, c)(), want)
    with pytest.raises(ArgumentError, match="overlaps"):
        kernel(a, before[3:12, 9:19], out=whole[2:10, 5:15])
    with pytest.raises(ArgumentError, match="overlaps"):
        kernel(before[:8, :9], b, out=whole[:8, 9:19])
    other = pickle.loads(pickle.dumps(kernel))
    assert np.array_equal(other(before[:8, :9], before[3:12, 9:19]), want)
    again = morello.compile(kernel.text, schedule=kernel.schedule)
    assert again.object == kernel.object


def test_transposed_views_and_batches() -> None:
    kernel = unsearched("matmul:3x8x9x10:f32:lhs=ld?:rhs=[0,2,1]/ld?", 0)
    rng = np.random.default_rng(1)
    a = rng.integers(-4, 4, (3, 8, 20)).astype(np.float32)[..., 3:12]
    w = rng.integers(-4, 4, (3, 10, 13)).astype(np.float32)[..., :9]
    want = a @ w.transpose(0, 2, 1)
    assert np.array_equal(kernel(a, w), want)
    assert np.array_equal(kernel(a, w.transpose(0, 2, 1)), want)
    with pytest.raises(ArgumentError, match="between its batches"):
        kernel(np.zeros((3, 9, 20), np.float32)[:, :8, :9], w)


WRONG = (
    np.ones((8, 9), np.float32)[:, ::-1],
    np.ones((8, 9), np.float32)[::-1],
    np.ones((9, 8), np.float32).T,
    np.ones((8, 18), np.float32)[:, ::2],
    np.broadcast_to(np.ones(9, np.float32), (8, 9)),
    np.lib.stride_tricks.as_strided(np.ones(90, np.float32), (8, 9), (32, 4)),
    np.ndarray((8, 9), np.float32, bytes(400), strides=(38, 4)),
)


def test_wrong_strides_are_refused() -> None:
    kernel = unsearched("matmul:8x9x10:f32:lhs=ld?", 0)
    for wrong in WRONG:
        with pytest.raises(ArgumentError, match="'lhs'"):
            kernel(wrong, np.ones((9, 10), np.float32))


def test_a_plain_kernel_says_what_takes_any_row() -> None:
    plain = unsearched("matmul:8x9x10:f32", 0)
    with pytest.raises(ArgumentError, match=r"lhs=ld12, or lhs=ld\? for rows"):
        plain(np.ones((8, 12), np.float32)[:, :9], np.ones((9, 10), np.float32))


def test_costs_take_no_distance_for_granted() -> None:
    target = find_target("avx2")
    text = "matmul:512x60x1024:f32:rhs=ld?:out=ld?"
    assert target.at(parse_spec(text, target.limits)).operand_context.aliased == ()


@NEEDS_CC
def test_programs_of_c(tmp_path: Path) -> None:
    """What a call says wrongly is refused."""
    size, text = 40, "matmul:33x40x56:f32:lhs=ld?:out=ld?"
    kernel = unsearched(text, 1)
    assert kernel.workspace_bytes
    library = kernel.library("mm")
    assert "int64_t lhs_leading_dimension" in library.header
    linked = Linked(library, tmp_path)
    rng = np.random.default_rng(2)
    whole = rng.integers(-4, 4, (33, size + 60)).astype(np.float32)
    b = rng.integers(-4, 4, (size, 56)).astype(np.float32)
    a, out = whole[:, :size], whole[:, size + 2 : size + 58]
    want, pointers, row = a @ b, linked.pointers(a, b, out), size + 60
    assert linked.raw(*pointers, row, row) == 0
    assert np.array_equal(out, want)
    assert np.array_equal(kernel(a, b), want)
    assert linked.raw(*pointers, size - 1, row) == 6
    assert linked.raw(*pointers, row, 55) == 6
    assert linked.raw(*pointers, row, row + 1) == 4  # no longer in the gaps
    assert linked.raw(*linked.pointers(a, b, whole[:, size - 3 :]), row, row) == 4
