"""±0, ±Inf, NaN, denormals, ±FLT_MAX and overflow: `docs/internals/quality.md`.

Each case runs several random programs of the Spec: but for where sums are rounded, the
values do not depend on the schedule.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import morello
from morello.spec.kind import Array
from tests.quality.compiled import unsearched

INF, NAN, MAX = np.inf, np.nan, float(np.finfo(np.float32).max)
TINY = 1e-45
"""The least denormal."""

PROGRAMS = range(4)
OPS = ("matmul", "matmul_accum")
POOLS = (
    (0.0, -0.0),
    (0.0, 1.0, -1.0),
    (INF, 1.0),
    (INF, -INF, 1.0),
    (INF, 0.0, 2.0),
    (NAN, 1.0, 0.0),
    (TINY, 1.0, 0.0),
    (TINY, -TINY, 3.0),
    (MAX, 1.0, 0.0),
    (MAX, 2.0, -1.0),
    (-0.0, TINY, -INF),
)


def f32(values: Any) -> Array:
    return np.asarray(values, np.float32)


def multiply_add(a: Array, b: Array, c: Array) -> Array:
    """Rounded once to f32: in f64 the sums of these values are exact, or rounded to the
    same f32."""
    with np.errstate(all="ignore"):
        return (a.astype(np.float64) * b + c).astype(np.float32)


def all_sums(a: Array, b: Array, out: Array) -> Array:
    """All that programs may make of ``out`` (m x n), the first axis: which.

    k goes up, in parts. A part is added to out product by product, or by itself, from
    -0 on, and added to out at its end.
    """
    done, begun = out[None], np.zeros((0, 2, *out.shape), np.float32)
    for k in range(a.shape[-1]):
        left, right = a[:, k, None], b[None, k, :]
        fresh = np.stack([done, np.full_like(done, -0.0)], axis=1)
        begun = distinct(np.concatenate([begun, fresh]))
        begun[:, 1] = multiply_add(left, right, begun[:, 1])
        with np.errstate(all="ignore"):
            ended = begun[:, 0] + begun[:, 1]
        done = distinct(np.concatenate([multiply_add(left, right, done), ended]))
    return done


def distinct(values: Array) -> Array:
    """Each once, by its bits."""
    places = {row.tobytes(): place for place, row in enumerate(values)}
    return values[[*places.values()]]


def in_order(text: str) -> Iterator[morello.Kernel]:
    """Random programs that do not add up along k in lanes (`gemv_dot`)."""
    every = (unsearched(text, seed) for seed in itertools.count())
    ordered = (kernel for kernel in every if "gemv_dot" not in str(kernel.schedule))
    return itertools.islice(ordered, len(PROGRAMS))


def check_one_of(result: Array, wanted: Array) -> None:
    """Each element has the bits of one of those wanted; NaN is NaN."""
    same = (result.view(np.uint32) == wanted.view(np.uint32)).any(axis=0)
    both = np.isnan(result) & np.isnan(wanted).any(axis=0)
    assert (same | both).all(), (result, wanted)


def check(result: Array, wanted: Array) -> None:
    """Equal bits; NaN is NaN."""
    assert np.array_equal(np.isnan(result), np.isnan(wanted))
    numbers = ~np.isnan(wanted)
    bits = result.view(np.uint32)[numbers], wanted.view(np.uint32)[numbers]
    assert np.array_equal(*bits), (result, wanted)


@pytest.mark.sampled(18)
@pytest.mark.parametrize("pool", POOLS, ids=str)
@pytest.mark.parametrize("shape", [(3, 1, 5), (5, 7, 9), (6, 4, 16)])
def test_matmul_adds_up_parts_of_k_in_order(
    shape: tuple[int, int, int], pool: tuple[float, ...]
) -> None:
    m, k, n = shape
    rng = np.random.default_rng(0)
    plains, addings = (in_order(f"{op}:{m}x{k}x{n}:f32") for op in OPS)
    for plain, adding in zip(plains, addings, strict=True):
        for _ in range(5):
            a, b, c = (f32(rng.choice(pool, s)) for s in ((m, k), (k, n), (m, n)))
            check_one_of(plain(a, b), all_sums(a, b, np.zeros((m, n), np.float32)))
            wanted = all_sums(a, b, c)
            check_one_of(adding(a, b, out=c), wanted)


def test_matmul_of_negative_zeros_is_positive_zero_and_accum_keeps_them() -> None:
    for seed in PROGRAMS:
        plain = unsearched("matmul:3x1x5:f32", seed)
        adding = unsearched("matmul_accum:3x1x5:f32", seed)
        a, b = np.full((3, 1), -0.0, np.float32), np.ones((1, 5), np.float32)
        assert not np.signbit(plain(a, b)).any()
        assert np.signbit(adding(a, b, out=np.full((3, 5), -0.0, np.float32))).all()


def test_denormals_are_numbers() -> None:
    for seed in PROGRAMS:
        kernel = unsearched("matmul:3x1x5:f32", seed)
        a = np.full((3, 1), 2.0**-100, np.float32)
        b = np.full((1, 5), 2.0**-45, np.float32)
        assert (kernel(a, b) == np.float32(2.0**-145)).all()
        tiny = np.full((1, 5), TINY, np.float32)
        assert (kernel(np.ones_like(a), tiny) == np.float32(TINY)).all()


def test_integers_wrap_around() -> None:
    low, high = -(2**31), 2**31 - 1
    for seed in PROGRAMS:
        kernel = unsearched("matmul:5x7x9:s32", seed)
        rng = np.random.default_rng(seed)
        a = rng.choice([low, high, -1, 3], (5, 7)).astype(np.int32)
        b = rng.choice([low, high, -1, 7], (7, 9)).astype(np.int32)
        wanted = (a.astype(object) @ b.astype(object) + 2**31) % 2**32 - 2**31
        assert np.array_equal(kernel(a, b), wanted.astype(np.int64))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("pool", POOLS, ids=str)
def test_max_is_ieee_maximum(pool: tuple[float, ...]) -> None:
    rng = np.random.default_rng(0)
    for seed in PROGRAMS:
        for m, n in ((3, 5), (9, 33)):
            plain = unsearched(f"max:{m}x{n}:f32", seed)
            adding = unsearched(f"max_accum:{m}x{n}:f32", seed)
            src, out = f32(rng.choice(pool, (m, n))), f32(rng.choice(pool, m))
            check(plain(src), maximum(src))
            wanted = maximum(np.concatenate([src, out[:, None]], axis=1))
            check(adding(src, out=out), wanted)


def maximum(rows: Array) -> Array:
    """NaN if there is one; +0 is greater than -0."""
    best = []
    for row in rows.tolist():
        if any(np.isnan(row)):
            best.append(NAN)
        else:
            best.append(max(row, key=lambda x: (x, not np.signbit(x))))
    return f32(best)


def test_max_of_the_least_values() -> None:
    for seed in PROGRAMS:
        rows = np.full((3, 5), -INF, np.float32)
        assert (unsearched("max:3x5:f32", seed)(rows) == -INF).all()
        least = np.full((7, 3), -(2**31), np.int32)
        assert (unsearched("max:7x3:s32", seed)(least) == -(2**31)).all()


@pytest.mark.parametrize("text", ["move:5x9:f32:dst=[1,0]", "move:5x9:f32"])
def test_move_keeps_every_bit(text: str) -> None:
    special = f32([0.0, -0.0, INF, -INF, TINY, -TINY, MAX, -MAX, NAN]).view(np.uint32)
    signalling = np.asarray([0x7F800001, 0xFFBFFFFF, 0x7FC12345], np.uint32)
    values = np.concatenate([special, signalling])
    rng = np.random.default_rng(0)
    for seed in PROGRAMS:
        kernel = unsearched(text, seed)
        src = rng.choice(values, (5, 9)).astype(np.uint32)
        out = kernel(src.view(np.float32)).view(np.uint32)
        assert np.array_equal(out if out.shape == src.shape else out.T, src)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("fill:7x9:f32", 0x00000000),
        ("fill:7x9:f32:value=lowest", 0xFF800000),
        ("fill:7x9:s32:value=lowest", 0x80000000),
        ("fill:7x9:u32:value=lowest", 0x00000000),
    ],
)
def test_fill_writes_one_pattern(text: str, bits: int) -> None:
    for seed in PROGRAMS:
        assert (unsearched(text, seed)().view(np.uint32) == bits).all()
