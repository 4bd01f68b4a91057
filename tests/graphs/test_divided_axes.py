"""Graphs with divided axes, as programs that the search finds, against NumPy.

Inputs are small integers, so that sums in any order have the same bits.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morello
from morello.machine import AVX2
from morello.spec import parse_spec

Array = np.ndarray[Any, np.dtype[Any]]

SCALED = "y[m,n]=sum(a[m,k]*s[k//32,n]*b[k,n])"


def _scaled(a: Array, s: Array, b: Array) -> Array:
    return a @ (np.repeat(s, 32, axis=0)[: len(b)] * b)


def _upsampled(x: Array, z: Array) -> Array:
    wide = np.repeat(np.repeat(x, 2, axis=1), 2, axis=2)
    return wide[:, : z.shape[1], : z.shape[2]] + z


def _scores(queries: Array, keys: Array) -> Array:
    return queries @ np.repeat(keys, 4, axis=0).transpose(0, 2, 1)


GRAPHS: dict[str, tuple[str, str, Callable[..., Array], str, int]] = {
    "blocks": (SCALED, "8x24x96", _scaled, "avx2", 1),
    "a part of a block": (SCALED, "3x7x20", _scaled, "avx2", 1),
    "a block and a part": (SCALED, "2x9x100", _scaled, "avx2", 1),
    "one row": (SCALED, "1x40x128", _scaled, "avx512", 1),
    "threads": (SCALED, "16x64x128", _scaled, "avx2", 2),
    "along vectors": (
        "y[m]=sum(a[m,k]*s[k//32]*b[k])",
        "4x70",
        lambda a, s, b: a @ (np.repeat(s, 32)[: len(b)] * b),
        "avx2",
        1,
    ),
    "rows of blocks": (
        "y[n]=sum(a[k]*s[n,k//32]*b[n,k])",
        "5x70",
        lambda a, s, b: (np.repeat(s, 32, axis=1)[:, : len(a)] * b) @ a,
        "avx2",
        1,
    ),
    "a product with blocks": (
        "y[n]=sum(a[k]*s[n,k//8])",
        "5x20",
        lambda a, s: np.repeat(s, 8, axis=1)[:, : len(a)] @ a,
        "avx2",
        1,
    ),
    "blocks of two sizes": (
        "y[n]=sum(a[k//4]*s[n,k//6]*b[n,k])",
        "3x29",
        lambda a, s, b: (np.repeat(s, 6, axis=1)[:, :29] * b) @ np.repeat(a, 4)[:29],
        "avx512",
        1,
    ),
    "an image": ("y[c,u,v]=x[c,u//2,v//2]+z[c,u,v]", "3x10x9", _upsampled, "avx2", 1),
    "rows of a product": (
        "y[m,n]=sum(a[m//4,k]*b[k,n])",
        "8x16x24",
        lambda a, b: np.repeat(a, 4, axis=0) @ b,
        "avx2",
        1,
    ),
    "heads of keys": (
        "s[h,q,k]=sum(Q[h,q,d]*K[h//4,k,d])",
        "8x4x16x8",
        _scores,
        "avx2",
        1,
    ),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", GRAPHS)
def test_what_the_search_finds_is_right(name: str) -> None:
    text, sizes, meant, target, threads = GRAPHS[name]
    spec = f"compose:{sizes}:f32:graph={text}"
    kernel = morello.compile(spec, target=target, threads=threads)
    rng = np.random.default_rng(0)
    *inputs, out = kernel.parameters
    arrays = [rng.integers(-4, 5, p.shape).astype(np.float32) for p in inputs]
    result = kernel(*arrays)
    np.testing.assert_array_equal(result, meant(*arrays))
    assert result.shape == out.shape


def test_a_head_at_a_time_is_a_product() -> None:
    kernel = morello.compile(
        "compose:8x4x16x8:f32:graph=s[h,q,k]=sum(Q[h,q,d]*K[h//4,k,d])", threads=1
    )
    assert "morello_transform.squeeze" in kernel.schedule


def test_a_block_is_read_in_vectors() -> None:
    spec = "compose:8x64:f32:graph=y[n]=sum(a[k]*s[n,k//32]*b[n,k])"
    schedule = morello.compile(spec, threads=1).schedule
    assert 'dim = "d1", size = 32' in schedule
    assert '"graph_rows"' in schedule


def test_an_operand_is_as_small_as_what_is_read() -> None:
    spec = parse_spec(f"compose:3x7x100:f32:graph={SCALED}", AVX2.limits)
    assert [spec.shape(i) for i in range(4)] == [(3, 100), (4, 7), (100, 7), (3, 7)]
