"""Sizes that strides follow from, or that are reduced: keys of heads, rows of any
length, reductions of products."""

from typing import Any

import numpy as np
import pytest

import morello
from tests.guarded import check_canaries, check_in_child, guarded_array


@pytest.mark.sampled(16)
@pytest.mark.parametrize(
    "text",
    [
        "attention:1x1..9x16x16:f32",
        "attention:3x2..17/5x8x24:f32",
        "attention:1x1..9x8x16:bf16",
        "attention:1x60..242/7x8x8:f32",  # some sizes are searched, and loops take all
        "attention:3x1x1..9x16x16:f32",  # heads
        "attention:2x3x2..17/5x8x24:f32",
        "attention:2x4x1..9x8x16:bf16",
        "attention:2x1x60..242/7x8x8:f32",
        "attention:1..5x3x9x8x8:f32",  # as many heads
        "conv:1..3x2x4x4x4x2x2:f32",  # images: copied window by window,
        "conv:1..5x3x5x4x8x3x2:f32:pad=1:layout=nhwc",  # among zeros
        "conv:2..7x4x4x4x4x3x3:f32:pad=1:groups=4",
        "matmul:5x1..9x7:f32",
        "matmul_accum:2x3x1..9x7:f32",
        "matmul:3x5x2..20/3:f32",
        "matmul:4x9x1..23:f32",  # columns, of which a mask takes the last
        "matmul:2x1..8x4x4:bf16,bf16,f32",
        "softmax:3x1..70:f32",
        "layer_norm:3x1..70:f32",
        "rms_norm:2x3..17/7:bf16,f32,bf16",
        "attention:5x7x1..9x8:f32",  # the depth
        "relu:3x2..8/3x5:f32",
    ],
)
def test_every_size_is_right_and_nothing_else_is_touched(text: str) -> None:
    kernel = morello.compile(text, target="avx2", threads=1)
    names = [operand.name for operand in kernel.spec.kind.operands]

    def run() -> None:
        rng = np.random.default_rng(1)
        for size in kernel.spec.ranges[0].sizes(kernel.spec.greatest[0]):
            spec = kernel.spec.at(size)
            values = spec.random(rng)
            wanted = np.asarray(spec.evaluate(*values))
            if not spec.kind.accumulates:
                values = (*values, np.zeros_like(wanted))
            for side in ("start", "end"):
                arrays = [
                    guarded_array(value, name, side)  # type: ignore[arg-type]
                    for value, name in zip(values, names, strict=True)
                ]
                result = kernel(*arrays).astype(np.float32)
                coarse = wanted.dtype != np.float32
                np.testing.assert_allclose(
                    result,
                    wanted.astype(np.float32),
                    rtol=0.02 if coarse else 1e-5,
                    atol=0.02 if coarse else 1e-5,
                )
                for array in arrays:
                    check_canaries(array)

    check_in_child(run)


def attend(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.T * (q.shape[-1] ** -0.5)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return (powers @ v) / powers.sum(-1, keepdims=True)


@pytest.mark.sampled(2)
def test_a_cache_that_grows_is_one_kernel() -> None:
    jitted = morello.jit(
        attend, sizes={"k": "past=1..9", "v": "past"}, threads=1, target="avx2"
    )
    rng = np.random.default_rng(2)
    keys, values = (rng.standard_normal((9, 8), np.float32) for _ in range(2))
    kernels: dict[int, Any] = {}
    for past in range(1, 10):
        q = rng.standard_normal((1, 8), np.float32)
        k, v = keys[:past], values[:past]
        np.testing.assert_allclose(jitted(q, k, v), attend(q, k, v), rtol=1e-5)
        kernels[past] = jitted.kernel(q, k, v)
    # One key has no maximum and no sum: a program of its own.
    assert len({*kernels.values()}) == 2
    assert len({kernels[past] for past in range(2, 10)}) == 1
