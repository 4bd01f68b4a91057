"""Rows that are hard for softmax online or shared by threads, through machine code.

`docs/guide/graphs.md` says what users may rely on; this pins it.
"""

import functools
import math
from typing import Any

import numpy as np
import pytest

import morello
from morello.compiler.kernel import Kernel
from morello.spec.graphs.loops import LOWEST

pytestmark = pytest.mark.usefixtures("one_database")

Array = np.ndarray[Any, np.dtype[Any]]

INF, NAN, MAX = np.inf, np.nan, float(np.finfo(np.float32).max)

COLUMNS = 40
"""Of a row: two tiles of 16 and a remainder."""

ONLINE_ROWS = """
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %all = transform.structured.match ops{["morello.compose"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %state:2 = "morello_transform.cut"(%all) {nodes = "v0,v1,v2", again = "v1",
      level = "L1", layout = #morello.layout<"[0]">}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %adding:5 = "morello_transform.to_accum"(%state#0) : (!transform.any_op)
      -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op,
          !transform.any_op)
    %tiles:2 = "morello_transform.split"(%adding#4) {dim = "d1", size = 16 : i64}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %parts:4 = "morello_transform.online"(%tiles#0) {value = "v0"} : (!transform.any_op)
      -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""
"""Maxima and sums 16 columns at a time, each tile repairs the sums; the exponentials
once more for the result. The search does what is left."""


@functools.cache
def online_softmax(rows: int, columns: int = COLUMNS) -> Kernel:
    text = f"softmax:{rows}x{columns}:f32"
    schedule = morello.compile(text, threads=1).schedule
    module, _ = schedule.split("  transform.named_sequence @__transform_main")
    kernel = morello.compile(text, schedule=module + ONLINE_ROWS, threads=1)
    assert kernel.schedule.count("morello_transform.online") >= 1
    assert 'dim = "d1", size = 16' in kernel.schedule
    return kernel


SHARED_ROWS = """
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %all = transform.structured.match ops{["morello.compose"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %state:2 = "morello_transform.cut"(%all) {nodes = "v0,v1,v2", again = "v1",
      level = "L1", layout = #morello.layout<"[0]">}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %shares:7 = "morello_transform.split_parallel"(%state#0) {dim = "d1",
      size = 16 : i64, parts = 3 : i64} : (!transform.any_op) -> (!transform.any_op,
      !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op,
      !transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""
"""Three threads have 16, 16 and 8 columns of every row."""


@functools.cache
def shared_softmax(rows: int) -> Kernel:
    text = f"softmax:{rows}x{COLUMNS}:f32"
    schedule = morello.compile(text, threads=3).schedule
    module, _ = schedule.split("  transform.named_sequence @__transform_main")
    return morello.compile(text, schedule=module + SHARED_ROWS, threads=3)


@functools.cache
def online_attention() -> Kernel:
    """One that the search makes online: little of L2 is left to scores."""
    kernel = morello.compile("attention:32x1024x16x16:f32:l2=512", threads=1)
    assert "morello_transform.online" in kernel.schedule
    return kernel


def _row(**values: float) -> Array:
    """Small numbers, and others at the columns that are named."""
    row = np.linspace(-1, 1, COLUMNS, dtype=np.float32)
    for name, value in values.items():
        row[int(name.removeprefix("at"))] = value
    return row


def _only(value: float, *columns: int) -> Array:
    """-inf everywhere else: the columns are not masked."""
    row = np.full(COLUMNS, -INF, np.float32)
    row[[*columns]] = value
    return row


ROWS = {
    "small": _row(),
    "the maximum is last": _row(at39=50.0),
    "the maximum is first": _row(at0=50.0),
    "the maximum grows with each tile": _row(at0=10.0, at16=40.0, at32=80.0),
    "the maximum is in the second tile, far above": _row(at20=1e30),
    "two maxima in different tiles": _row(at3=9.0, at35=9.0),
    "all equal": np.full(COLUMNS, 7.0, np.float32),
    "large": np.linspace(-MAX, MAX, COLUMNS, dtype=np.float32),
    "all the largest": np.full(COLUMNS, MAX, np.float32),
    "all the lowest": np.full(COLUMNS, -MAX, np.float32),
    "zeros of both signs": _row(at0=0.0, at17=-0.0) * np.float32(0),
    "denormal": np.full(COLUMNS, 1e-45, np.float32),
    "all but one are masked, in the first tile": _only(3.0, 5),
    "all but one are masked, in the last tile": _only(3.0, 39),
    "the first tile is masked": np.where(np.arange(COLUMNS) < 16, -INF, _row()),
    "the last tiles are masked": np.where(np.arange(COLUMNS) >= 16, -INF, _row()),
    "the lowest, the rest masked": _only(-MAX, 1, 20),
}
"""Rows of finite results."""

NAN_ROWS = {
    "all are masked": _only(0.0),
    "NaN in the first tile": _row(at2=NAN),
    "NaN in the last tile": _row(at38=NAN),
    "inf in the first tile": _row(at2=INF),
    "inf in the last tile": _row(at38=INF),
    "inf and -inf": _row(at2=INF, at20=-INF),
    "NaN, the rest masked": _only(NAN, 33),
}
"""Rows that are NaN from end to end."""


def _definition(x: Array) -> Array:
    """Of a row, in f64; what f32 cannot hold becomes 0."""
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        shifted = wide - np.maximum(wide.max(), LOWEST)
        exponentials = np.exp(shifted)
        probabilities: Array = exponentials / exponentials.sum()
    return probabilities


SOFTMAXES = {"online": online_softmax, "shared": shared_softmax}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("way", SOFTMAXES)
@pytest.mark.parametrize("name", ROWS)
def test_softmax_in_parts_is_the_definition(name: str, way: str) -> None:
    row = ROWS[name].astype(np.float32)
    kernel = SOFTMAXES[way](4)
    (bits,) = {array.tobytes() for array in kernel(np.tile(row, (4, 1)))}
    result = np.frombuffer(bits, np.float32)
    np.testing.assert_allclose(result, _definition(row), rtol=3e-6, atol=2e-38)
    assert math.isclose(float(result.sum(dtype=np.float64)), 1, rel_tol=1e-5)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", SOFTMAXES)
@pytest.mark.parametrize("name", NAN_ROWS)
def test_rows_without_a_softmax_are_nan_and_leave_others_alone(
    name: str, way: str
) -> None:
    bad = NAN_ROWS[name].astype(np.float32)
    assert np.isnan(_definition(bad)).all()
    result = SOFTMAXES[way](4)(np.stack([_row(), bad, _row(), bad]))
    assert np.isnan(result[[1, 3]]).all()
    np.testing.assert_allclose(result[[0, 2]], [_definition(_row())] * 2, rtol=3e-6)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("columns", [17, 31, 33])
def test_tiles_of_one_column_and_more(columns: int) -> None:
    """Remainders of 1 and 15: the maximum is last, or all but it is masked."""
    kernel = online_softmax(2, columns)
    rows = np.stack([np.linspace(-3, 4, columns), np.full(columns, -INF)])
    rows[1, -1] = 2.0
    result = kernel(rows.astype(np.float32))
    np.testing.assert_allclose(result[0], _definition(rows[0]), rtol=3e-6)
    np.testing.assert_array_equal(result[1], [0.0] * (columns - 1) + [1.0])


def test_one_column() -> None:
    kernel = morello.compile("softmax:9x1:f32", threads=1)
    column = np.array([0, -0.0, 5, -MAX, MAX, 1e-45, -INF, INF, NAN], np.float32)
    result = kernel(column[:, None])[:, 0]
    np.testing.assert_array_equal(result, [1, 1, 1, 1, 1, 1, NAN, NAN, NAN])


@pytest.mark.parametrize("seed", range(20))
def test_random_rows_of_every_magnitude(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-3, 38, (4, 1))
    rows = (rng.uniform(-1, 1, (4, COLUMNS)) * scale).astype(np.float32)
    rows[rng.random(rows.shape) < 0.3] = -INF
    rows[:, seed] = 0.0
    results = online_softmax(4)(rows)
    for row, result in zip(rows, results, strict=True):
        np.testing.assert_allclose(result, _definition(row), rtol=3e-6, atol=2e-38)


# --- Attention ------------------------------------------------------------------------

QUERIES, KEYS, DEPTH = 32, 1024, 16


def _attention(q: Array, k: Array, v: Array) -> Array:
    with np.errstate(all="ignore"):
        scores = q.astype(np.float64) @ k.astype(np.float64).T / math.sqrt(DEPTH)
        top = np.maximum(scores.max(axis=1, keepdims=True), LOWEST)
        p = np.exp(scores - top)
        result: Array = (p @ v.astype(np.float64)) / p.sum(axis=1, keepdims=True)
    return result


def _inputs(seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    shapes = (QUERIES, DEPTH), (KEYS, DEPTH), (KEYS, DEPTH)
    q, k, v = (rng.standard_normal(shape, np.float32) for shape in shapes)
    return q, k, v


@pytest.mark.sampled(6)
@pytest.mark.parametrize("first", [0, 100, 1000, 1023])
def test_attention_where_keys_before_one_are_masked(first: int) -> None:
    """The last coordinate is 1 of queries and -inf of masked keys."""
    q, k, v = _inputs()
    q[:, -1] = 1
    k[:, -1] = 0
    k[:first, -1] = -INF
    result = online_attention()(q, k, v)
    np.testing.assert_allclose(result, _attention(q, k, v), rtol=2e-5, atol=2e-6)


def test_attention_where_keys_after_the_first_tile_are_masked() -> None:
    q, k, v = _inputs(1)
    q[:, -1] = 1
    k[:, -1] = 0
    k[3:, -1] = -INF
    result = online_attention()(q, k, v)
    np.testing.assert_allclose(result, _attention(q, k, v), rtol=2e-5, atol=2e-6)


def test_queries_that_see_no_key_are_nan_alone() -> None:
    q, k, v = _inputs(2)
    q[:, -1] = 0
    k[:, -1] = -1
    blind = [0, 7, 31]
    q[blind, -1] = INF
    result = online_attention()(q, k, v)
    seeing = [i for i in range(QUERIES) if i not in blind]
    assert np.isnan(result[blind]).all()
    wanted = _attention(q, k, v)[seeing]
    np.testing.assert_allclose(result[seeing], wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 30.0, 1e4, 1e15])
def test_attention_of_small_and_large_scores(scale: float) -> None:
    q, k, v = _inputs(3)
    q *= np.float32(scale)
    # The rounding of a score moves its exponential as much: take scores that are exact.
    q, k = (np.sign(a) * np.exp2(np.round(np.log2(np.abs(a)))) for a in (q, k))
    k[:, 1:] = 0
    result = online_attention()(q, k, v)
    np.testing.assert_allclose(result, _attention(q, k, v), rtol=2e-4, atol=2e-5)


def test_a_nan_of_a_query_a_key_and_a_value() -> None:
    q, k, v = _inputs(4)
    q[5, 3] = NAN
    v[40, 2] = NAN
    result = online_attention()(q, k, v)
    others = np.delete(np.delete(result, 5, axis=0), 2, axis=1)
    assert np.isnan(result[5]).all()
    assert np.isnan(result[:, 2]).all()
    assert not np.isnan(others).any()
    k[1023, 0] = NAN
    assert np.isnan(online_attention()(q, k, v)).all()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("lhs", "rhs"), [(np.uint8, np.int8), (np.int8, np.uint8)])
def test_bytes_are_added_up_exactly_before_maps(lhs: Any, rhs: Any) -> None:
    """Sums of f32 would be rounded: they have 26 bits."""
    names = ",".join(f"{np.dtype(d).kind.replace('i', 's')}8" for d in (lhs, rhs))
    text = "graph=t[m,n]=sum(a[m,k]*w[k,n]);y[m,n]=(t-c[m,n])*2"
    kernel = morello.compile(f"compose:3x17x3001:{names},f32,f32:{text}", threads=1)
    rng = np.random.default_rng(0)
    a, w = (
        rng.integers(np.iinfo(dtype).max // 2, np.iinfo(dtype).max, shape).astype(dtype)
        for dtype, shape in ((lhs, (3, 3001)), (rhs, (3001, 17)))
    )
    right = (a.astype(int) @ w.astype(int)).astype(np.float32)
    assert right.min() > 2**24
    nothing = np.zeros((3, 17), np.float32)
    np.testing.assert_array_equal(kernel(a, w, nothing), right * 2)
