"""Products inside of graphs that may take denormals for zero."""

import functools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import morello
from morello.compiler.kernel import Kernel
from morello.compiler.tuning.verify import judge
from morello.errors import SpecError
from morello.machine import AVX2, Target, find_target
from morello.spec import Dtype, Spec, parse_spec
from morello.spec.graphs.products import may_flush, rounded_to
from morello.spec.text.specs import print_spec
from tests.kernels.harness import skip_where_it_cannot_run

pytestmark = pytest.mark.usefixtures("one_database")

Array = np.ndarray[Any, np.dtype[Any]]

CHEAP = "avx512-vnni-bf16{dot_bf16=250,dot_bf16_latency=2500}"
"""A target on which `vdpbf16ps` is faster than to widen bf16."""

EPILOGUE = "t[m,n]=sum(a[m,k]*b[k,n]);y[m,n]=relu(t+c[n])"
TWO = "t[m,k]=sum(a[m,j]*b[j,k]);r[m,k]=narrow_bf16(relu(t));y[m,n]=sum(r*c[k,n])"
CONVOLUTION = "y[v,f]=sum(x[v+j,c]*w[j,c,f])"
ATTENTION = (
    "s[q,k]=sum(Q[q,d]*K[k,d]);m[q]=max(s);p[q,k]=exp(s-maximum(m,-3.4028234663852886e38));"
    "l[q]=sum(p);r[q,k]=narrow_bf16(p);o[q,e]=sum(r*V[k,e]);y[q,e]=o/l"
)

TEXTS = {
    f"compose:14x48x34:bf16,bf16,f32,f32:graph={EPILOGUE}": 1,
    f"compose:9x32x32x40:bf16,bf16,bf16,f32:graph={TWO}": 2,
    f"compose:20x48x3x32:bf16,bf16,f32:graph={CONVOLUTION}": 1,
    f"compose:8x32x32x32:bf16,bf16,bf16,f32:graph={ATTENTION}": 2,
    f"compose:7x33x17x9:bf16:graph={ATTENTION}": 0,
}
"""Graphs of floats, and how many of their products are computed by dot products: none
is asked for where sizes are odd."""


WITH_EPILOGUE, *_, OF_ROWS, _ = TEXTS


@functools.cache
def target() -> Target:
    return find_target(CHEAP)


@functools.cache
def kernel(text: str) -> Kernel:
    skip_where_it_cannot_run(target().isa)
    return morello.compile(text, target=CHEAP, threads=1)


def spec(text: str) -> Spec:
    return parse_spec(text, AVX2.limits)


@pytest.mark.quick
@pytest.mark.parametrize("text", TEXTS)
def test_the_option_is_a_part_of_the_text(text: str) -> None:
    flushing = spec(f"{text}:flushing=true")
    assert flushing != spec(text)
    assert flushing.kind.flushing
    printed = print_spec(flushing, AVX2.limits)
    assert "flushing=true" in printed
    assert spec(printed) == flushing
    named = spec("attention:8x9x16x16:bf16:flushing=true")
    assert print_spec(named, AVX2.limits) == "attention:8x9x16x16:bf16:flushing=true"


@pytest.mark.quick
def test_a_graph_that_is_a_product_is_that_product() -> None:
    text = "compose:8x16x32:bf16,bf16,f32:graph=y[m,n]=sum(a[m,k]*b[k,n])"
    product = spec(f"{text}:flushing=true")
    assert product == spec("matmul:8x32x16:bf16,bf16,f32:flushing=true")


@pytest.mark.quick
@pytest.mark.parametrize(
    "text", ["softmax:4x8:bf16", "compose:4x8:f32:graph=y[m]=sum(x[m,n])"]
)
def test_nothing_flushes_without_a_product(text: str) -> None:
    with pytest.raises(SpecError, match="has no product that flushes; leave"):
        spec(f"{text}:flushing=true")


@pytest.mark.quick
def test_integers_do_not_flush() -> None:
    with pytest.raises(SpecError, match="no flushing product of integers"):
        spec(
            "compose:4x8x6:s32:graph=t[m,n]=sum(a[m,k]*b[k,n]);y[m,n]=t+t:flushing=true"
        )


