"""Attention through `morello.jit`: the largest search of what is traced."""

from typing import Any

import numpy as np
import pytest

import morello
from tests.tracing.beside import arrays, check


def heads(q: Any, k: Any, v: Any) -> Any:
    scores = np.einsum("hqd,hkd->hqk", q, k) * 0.3
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return (powers @ v) / powers.sum(-1, keepdims=True)


@pytest.mark.sampled(2)
def test_heads_are_what_numpy_computes() -> None:
    check(heads, arrays((2, 5, 7), (2, 6, 7), (2, 6, 8)))


@pytest.mark.sampled(2)
def test_causal_attention_sees_no_later_key() -> None:
    q, k, v = arrays((6, 4), (6, 4), (6, 3))
    attend = morello.jit(
        lambda q, k, v: morello.nn.attention(q, k, v, causal=True), threads=1
    )
    result = attend(q, k, v)
    scores = np.where(np.tril(np.ones((6, 6))) > 0, q @ k.T / 2, -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    wanted = powers @ v / powers.sum(-1, keepdims=True)
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)
    k[3:], v[3:] = np.nan, 7.0
    assert np.array_equal(attend(q, k, v)[:3], result[:3])
