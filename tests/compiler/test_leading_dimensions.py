"""Operands with gaps between their rows, and views in logical order."""

import copy
import dataclasses
import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import morello
from morello.compiler.kernel import Kernel
from morello.compiler.pinning import pin
from morello.dialect import in_context
from morello.dialect.build import spec_function, spec_of
from morello.errors import ArgumentError, SpecError
from morello.machine import AVX2, find_target
from morello.mlir import ir
from morello.spec import Spec, parse_spec, print_spec
from tests.compiler.test_row_strides import placed_in
from tests.guarded import Side, check_canaries, check_in_child
from tests.quality.compiled import unsearched

SPECS = (
    "matmul:33x40x56:f32:lhs=ld64:rhs=ld100:out=ld77",
    "matmul:33x40x57:f32:rhs=[0,2,1]/ld41:out=ld58",
    "matmul:3x5x17x33:f32:lhs=ld19:rhs=ld34:out=ld40", "matmul:1x300x65:f32:rhs=ld66",
    "matmul:64x64x64:f32:lhs=ld1024:rhs=ld1024:out=ld1024",
    "matmul:9x33x40:bf16,bf16,f32:lhs=ld35:rhs=ld47:out=ld41",
    "matmul:9x33x40:u8,s8,s32:lhs=ld35:rhs=ld47:out=ld41",
    "matmul_accum:17x19x23:f32:lhs=ld20:out=ld29", "move:13x17:f32:src=ld20:dst=ld18",
    "move:13x17:f32:src=ld20:dst=[1,0]/ld16", "fill:9x33:f32:out=ld40",
    "sum:9x33:f32:x0=ld50", "max:9x33:f32:x0=ld50", "exp:9x33:f32:x0=ld35:v0=ld37",
    "add:9x33:f32:x0=ld34:x1=ld35:v0=ld36",
)  # fmt: skip
"""A case of each kind, of each dtype of products, and of each place of gaps."""

SHARED = (SPECS[1], SPECS[3], SPECS[4], SPECS[6])
"""Those that two threads are tried on, too."""


def _check_call(kernel: Kernel, side: Side, seed: int) -> None:
    spec = kernel.spec
    placed, wanted = placed_in(spec, side, seed)
    kernel(*placed)
    for array in placed:
        check_canaries(array)
    for index, want in zip(spec.kind.written, wanted, strict=True):
        assert spec.to_logical(index, placed[index]).tobytes() == want.tobytes()


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("text", "threads"),
    [*((text, 1) for text in SPECS), *((text, 2) for text in SHARED)],
)
def test_nothing_but_rows_is_touched(text: str, threads: int) -> None:
    if text != SPECS[0]:  # most tables are of L2
        text = f"{text}:l2=0"
    kernel = morello.compile(text, threads=threads)
    assert kernel.text == print_spec(parse_spec(text, AVX2.limits), AVX2.limits)
    for side in ("start", "end"):
        check_in_child(partial(_check_call, kernel, side, 3))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("text", SPECS)
def test_random_programs_touch_nothing_but_rows(text: str) -> None:
    for seed in range(2):
        kernel = unsearched(text, seed)
        for side in ("start", "end"):
            check_in_child(partial(_check_call, kernel, side, seed))


@pytest.mark.parametrize("text", SPECS)
def test_text_is_read_back(text: str) -> None:
    spec = parse_spec(text, AVX2.limits)
    assert print_spec(spec, AVX2.limits) == text
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert hash(copy.deepcopy(spec)) == hash(spec)
    with in_context():
        module = ir.Module.parse(str(spec_function(spec, "f", AVX2)))
        goal = module.body.operations[0].regions[0].blocks[0].operations[0]
        assert spec_of(goal) == spec


