"""Ranges without end: any greater size is taken by loops over tiles."""

import functools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello
from morello import Kernel
from morello.actions import Move, Range, Split, Tile, ToAccum
from morello.aot.entry_points import Status
from morello.errors import ArgumentError, ScheduleError, SearchError, SpecError
from morello.machine import AVX2, find_target
from morello.search.ranges.cover import cover
from morello.spec import L2, Layout, parse_spec, print_spec
from tests.aot.compiler import NEEDS_CC, STRICT, Linked, run
from tests.guarded import check_canaries, check_in_child, guarded_array

SIZES = (*range(1, 36), 63, 64, 65, 100, 1000)


@functools.cache
def compiled(text: str, threads: int = 1) -> Kernel:
    return morello.compile(text, target="avx2", threads=threads)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("text", "least", "greatest", "step"),
    [
        ("1..", 1, 1024, 1),
        ("16../16", 16, 1024, 16),
        ("5../3", 5, 1025, 3),
        ("1..40+", 1, 40, 1),
        ("700..", 700, 2100, 1),
        ("1000../1000", 1000, 4000, 1000),
    ],
)
def test_texts(text: str, least: int, greatest: int, step: int) -> None:
    spec = parse_spec(f"matmul:{text}x5x6:f32", AVX2.limits)
    (one,) = spec.ranges
    assert one.is_open
    assert (one.least, spec.greatest, one.step) == (least, (greatest,), step)
    assert print_spec(spec, AVX2.limits) == f"matmul:{text}x5x6:f32"
    assert spec.at(greatest + 7 * step).sizes[1] == greatest + 7 * step
    for size in (least - step, greatest + 7 * step - 1):
        if size < least or step > 1:
            with pytest.raises(SpecError, match="takes"):
                spec.at(size)


@pytest.mark.quick
@pytest.mark.parametrize("text", ["..", "../16", "9..9+", "9..3+"])
def test_what_is_no_range(text: str) -> None:
    with pytest.raises(SpecError):
        parse_spec(f"matmul:{text}x5x6:f32", AVX2.limits)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("text", "threads"),
    [
        ("matmul:1..16+x9x17:f32", 1),
        ("matmul:1..16+x9x17:f32", 2),
        ("matmul:3..19+/4x5x6:s32", 1),
        ("matmul:2x1..8+x9x8:f32", 1),
        ("matmul:3x1..16+x5:s32", 1),
        ("matmul:3x5x1..16+:s32", 1),
        ("matmul_accum:1..8+x7x9:s32", 1),
        ("max:1..16+x19:f32", 1),
        ("sum:7x1..16+:s32", 1),
        ("relu:1..16+x7:f32", 2),
        ("softmax:1..8+x24:f32", 1),
        ("conv:1..8+x2x5x5x3x3x3:f32", 1),
        ("softmax:3x1..16+:f32", 1),
        ("softmax:3x1..16+:f32", 2),
        ("layer_norm:3x1..16+:f32", 1),
        ("mean:3x1..16+:f32", 1),
        ("attention:3x1..8+x8x8:f32", 1),
        ("attention:2xs=1..8+xsx8x8:f32", 1),
        ("attention:2x1x1..8+x8x8:f32", 1),
    ],
)
def test_any_size_is_exact_and_touches_nothing_else(text: str, threads: int) -> None:
    kernel = compiled(text, threads)
    (one,), (greatest,) = kernel.spec.ranges, kernel.spec.greatest

    def calls() -> None:
        rng = np.random.default_rng(1)
        for size in SIZES:
            if not one.takes(size, greatest):
                continue
            spec = kernel.spec.at(size)
            values = [np.ascontiguousarray(x) for x in spec.random(rng)]
            wanted = spec.evaluate(*values)
            held = values[-1] if kernel.parameters[-1].accumulates else 0 * wanted
            inputs = values[: len(kernel.parameters) - 1]
            for side in ("start", "end"):
                arrays = [
                    guarded_array(np.ascontiguousarray(x), "x", side)  # type: ignore[arg-type]
                    for x in (*inputs, held)
                ]
                kernel(*arrays)
                np.testing.assert_allclose(arrays[-1], wanted, rtol=2e-5, atol=1e-6)
                for array in arrays:
                    check_canaries(array)

    check_in_child(calls)


@pytest.mark.parametrize(
    "text",
    ["matmul:1..8+x8x1..4:f32", "softmax:1..4x1..16+:f32", "sum:1..4+x1..8+:s32"],
)
def test_a_second_range_may_have_an_end_or_none(text: str) -> None:
    kernel, rng = compiled(text), np.random.default_rng(1)
    (rows, columns), greatest = kernel.spec.ranges, kernel.spec.greatest
    for m in (1, 4, 5, 9, 40):
        for n in (1, 3, 8, 17, 100):
            if rows.takes(m, greatest[0]) and columns.takes(n, greatest[1]):
                spec = kernel.spec.at(m, n)
                inputs = spec.random(rng)[: len(kernel.parameters) - 1]
                wanted = spec.evaluate(*inputs)
                np.testing.assert_allclose(kernel(*inputs), wanted, rtol=2e-5)


