"""Functions of arrays with a size that each call says: `jit(sizes=…)`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morello
from morello.errors import ArgumentError, MorelloError
from morello.spec import SizeRange
from tests.guarded import check_canaries, check_in_child, guarded_array
from tests.tracing.beside import pairs

Array = np.ndarray[Any, np.dtype[Any]]

RNG = np.random.default_rng(7)
W, B = RNG.standard_normal((8, 6), np.float32), RNG.standard_normal(6, np.float32)


def rows(x: Any, y: Any) -> Any:
    return np.maximum(x @ W + B, 0) * y, x.sum(-1)


def normed(x: Any) -> Any:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def layers(x: Any) -> Any:
    for _ in range(2):
        x = np.tanh(x @ (W @ W.T))
    return x.reshape(x.shape[0], 2, 4).max(-1)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("function", "widths", "sizes"),
    [
        (rows, (8, 6), {"x": "n=1..5", "y": "n"}),
        (normed, (11,), {"x": "2..11/3"}),
        (layers, (8,), {"x": "..4"}),
        (lambda x: x - x.mean(0), (5,), {"x": "2..4"}),
    ],
)
def test_one_kernel_takes_every_size(
    function: Callable[..., Any], widths: tuple[int, ...], sizes: dict[str, str]
) -> None:
    taken = SizeRange.written(sizes["x"].removeprefix("n="))

    def run() -> None:
        jitted = morello.jit(function, sizes=sizes, threads=1)
        kernels = set()
        for size in range(1, 12):
            inputs = [
                RNG.standard_normal((size, width), np.float32) for width in widths
            ]
            arrays = [guarded_array(each, "x", "end") for each in inputs]  # type: ignore[arg-type]
            if size not in taken:
                with pytest.raises(ArgumentError, match=f" is {size}, and "):
                    jitted(*arrays)
                continue
            result = jitted(*arrays)
            kernels.add(jitted.kernel(*(each.shape for each in inputs)))
            wanted = function(*inputs)
            for got, want in pairs(result, wanted):
                assert got.shape == want.shape
                np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)
            for array in arrays:
                check_canaries(array)
        assert len(kernels) == 1

    check_in_child(run)


def branch(x: Any) -> Any:
    return x + 1 if len(x) == 3 else x * 2


def test_a_size_that_chooses_in_python_has_a_kernel_for_itself() -> None:
    jitted = morello.jit(branch, sizes={"x": "1..5"}, threads=1)
    kernels = set()
    for size in (3, 1, 2, 3, 4, 5):
        x = RNG.standard_normal((size, 8), np.float32)
        np.testing.assert_array_equal(jitted(x), branch(x))
        kernels.add(jitted.kernel(x))
    assert len(kernels) == 2


HELD = [np.ones(8, np.float32), 2.0]


def test_what_a_function_reads_may_change() -> None:
    jitted = morello.jit(
        lambda x: x * HELD[0] * HELD[1], sizes={"x": "1..4"}, threads=1
    )
    x = np.ones((3, 8), np.float32)
    try:
        assert (jitted(x) == 2).all()
        HELD[0] = np.full(8, 3, np.float32)
        assert (jitted(x) == 6).all()
        assert (jitted(x[:2]) == 6).all()
        HELD[1] = 5.0
        assert (jitted(x[:1]) == 15).all()
        assert (jitted(x) == 15).all()
    finally:
        HELD[:] = np.ones(8, np.float32), 2.0


def test_a_result_with_two_dimensions_of_the_size() -> None:
    jitted = morello.jit(lambda x: x @ x.T, sizes={"x": "n=1..6"}, threads=1)
    for size in (4, 6, 1):
        x = np.arange(size * 5, dtype=np.float32).reshape(size, 5)
        np.testing.assert_array_equal(jitted(x), x @ x.T)


@pytest.mark.parametrize(
    ("function", "size", "part"),
    [
        (lambda x: x * len(x) ** 3, 4, "it depends on n, which each call says"),
        (lambda x: x[: len(x) // 2] + 1, 3, "it depends on n, which each call says"),
        (lambda x: x[:2] + 1, 4, "it reads rows that n = 1 lacks"),
        (lambda x: x[:1] + 1, 4, "computes something else where n is 6 than at 7, 2"),
        (lambda x: x + np.ones((6, 1), np.float32), 1, "which is to take any n"),
    ],
)
def test_what_depends_on_the_size_is_refused_by_its_name(
    function: Callable[..., Any], size: int, part: str
) -> None:
    jitted = morello.jit(function, sizes={"x": "n=1..6"}, threads=1)
    with pytest.raises(MorelloError) as refused:
        jitted(np.ones((size, 5), np.float32))
    assert part in str(refused.value)


def test_a_size_inside_of_arguments() -> None:
    @morello.jit(sizes={"x": "2xlength=1..6", "y": "length"}, threads=1)
    def scaled(x: Any, y: Any) -> Any:
        return np.exp(x) * y

    rng = np.random.default_rng(1)
    for length in (6, 1, 4):
        x, y = (rng.random(shape, np.float32) for shape in ((2, length), (length,)))
        np.testing.assert_allclose(scaled(x, y), np.exp(x) * y, rtol=1e-5)
    with pytest.raises(ArgumentError, match="'sizes' says 2 before length"):
        scaled(x[:1], y)


def test_wrong_arguments() -> None:
    jitted = morello.jit(rows, sizes={"x": "n=1..9", "y": "n"})
    x, y = np.ones((4, 8), np.float32), np.ones((5, 6), np.float32)
    with pytest.raises(ArgumentError, match="n is a size that arguments"):
        jitted(x, y)
    with pytest.raises(ArgumentError, match="n is 10, and rows takes 1 to 9"):
        jitted(np.ones((10, 8), np.float32), np.ones((10, 6), np.float32))
    with pytest.raises(ArgumentError, match="and they have none"):
        jitted(np.float32(1), np.float32(2))


@pytest.mark.parametrize(
    ("sizes", "part"),
    [
        ({"z": "1..4"}, "'z', which is no parameter of rows"),
        ("1..4", "takes texts by the names of parameters, not '1..4'"),
        ({"x": 4}, "takes texts by the names of parameters, not 4"),
        ({"x": "1..4", "y": "1..4"}, "not one range of sizes"),
        ({"x": "4"}, "not one range of sizes"),
        ({"x": "four"}, "'four' in 'four' has no range"),
        ({"x": "4..1"}, "holds no sizes"),
    ],
)
def test_wrong_sizes(sizes: dict[str, str], part: str) -> None:
    with pytest.raises(MorelloError) as refused:
        morello.jit(rows, sizes=sizes)
    assert part in str(refused.value)
