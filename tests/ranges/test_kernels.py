"""Kernels that take any size of a range: results, calls, schedules."""

import functools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello
from morello import Kernel
from morello.aot.entry_points import Status
from morello.errors import ArgumentError, MorelloError
from tests.aot.compiler import NEEDS_CC, STRICT, Linked, run
from tests.guarded import check_canaries, check_in_child, guarded_array
from tests.threads import in_threads

SPECS = [
    "matmul:1..20x16x24:f32",
    "matmul:3..27/4x9x17:f32",
    "matmul_accum:1..13x64x64:f32",  # programs share kernels
]


@functools.cache
def compiled(text: str) -> Kernel:
    return morello.compile(text, target="avx2")


@pytest.fixture(params=SPECS)
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return compiled(request.param)


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    return rng.integers(-4, 5, shape).astype(np.float32)


def test_sizes_that_a_name_ties_part_together() -> None:
    """Two operands have one of them each, a temporary has both."""
    graph = "t[c,a,b]=x0[c,a]*x1[c,b];y[c,a]=sum(t[c,a,b])"
    kernel = compiled(f"compose:3xs=1..5xs:f32:graph={graph}")
    rng = np.random.default_rng(1)
    for size in range(1, 6):
        x, y = numbers(rng, 3, size), numbers(rng, 3, size)
        np.testing.assert_array_equal(kernel(x, y), x * y.sum(1, keepdims=True))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "text",
    [
        "matmul:s=1..9xsx4:f32",
        "matmul:s=1..7xsxs:f32",
        "softmax:s=2..11xs:f32",
        "compose:3xs=1..9xsx4:f32:graph=y[h,a,c]=sum(x0[h,a,b]*x1[h,b,c])",
    ],
)
def test_operands_with_two_dimensions_of_one_size(text: str) -> None:
    kernel = compiled(text)
    rng = np.random.default_rng(2)

    def run() -> None:
        for size in kernel.spec.ranges[0].sizes(kernel.spec.greatest[0]):
            spec = kernel.spec.at(size)
            inputs = [np.ascontiguousarray(x) for x in spec.random(rng)]
            wanted = spec.evaluate(*inputs)
            for side in ("start", "end"):
                guarded = [guarded_array(x, "x", side) for x in inputs]  # type: ignore[arg-type]
                out = guarded_array(np.zeros_like(wanted), "out", side)  # type: ignore[arg-type]
                kernel(*guarded, out)
                np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-6)
                for array in (*guarded, out):
                    check_canaries(array)

    check_in_child(run)
    shape = kernel.parameters[0].at(5).shape
    wrong = np.zeros((*shape[:-2], 1, 5), np.float32)
    with pytest.raises(ArgumentError, match=r"has shape|takes"):
        kernel(
            wrong, *(np.zeros(p.at(5).shape, p.dtype) for p in kernel.parameters[1:])
        )


def test_every_size_is_exact_and_touches_nothing_else(kernel: Kernel) -> None:
    _, _, k, n = kernel.spec.sizes
    accumulates = kernel.spec.kind.accumulates

    def run() -> None:
        rng = np.random.default_rng(1)
        for m in kernel.spec.ranges[0].sizes(kernel.spec.greatest[0]):
            for side in ("start", "end"):
                values = numbers(rng, m, k), numbers(rng, k, n), numbers(rng, m, n)
                lhs, rhs, out = (
                    guarded_array(value, name, side)  # type: ignore[arg-type]
                    for value, name in zip(values, ("lhs", "rhs", "out"), strict=True)
                )
                assert kernel(lhs, rhs, out) is out
                wanted = values[0] @ values[1] + accumulates * values[2]
                np.testing.assert_array_equal(out, wanted)
                for array in (lhs, rhs, out):
                    check_canaries(array)

    check_in_child(run)


def test_calls_in_every_form() -> None:
    kernel = compiled(SPECS[0])
    rng = np.random.default_rng(2)
    for m in (1, 7, 20):
        lhs, rhs = numbers(rng, m, 16), numbers(rng, 16, 24)
        wanted = lhs @ rhs
        np.testing.assert_array_equal(kernel(lhs, rhs), wanted)
        np.testing.assert_array_equal(kernel(lhs[None], rhs[None]), wanted[None])
        out = np.empty((m, 24), np.float32)
        assert kernel(lhs, rhs, out=out) is out
        np.testing.assert_array_equal(out, wanted)
        out[:] = 0
        assert kernel.bind(lhs, rhs, out)() is out
        np.testing.assert_array_equal(out, wanted)