def test_calls_in_every_form() -> None:
    kernel = compiled("matmul:3..19+/4x5x6:s32")
    copy = pickle.loads(pickle.dumps(kernel))
    assert copy.object == kernel.object
    again = morello.compile(
        kernel.text, target="avx2", schedule=kernel.schedule, threads=1
    )
    assert again.object == kernel.object
    rhs = np.arange(30, dtype=np.int32).reshape(5, 6)
    for rows in (3, 19, 23, 403):
        lhs = np.arange(rows * 5, dtype=np.int32).reshape(rows, 5)
        out = np.zeros((rows, 6), np.int32)
        assert kernel(lhs, rhs, out=out) is out
        for result in (out, copy(lhs, rhs), kernel.bind(lhs, rhs, 0 * out)()):
            np.testing.assert_array_equal(result, lhs @ rhs)
    for rows in (0, 2, 20, 21, 404):
        with pytest.raises(ArgumentError, match="takes 3 or more in steps of 4"):
            kernel(np.zeros((rows, 5), np.int32), rhs)


def test_the_first_half_is_covered_as_a_range_with_an_end() -> None:
    target = find_target("avx2")
    spec = parse_spec("matmul:1..16+x9x17:f32", target.limits)
    first = parse_spec("matmul:1..8x9x17:f32", target.limits)
    ours, wanted = cover(spec, target), cover(first, target)
    assert ours.least == wanted.least
    assert ours.regrets == wanted.regrets
    assert [(p.box, p.impl) for p in ours.parts] == [
        (p.box, p.impl) for p in wanted.parts
    ]
    ((_, beyond),) = ours.beyond
    (one,) = beyond.spec.ranges
    assert (one.least, one.is_open) == (9, True)
    assert ours.impl.spec == spec


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (
            "compose:3x1..8+x5:f32,f32:graph=s[b,m]=sum(x[b,m,n]);h[b]=max(s[b,m]);"
            "e[b,m]=exp(s-h)",
            "none begins with loops along them",
        ),
        ("matmul:1..3+x3x3:f32", "write 1.. with no number"),
    ],
)
def test_what_has_no_program(text: str, part: str) -> None:
    with pytest.raises(SearchError, match=part):
        compiled(text)


@pytest.mark.quick
def test_decisions_that_need_more_for_a_greater_size_are_refused() -> None:
    spec = parse_spec("matmul:9..16+x8x8:f32", AVX2.limits)
    target = AVX2.at(spec)
    layout = Layout.row_major(3)
    for action in (Move("lhs", L2, layout), Tile("m", 16)):
        with pytest.raises(ScheduleError, match="have no end"):
            action.apply(spec, target)
    for action in (Move("rhs", L2, layout), ToAccum(), Tile("n", 4), Tile("m", 8)):
        roles: dict[str, Any] = {}
        for hole in action.apply(spec, target).holes:
            roles[hole.role] = [one.is_open for one in hole.spec.ranges]
        is_loop = action == Tile("m", 8)
        assert roles == {
            **{role: [True] for role in roles},
            **({"main": [], "remainder": [False]} if is_loop else {}),
        }
    low, high = Range("m", 12).apply(spec, target).holes
    assert [low.spec.ranges[0].is_open, high.spec.ranges[0].is_open] == [False, True]
    summed = parse_spec("matmul_accum:8x9..16+x8:f32", AVX2.limits)
    main, rest = Split("k", 4).apply(summed, AVX2.at(summed)).holes
    assert not main.spec.ranges
    assert (rest.spec.greatest, rest.spec.ranges[0].least) == ((3,), 1)


@NEEDS_CC
def test_a_linked_kernel_takes_any_size(tmp_path: Path) -> None:
    library = compiled("matmul:3..19+/4x5x6:s32").library("mm")
    for limit in ("LEAST 3", f"GREATEST {2**31 - 1}", "STEP 4"):
        assert f"#define mm_M_{limit}\n" in library.header
    assert "mm_RHS_ELEMENTS" in library.header
    assert "mm_LHS_ELEMENTS" not in library.header
    linked = Linked(library, tmp_path)
    rhs = np.arange(30, dtype=np.int32).reshape(5, 6)
    for rows in (3, 19, 23, 4003):
        lhs = np.arange(rows * 5, dtype=np.int32).reshape(rows, 5)
        out = np.full((rows + 1, 6), 7, np.int32)
        assert linked.raw(*linked.pointers(lhs, rhs, out), rows) == Status.OK
        np.testing.assert_array_equal(out[:rows], lhs @ rhs)
        assert (out[rows] == 7).all()
    for rows in (2, 4, -1, 2**31 + 3):
        assert linked.raw(*linked.pointers(lhs, rhs, out), rows) == Status.SIZE
    (tmp_path / "mm.h").write_text(library.header)
    (tmp_path / "use.c").write_text('#include "mm.h"\nint main(void) { return 0; }\n')
    run("cc", *STRICT, "-std=c99", "use.c", "mm.o", "-o", "use", cwd=tmp_path)
