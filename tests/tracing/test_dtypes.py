"""Narrow floats, integers and truth values under `jit`, beside NumPy."""

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import morello
import morello.nn
from morello.errors import MorelloError
from tests.tables import rows
from tests.tracing.beside import check

pytestmark = pytest.mark.usefixtures("one_database")

BF16 = np.dtype(ml_dtypes.bfloat16)


def numbers(dtype: Any, *shape: int, seed: int = 0) -> Any:
    """Numbers of a dtype, bytes of which are small."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind in "iu":
        return rng.integers(0 if kind == "u" else -90, 90, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def added(x: Any) -> Any:
    total = x * 2
    total += x
    total[0] = 1
    return total


Case = tuple[Callable[..., Any], tuple[Any, ...]]

ROWS = 4, 8

HALVES: dict[str, Case] = {
    "arithmetic": (lambda x, y: x * y - x / 3, (ROWS, (8,))),
    "functions": (lambda x, y: np.tanh(x) + np.maximum(y, 0), (ROWS, ROWS)),
    "a product": (lambda x, w: np.maximum(x @ w, 0), (ROWS, (8, 5))),
    "reductions": (lambda x: (x.sum(0), x.max(1), x.mean(), x.argmax(1)), (ROWS,)),
    "a variance": (lambda x: (np.var(x, 0), x.std()), (ROWS,)),
    "a norm": (
        lambda x: (
            (x - x.mean(-1, keepdims=True)) / (x.var(-1, keepdims=True) + 1) ** 0.5
        ),
        (ROWS,),
    ),
    "moves": (lambda x: (x.T, np.concatenate([x, x[::-1]], 1), x.reshape(-1)), (ROWS,)),
    "places": (lambda x: (np.take(x, [2, 0], 0), np.pad(x, 1), np.flip(x)), (ROWS,)),
    "largest numbers": (lambda x: np.nan_to_num(np.exp(x * 90)), (ROWS,)),
    "changes in place": (added, (ROWS,)),
    "comparisons": (lambda x, y: (x < y, np.where(x > 0, x, y)), (ROWS, (8,))),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16], ids=str)
@pytest.mark.parametrize("name", HALVES)
def test_narrow_floats_are_rounded_as_numpy_rounds(name: str, dtype: Any) -> None:
    function, shapes = HALVES[name]
    arrays = [numbers(dtype, *shape, seed=i) for i, shape in enumerate(shapes)]
    check(function, arrays, tolerance=4 * 2.0 ** -(7 if dtype == BF16 else 10))


def test_numbers_of_python_take_the_dtype_of_arrays() -> None:
    x = numbers(np.float16, 4, 8)
    times = morello.jit(lambda x, y: x * y, threads=1)
    assert times(x, 0.3).dtype == np.float16
    chosen = morello.jit(lambda x, y: np.where(x > 0, x, y), threads=1)
    assert chosen(x, 0.5).dtype == np.float16
    assert times(x, np.float32(0.3)).dtype == np.float32


class Pair(NamedTuple):
    """Two arrays, as a function may hold them."""

    first: Any
    second: Any


def test_arrays_of_a_named_tuple_are_joined() -> None:
    halves = [*numbers(np.float16, 2, 3, 4)]
    check(lambda x, y: np.concatenate(Pair(x, y)), halves)


@pytest.mark.parametrize("name", ["softmax", "rms_norm", "gelu"])
def test_functions_of_nn_round_once(name: str) -> None:
    function, x = getattr(morello.nn, name), numbers(np.float16, 2, 8)
    options: dict[str, Any] = {"threads": 1, "time_limit": 0.5}
    narrow = morello.jit(lambda x: function(x), **options)(x)
    wide = morello.jit(lambda x: function(x), **options)(x.astype(np.float32))
    assert narrow.dtype == np.float16
    assert np.allclose(narrow, wide.astype(np.float16), rtol=1e-3, atol=1e-6)


MIXED = {name: line for name, *line in rows(__file__, "mixed_dtypes")}
"""Functions, and the dtypes of their arguments."""


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", MIXED)
def test_integers_and_truth_values_are_numpys(name: str) -> None:
    function, dtypes = MIXED[name]
    arrays = [numbers(dtype, *ROWS, seed=i) for i, dtype in enumerate(dtypes.split())]
    check(eval(function), arrays)


@pytest.mark.parametrize(
    "function",
    [
        lambda a: (a * 4.0, 1.0 - a, a - 0.5, np.fabs(a)),
        lambda a: (a**2.0, np.clip(a, 0.5, 2e9), np.linalg.norm(a)),
    ],
)
def test_integers_with_floats_do_not_wrap(function: Callable[..., Any]) -> None:
    check(function, [np.array([1 << 30, -(1 << 31), (1 << 31) - 1, -3], np.int32)])


def test_sums_above_what_f32_counts_are_exact() -> None:
    ones = np.full((3, 70_000), 255, np.uint8)
    ones[0, 0] = 254
    total = morello.jit(lambda b: b.sum(1))(ones)
    assert np.array_equal(total, ones.sum(1))


REFUSED: list[tuple[Callable[..., Any], str, str]] = [
    (lambda b: b + b, "i1", r"np\.add of int8 is not traced; write x\.astype"),
    (lambda b: b @ b.T, "u1", r"np\.matmul of uint8 is not traced; write x\.astype"),
    (np.trapezoid, "i1", r"np\.add of int8 is not traced"),
    (
        lambda a: a == a,
        "i4",
        r"'equal' of int32 is not traced; .* rounds above 2\*\*24",
    ),
    (lambda a: a + (1 << 31), "i4", r"the number 2147483648 in np\.add of int32"),
    (lambda a: (-2.0) ** a, "i4", r"a power by an array of int32 is not traced"),
    (lambda a: a % 2.5, "i4", r"'remainder' of int32 is not traced"),
    (lambda a: a.sum(), "i4", r"the sum of 32 elements of int32 is not traced"),
    (lambda a: a.prod(0), "i4", r"a product of elements of int32 is not traced"),
    (lambda a: np.maximum(np.isnan(a / 2), a), "i4", r"np\.maximum of int32"),
    (lambda a: np.cumprod(a, 0), "i2", r"a running product of int16"),
    (lambda m: m - m, "?", r"np\.subtract: numpy boolean subtract"),
    (lambda x: x.astype(np.int32), "f4", r"astype\(int32\) of float32"),
    (lambda m: m.argmax(0) & 1, "f4", r"np\.bitwise_and of int64"),
    (lambda a: a, "u4", r"has the dtype uint32, which is not traced"),
]


@pytest.mark.parametrize(
    ("function", "dtype", "words"), REFUSED, ids=range(len(REFUSED))
)
def test_what_could_be_another_number_is_refused(
    function: Callable[..., Any], dtype: str, words: str
) -> None:
    with pytest.raises(MorelloError, match=words):
        morello.jit(function, threads=1)(numbers(dtype, *ROWS))


def test_halves_that_a_function_holds_are_read_at_each_call() -> None:
    held = numbers(BF16, 8)
    plus = morello.jit(lambda x: x + held)
    x = numbers(BF16, 4, 8, seed=1)
    for _ in range(2):
        assert plus(x).dtype == BF16
        assert np.array_equal(plus(x), x + held)
        held *= 2


def test_dtypes_are_programs_of_their_own() -> None:
    double = morello.jit(lambda x: x + x)
    for dtype in (np.float32, np.float16, np.int32, np.float16):
        x = numbers(dtype, 4, 8)
        assert double(x).dtype == dtype
        assert np.array_equal(double(x), x + x)
    assert [p.dtype for p in double.kernel(x).parameters] == [np.float16] * 2