@pytest.mark.sampled(3)
def test_a_layout_that_is_left_open_is_that_of_the_greatest_size() -> None:
    text = "matmul:1..4x256x1024:f32:lhs=any:rhs=any"
    kernel = morello.compile(text, target="avx2", threads=1)
    lhs, rhs, _ = kernel.spec.tensors
    assert rhs.layout.is_packed
    assert not lhs.layout.is_packed
    one = morello.compile("matmul:4x256x1024:f32:rhs=any", target="avx2", threads=1)
    assert one.spec.tensors[1] == rhs
    rng = np.random.default_rng(4)
    weights = numbers(rng, 256, 1024)
    panels = kernel.pack(weights, "rhs")
    for rows in range(1, 5):
        x = numbers(rng, rows, 256)
        np.testing.assert_array_equal(kernel(x, panels), x @ weights)


def test_wrong_sizes_are_refused_by_name() -> None:
    kernel = compiled(SPECS[1])
    rhs = np.zeros((9, 17), np.float32)

    def refused(*shape: int, out: tuple[int, ...] | None = None) -> str:
        outputs = () if out is None else (np.zeros(out, np.float32),)
        with pytest.raises(ArgumentError) as error:
            kernel(np.zeros(shape, np.float32), rhs, *outputs)
        return str(error.value)

    assert "input 'lhs': m is 31, and the kernel takes 3 to 27 in steps of 4" in (
        refused(31, 9)
    )
    assert "m is 0" in refused(0, 9)
    assert "m is 4" in refused(4, 9)
    assert "input 'lhs' has shape (3, 8), expected (1, 3, 9) or (3, 9)" in refused(3, 8)
    assert "output 'out' has shape (7, 17), expected" in refused(3, 9, out=(7, 17))
    both = np.zeros((9, 17), np.float32)
    with pytest.raises(ArgumentError, match="overlaps"):
        kernel(np.zeros((3, 9), np.float32), both, both[:3])


def test_two_threads_with_two_sizes() -> None:
    kernel = compiled(SPECS[0])
    rng = np.random.default_rng(3)
    rhs = numbers(rng, 16, 24)

    def work(m: int) -> bool:
        lhs = numbers(np.random.default_rng(m), m, 16)
        return all((kernel(lhs, rhs) == lhs @ rhs).all() for _ in range(300))

    assert all(in_threads(work, (5, 20)))


@pytest.mark.sampled(3)
def test_the_schedule_and_the_pickle_give_the_same_object(kernel: Kernel) -> None:
    again = morello.compile(
        kernel.text, target="avx2", schedule=kernel.schedule, threads=1
    )
    assert again.object == kernel.object
    assert again.cost() == kernel.cost()
    assert kernel.impl is not None
    assert kernel.cost() == kernel.impl.cost
    copy = pickle.loads(pickle.dumps(kernel))
    assert copy.parameters == kernel.parameters
    assert copy.object == kernel.object


