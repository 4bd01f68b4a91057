"""Graphs with divided axes, as programs that the search finds, against NumPy.

Inputs are small integers, so that sums in any order have the same bits.
"""

from typing import Any

import numpy as np
import pytest

import morello
from morello.machine import AVX2
from morello.spec import parse_spec
from tests.tables import rows

Array = np.ndarray[Any, np.dtype[Any]]

SCALED = "y[m,n]=sum(a[m,k]*s[k//32,n]*b[k,n])"


def _scaled(a: Array, s: Array, b: Array) -> Array:
    return a @ (np.repeat(s, 32, axis=0)[: len(b)] * b)


def _upsampled(x: Array, z: Array) -> Array:
    wide = np.repeat(np.repeat(x, 2, axis=1), 2, axis=2)
    return wide[:, : z.shape[1], : z.shape[2]] + z


def _scores(queries: Array, keys: Array) -> Array:
    return queries @ np.repeat(keys, 4, axis=0).transpose(0, 2, 1)


GRAPHS = {name: line for name, *line in rows(__file__, "divided_axes")}
"""A graph, sizes, what it means, a target, and threads."""


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", GRAPHS)
def test_what_the_search_finds_is_right(name: str) -> None:
    text, sizes, meant, target, threads = GRAPHS[name]
    spec = f"compose:{sizes}:f32:graph={text}"
    kernel = morello.compile(spec, target=target, threads=int(threads))
    rng = np.random.default_rng(0)
    *inputs, out = kernel.parameters
    arrays = [rng.integers(-4, 5, p.shape).astype(np.float32) for p in inputs]
    result = kernel(*arrays)
    np.testing.assert_array_equal(result, eval(meant)(*arrays))
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