def test_gapless_leading_dimension_is_none() -> None:
    """One that is as long as a row says nothing."""
    for form in ("ld9", "[0,1,2]/ld9"):
        spec = Spec.parse(f"matmul:7x9x17:f32:lhs={form}")
        assert spec == Spec.parse("matmul:7x9x17:f32")


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("ld8", "rows of 9 elements"),
        ("ld0", "rows of 9 elements"),
        ("ld9x", "is not a form"),
        ("ld99999999999999", "is not a form"),
        ("[0,1,2,1p4]/ld44", "only arguments in MEM of an unpacked layout"),
        ("[0,1,2]@L1/ld44", "only arguments in MEM of an unpacked layout"),
        ("[0,1]/ld44", "has 3 dimensions but its layout"),
        ("any/ld44", "is not a form"),
        ("ld999999999999", "is not below 2147483648"),
    ],
)
def test_refused(form: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        Spec.parse(f"matmul:7x9x17:f32:lhs={form}:out=ld20")


def test_refused_values() -> None:
    spec = Spec.parse("matmul:7x9x17:f32:lhs=ld20")
    for leading in ((20,), (0, 0, 0), (9, 0, 0), (0, 20, 0)):
        with pytest.raises(SpecError, match="leading dimension"):
            dataclasses.replace(spec, leading=leading)


def test_views_of_larger_arrays() -> None:
    """Views of one matrix: a product of two of its blocks, written to a third."""
    kernel = morello.compile("matmul:32x32x32:f32:lhs=ld96:rhs=ld96:out=ld96")
    whole = np.random.default_rng(0).integers(-4, 4, (64, 96)).astype(np.float32)
    before = whole.copy()
    a, b, c = whole[:32, :32], whole[:32, 32:64], whole[16:48, 64:]
    assert kernel(a, b, out=c) is c
    want = before[:32, :32] @ before[:32, 32:64]
    assert np.array_equal(c, want)
    c[...] = before[16:48, 64:]
    assert np.array_equal(whole, before)
    assert np.array_equal(kernel.bind(a, b, c)(), want)
    for out in (whole[:32, 16:48], whole[32:, :32], whole[1:33, 63:95]):
        inputs = (whole[8:40, :32], whole[:32, 32:64])
        with pytest.raises(ArgumentError, match="overlaps"):
            kernel(*inputs, out=out)
    assert np.array_equal(kernel(a, b), want)
    assert kernel(a, b).strides == (96 * 4, 4)


def test_wrong_strides_are_refused() -> None:
    kernel = morello.compile("matmul:8x9x10:f32:lhs=ld12", threads=1)
    a, b = np.ones((8, 12), np.float32)[:, :9], np.ones((9, 10), np.float32)
    assert (kernel(a, b) == 9).all()
    for wrong in (
        np.ascontiguousarray(a),
        np.ones((8, 13), np.float32)[:, :9],
        np.ones((16, 12), np.float32)[::2, :9],
        np.ones((9, 8), np.float32).T,
        np.ones((8, 18), np.float32)[:, ::2],
        np.ones((8, 12), np.float32)[::-1, :9],
    ):
        with pytest.raises(ArgumentError, match=r"'lhs' has strides .* \(48, 4\)"):
            kernel(wrong, b)
    plain = morello.compile("matmul:8x9x10:f32", threads=1)
    with pytest.raises(ArgumentError, match=r"compile a Spec with lhs=ld12, "):
        plain(a, b)
    with pytest.raises(ArgumentError, match=r"ascontiguousarray\(array\)$"):
        plain(np.ones((8, 9), np.float32), np.ones((10, 9), np.float32).T)


def test_transposed_views() -> None:
    """What lies column-major is taken as it lies, under its logical shape too."""
    rng = np.random.default_rng(1)
    for k, n in ((9, 10), (9, 9), (9, 1)):
        kernel = morello.compile(f"matmul:8x{k}x{n}:f32:rhs=[0,2,1]", threads=1)
        a = rng.integers(-4, 4, (8, k)).astype(np.float32)
        w = rng.integers(-4, 4, (n, k)).astype(np.float32)
        assert np.array_equal(kernel(a, w), a @ w.T)
        assert np.array_equal(kernel(a, w.T), a @ w.T)
        assert np.array_equal(kernel(a[None], w.T[None])[0], a @ w.T)
        assert np.array_equal(kernel.bind(a, w.T, np.empty_like(a @ w.T))(), a @ w.T)
    with pytest.raises(ArgumentError, match=r"kernel\.pack\(array, 'rhs'\)"):
        morello.compile("matmul:8x9x10:f32:rhs=[0,2,1]", threads=1)(
            np.ones((8, 9), np.float32), np.ones((9, 10), np.float32)
        )


def test_transposed_output() -> None:
    kernel = morello.compile("matmul:8x9x10:f32:out=[0,2,1]", threads=1)
    a, b = np.full((8, 9), 2, np.float32), np.ones((9, 10), np.float32)
    out = np.zeros((10, 8), np.float32)
    assert kernel(a, b, out=out.T).shape == (8, 10)
    assert (out == 18).all()


def test_pack_leaves_gaps() -> None:
    kernel = morello.compile("matmul:8x9x10:f32:rhs=[0,2,1]/ld11", threads=1)
    b = np.arange(90, dtype=np.float32).reshape(9, 10)
    packed = kernel.pack(b)
    assert packed.shape == (10, 9)
    assert packed.strides == (44, 4)
    assert np.array_equal(packed, b.T)


def test_kernels_travel() -> None:
    kernel = morello.compile("matmul:8x9x10:f32:lhs=ld12", threads=1)
    a, b = np.ones((8, 12), np.float32)[:, :9], np.ones((9, 10), np.float32)
    for again in (
        pickle.loads(pickle.dumps(kernel)),
        morello.compile(kernel.text, schedule=kernel.schedule),
    ):
        assert (again(a, b) == 9).all()
        assert again.object == kernel.object
    with pytest.raises(morello.MorelloError, match="another Spec"):
        morello.compile("matmul:8x9x10:f32", schedule=kernel.schedule)


def test_database_keeps_the_program(tmp_path: Path) -> None:
    path = tmp_path / "found.sqlite"
    first = morello.compile("matmul:8x9x10:f32:lhs=ld12", db=path, threads=1)
    again = morello.compile("matmul:8x9x10:f32:lhs=ld12", db=path, threads=1)
    assert again.schedule == first.schedule


def test_costs_know_the_distance_of_rows() -> None:
    """Rows a power of two apart fall into one set of a cache, whatever is in a row."""
    target = find_target("avx2")
    near = target.at(parse_spec("matmul:512x60x64:f32:lhs=ld68", target.limits))
    apart = target.at(parse_spec("matmul:512x60x64:f32:lhs=ld1024", target.limits))
    assert near.operand_context.aliased == ()
    assert apart.operand_context.aliased == ("lhs",)


@pytest.mark.sampled(5)
def test_pin_holds_for_every_distance_of_rows(tmp_path: Path) -> None:
    """Programs below a goal do not know how far its rows are apart; nor do pins."""
    path = tmp_path / "pins.sqlite"
    slow = unsearched("matmul:20x30x40:f32:lhs=ld32", 2)
    morello.compile("fill:3", db=path, target="avx2", threads=1)  # makes the file
    pin(slow.spec, slow.schedule, target="avx2", db=path)
    for form in ("ld32", "ld36", "[0,1,2]/strided"):
        text = f"matmul:20x30x40:f32:lhs={form}"
        kernel = morello.compile(text, db=path, target="avx2", threads=1)
        assert kernel.impl is not None
        assert kernel.impl.spec == kernel.spec
        assert kernel.cost() == slow.cost()
        for side in ("start", "end"):
            check_in_child(partial(_check_call, kernel, side, 5))