@pytest.mark.parametrize(
    ("text", "options", "part"),
    [
        ("matmul:1..8x4x4:f32", {"tune": "learned"}, "the learned model chooses"),
        ("matmul:1..8x4x1..8:f32", {"tune": True}, "tuning moves borders along one"),
        ("matmul:1..8x4x4:f32:lhs=ld8", {}, "not row-major without gaps"),
        ("matmul:1..8x4x4:f32:out=[0,2,1]", {}, "not row-major without gaps"),
        ("matmul:8x4x1..8:f32:rhs=[0,2,1,2p4]", {}, "varies in packs"),
    ],
)
def test_what_cannot_be_yet_is_refused(
    text: str, options: dict[str, Any], part: str
) -> None:
    with pytest.raises(MorelloError) as refused:
        morello.compile(text, target="avx2", **options)
    assert part in str(refused.value)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "text", ["sum:1..9x40:f32", "softmax:1..5x24:f32", "relu:1..7x24:f32"]
)
def test_rows_of_graphs(text: str) -> None:
    kernel = compiled(text)
    assert kernel.impl is not None
    assert kernel.cost() == kernel.impl.cost  # less remains at 9 than at 7
    rng = np.random.default_rng(5)
    for m in kernel.spec.ranges[0].sizes(kernel.spec.greatest[0]):
        spec = kernel.spec.at(m)
        (x,) = spec.random(rng)
        wanted = spec.evaluate(x)
        np.testing.assert_allclose(kernel(x), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.sampled(2)
@NEEDS_CC
def test_a_linked_kernel_knows_the_bytes_of_two_dimensions_of_the_size(
    tmp_path: Path,
) -> None:
    kernel = compiled("softmax:s=2..11xs:f32")
    linked = Linked(kernel.library("mm"), tmp_path)
    memory = np.zeros(2 * 121, np.float32)
    rng = np.random.default_rng(7)
    for size in (2, 5, 11):
        x, count = numbers(rng, size, size), size * size
        memory[:count] = x.reshape(-1)
        beside = memory[count : 2 * count]
        status = linked.raw(*linked.pointers(memory, beside), size)
        assert status == Status.OK
        wanted = kernel.spec.at(size).evaluate(x)
        np.testing.assert_allclose(beside.reshape(size, size), wanted, rtol=1e-5)
        status = linked.raw(*linked.pointers(memory, memory[count - 1 :]), size)
        assert status == Status.OVERLAP


@NEEDS_CC
def test_a_linked_kernel_takes_the_size_of_the_call(tmp_path: Path) -> None:
    library = compiled(SPECS[1]).library("mm")
    for limit in ("LEAST 3", "GREATEST 27", "STEP 4", "SIZE 7"):
        macro = f"mm_{limit}" if limit.startswith("SIZE") else f"mm_M_{limit}"
        assert f"#define {macro}\n" in library.header
    linked = Linked(library, tmp_path)
    rng = np.random.default_rng(6)
    memory = np.zeros((27, 26), np.float32)

    def call(lhs: Any, rhs: Any, out: Any, m: int) -> int:
        return linked.raw(*linked.pointers(lhs, rhs, out), m)

    for m in range(3, 28, 4):
        lhs, rhs = numbers(rng, m, 9), numbers(rng, 9, 17)
        out = np.full((m + 1, 17), 5, np.float32)
        assert call(lhs, rhs, out, m) == Status.OK
        np.testing.assert_array_equal(out[:m], lhs @ rhs)
        assert (out[m] == 5).all()
        flat = memory.reshape(-1)  # neighbours of this size, of no greater one
        flat[: m * 9] = lhs.reshape(-1)
        beside = flat[m * 9 : m * 26].reshape(m, 17)
        assert call(flat, rhs, beside, m) == Status.OK
        np.testing.assert_array_equal(beside, lhs @ rhs)
        assert call(flat, rhs, flat[m * 9 - 1 :], m) == Status.OVERLAP
    out[:] = 5
    for m in (0, -1, -5, 2, 4, 26, 28, 31, 2**62 + 3):
        assert call(lhs, rhs, out, m) == Status.SIZE
    assert (out == 5).all()
    (tmp_path / "mm.h").write_text(library.header)
    (tmp_path / "use.c").write_text(
        '#include "mm.h"\nint main(void) {\n'
        "  static float lhs[mm_LHS_ELEMENTS], rhs[mm_RHS_ELEMENTS];\n"
        "  static float out[mm_OUT_ELEMENTS];\n"
        "  int bad = mm_malloc(lhs, rhs, out, mm_M_GREATEST + 1) != mm_SIZE;\n"
        "  return bad | mm_malloc(lhs, rhs, out, mm_M_LEAST);\n}\n"
    )
    run("cc", *STRICT, "-std=c99", "use.c", "mm.o", "-o", "use", cwd=tmp_path)
    run(tmp_path / "use")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("text", ["matmul:1..5x7x1..4:f32", "matmul:5x1..3x2..8/2:f32"])
def test_two_sizes_of_a_call_behind_guard_pages(text: str) -> None:
    """Every pair, its schedule and its pickle; a wrong size is refused by its name."""
    kernel = compiled(text)
    rng = np.random.default_rng(1)
    for call in kernel.spec.calls:
        _, m, k, n = kernel.spec.at(*call).sizes
        lhs, rhs = numbers(rng, m, k), numbers(rng, k, n)
        guarded = [guarded_array(array) for array in (lhs, rhs)]
        out = guarded_array(np.zeros((m, n), np.float32))
        kernel(*guarded, out=out)
        np.testing.assert_array_equal(out, lhs @ rhs)
        np.testing.assert_array_equal(kernel(lhs, rhs), lhs @ rhs)
    again = morello.compile(text, target="avx2", schedule=kernel.schedule, threads=1)
    assert again.object == kernel.object
    assert pickle.loads(pickle.dumps(kernel)).object == kernel.object
    one = kernel.spec.ranges[1]
    name, greatest = kernel.spec.kind.dims[one.dims[0]], kernel.spec.greatest
    sizes = list(kernel.spec.sizes[1:])
    sizes[one.dims[0] - 1] = greatest[1] + 1
    m, k, n = sizes
    with pytest.raises(ArgumentError, match=f"{name} is {greatest[1] + 1}"):
        kernel(numbers(rng, m, k), numbers(rng, k, n))