@pytest.mark.quick
def test_factors_of_products_that_flush_are_narrow() -> None:
    kind = spec(f"{OF_ROWS}:flushing=true").kind
    graph = kind.as_graph
    assert graph is not None
    _, second = graph.contractions
    assert rounded_to(graph, graph.arguments(second)[0]) is Dtype.BF16
    assert may_flush(graph, {0, 1})
    assert not may_flush(graph, {0})


@pytest.mark.quick
def test_what_is_rounded_for_good_is_not_scaled_afterwards() -> None:
    sums = ATTENTION.replace("l[q]", "out l[q]").replace(";y[q,e]=o/l", "")
    text = f"compose:24x64x32x32:bf16,bf16,bf16,f32,f32:graph={sums}:flushing=true"
    reform = spec(text).kind.reform
    assert reform is not None
    assert reform.kind.flushing
    assert spec(text.replace("narrow_", "round_")).kind.reform is None


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.sampled(2)
def test_dot_products_are_in_graphs_that_flush_alone(text: str) -> None:
    flushing = kernel(f"{text}:flushing=true")
    count = flushing.schedule.count('"dot2_bf16_512"')
    assert count >= TEXTS[text], flushing.schedule
    assert "dot2_bf16" not in kernel(text).schedule


def integers(one: Kernel, rng: np.random.Generator, most: int = 4) -> list[Array]:
    return [
        rng.integers(-most, most + 1, p.shape).astype(p.dtype)
        for p in one.parameters
        if not p.is_output
    ]


@pytest.mark.parametrize("text", list(TEXTS)[:3])
@pytest.mark.sampled(2)
def test_integers_are_exact(text: str) -> None:
    one = kernel(f"{text}:flushing=true")
    for seed in range(4):
        inputs = integers(one, np.random.default_rng(seed), 2)
        got = one(*inputs)
        verdict = judge(one.spec, tuple(inputs), got, exact=True)
        assert verdict.is_exact, verdict


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.sampled(2)
def test_numbers_are_within_the_bound(text: str) -> None:
    one = kernel(f"{text}:flushing=true")
    for seed in range(4):
        rng = np.random.default_rng(seed)
        inputs = [
            rng.standard_normal(p.shape, np.float32).astype(p.dtype)
            for p in one.parameters
            if not p.is_output
        ]
        verdict = judge(one.spec, tuple(inputs), one(*inputs), exact=False)
        assert verdict.holds, verdict


@pytest.mark.sampled(2)
def test_equal_scores_give_means() -> None:
    """Powers are 1, whatever a tile of keys has seen: nothing is rounded."""
    one = kernel(f"{OF_ROWS}:flushing=true")
    rng = np.random.default_rng(0)
    queries, keys, values = integers(one, rng)
    keys[:] = 1
    got = one(queries, keys, values)
    wanted = values.astype(np.float32).mean(axis=0)
    np.testing.assert_allclose(got, np.broadcast_to(wanted, got.shape), rtol=1e-6)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none_stay_so(number: float) -> None:
    one = kernel(f"{WITH_EPILOGUE}:flushing=true")
    a, b, c = integers(one, np.random.default_rng(0))
    b[:] = np.abs(b) + 1
    a[3, 5] = number
    got = one(a, b, c)
    wanted = a.astype(np.float32) @ b.astype(np.float32) + c
    wanted = np.where(np.isnan(wanted), wanted, np.maximum(wanted, 0))
    np.testing.assert_array_equal(got, wanted)


def test_denormals_count_as_they_are_or_as_zero() -> None:
    one = kernel(f"{WITH_EPILOGUE}:flushing=true")
    a, b, c = integers(one, np.random.default_rng(0))
    c[:] = 0
    tiny = ml_dtypes.bfloat16(2.0**-130)
    a[:], b[:] = tiny, 4
    inputs = a, b, c
    verdict = judge(one.spec, inputs, one(*inputs), exact=False)
    assert verdict.holds, verdict
    a[:], b[:] = ml_dtypes.bfloat16(2.0**-64), ml_dtypes.bfloat16(2.0**-66)
    verdict = judge(one.spec, inputs, one(*inputs), exact=False)
    assert verdict.holds, verdict
