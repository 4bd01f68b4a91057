"""Models that take any size of one dimension: `ranged`."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morello
from morello import nn
from morello.errors import ArgumentError, MorelloError
from morello.frontends.model import Model, model_of
from morello.frontends.ranged import probe_sizes, ranged
from morello.frontends.refusals import ModelError
from morello.tracing.jit import _shapes
from morello.tracing.traced import TracedFunction
from tests.guarded import check_canaries, check_in_child, guarded_array

ROWS = range(2, 7)


def parts(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Model:
    """A function as several parts, as front ends read programs."""
    pattern, objects = _shapes(function, shapes, {})
    tensors, _ = TracedFunction(function, pattern, objects).program(holds=True)
    return model_of(tensors)


def block(x: Any, w: Any, b: Any, v: Any) -> Any:
    """Calls one part twice, and norms rows between."""
    y = x + nn.gelu(x @ w + b) @ v
    y = y - y.mean(-1, keepdims=True)
    return y + nn.gelu(y @ w + b) @ v


WEIGHTS = (4, 8), (8,), (8, 4)


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    return rng.standard_normal(shape, np.float32)


def test_every_size_is_right_and_touches_nothing_else() -> None:
    model = ranged(lambda s: parts(block, (s, 4), *WEIGHTS), ROWS, "rows")
    assert model.specs("avx2")[0].startswith("gelu_matmul:2..6")
    kernel = model.compile(threads=1)
    copy = pickle.loads(pickle.dumps(kernel))
    assert copy.parameters == kernel.parameters

    def run() -> None:
        rng = np.random.default_rng(1)
        weights = [numbers(rng, *shape) for shape in WEIGHTS]
        for rows in ROWS:
            x = numbers(rng, rows, 4)
            wanted = parts(block, x.shape, *WEIGHTS).evaluate(x, *weights)
            for side in ("start", "end"):
                guarded = [
                    guarded_array(array, name, side)  # type: ignore[arg-type]
                    for array, name in ((x, "x"), (np.zeros_like(x), "out"))
                ]
                for result in (
                    kernel(guarded[0], *weights, out=guarded[1]),
                    copy(x, *weights),
                ):
                    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)
                for array in guarded:
                    check_canaries(array)

    check_in_child(run)
    weights = [np.zeros(shape, np.float32) for shape in WEIGHTS]
    with pytest.raises(ArgumentError, match="rows is 7, and the kernel takes 2 to 6"):
        kernel(np.zeros((7, 4), np.float32), *weights)


@pytest.mark.quick
@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: (x @ w) * float(np.log(x.shape[0])),
        lambda x, w: (x @ w).reshape(-1)[:12],
        lambda x, w: x[:4] @ w,
        lambda x, w: (x @ w) * (2.0 if x.shape[0] > 4 else 3.0),
    ],
    ids=["logarithm", "flat", "slice", "branch"],
)
def test_what_depends_on_the_size_otherwise_is_refused(function: Any) -> None:
    with pytest.raises(ModelError, match="depends on rows, which each call says"):
        ranged(lambda s: parts(function, (s, 4), (4, 6)), ROWS, "rows")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.mean(0),
        lambda x: (x - x.mean(0)) * (x.shape[0] / 5),
        lambda x: (x * x).sum(0) * (x.shape[0] - 1) ** -0.5,
        # Simplified at 8, and gone at 2.
        lambda x: x.sum(0) * 2.0 / x.shape[0],
        lambda x: np.sqrt(((x - x.mean(0)) ** 2).sum(0) / (x.shape[0] - 1)),
        lambda x: x / x.shape[0] ** 2,
    ],
    ids=["mean", "number", "root", "quotient", "deviation", "square"],
)
def test_numbers_may_follow_from_the_size(function: Any) -> None:
    model = ranged(lambda s: parts(function, (s, 4)), range(2, 9), "rows")
    kernel = model.compile(threads=1)
    rng = np.random.default_rng(3)
    for rows in range(2, 9):
        x = numbers(rng, rows, 4)
        np.testing.assert_allclose(kernel(x), function(x), rtol=1e-5, atol=1e-5)


@pytest.mark.quick
@pytest.mark.parametrize("rows", [slice(2), slice(1, 2)])
def test_rows_that_the_least_size_lacks_are_refused(rows: slice) -> None:
    def read(size: int) -> Model:
        return parts(lambda x: x[rows] + 1.0, (size, 4))

    with pytest.raises(ModelError, match="it reads rows that batch = 1 lacks"):
        ranged(read, range(1, 7), "batch")
    with pytest.raises(ModelError, match="it reads rows that batch = 1 lacks"):
        ranged(lambda size: parts(lambda x: x * x[1], (size, 4)), range(1, 7), "batch")
    kernel = ranged(read, range(2, 7), "batch").compile(threads=1)
    x = numbers(np.random.default_rng(2), 2, 4)
    np.testing.assert_array_equal(kernel(x), x[rows] + 1)


@pytest.mark.quick
def test_sizes_at_which_programs_are_compared() -> None:
    assert probe_sizes(range(2, 10)) == (9, 11, 2)
    assert probe_sizes(range(1, 65)) == (64, 67, 2)
    assert probe_sizes(range(8, 65, 8)) == (64, 67, 8)
    assert probe_sizes(range(1, 3)) == (2, 3, 5)


def test_a_sum_over_the_size_is_exact() -> None:
    model = ranged(lambda s: parts(lambda x: x.T @ x, (s, 4)), ROWS, "rows")
    kernel = model.compile(threads=1)
    rng = np.random.default_rng(1)
    for rows in ROWS:
        x = rng.integers(-4, 5, (rows, 4)).astype(np.float32)
        np.testing.assert_array_equal(kernel(x), x.T @ x)


def weighed(x: Any, w: Any) -> Any:
    products = (x @ w) @ (np.swapaxes(x, 1, 2) @ x)
    return np.swapaxes(products + x, 0, 1)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("function", "shape", "axes"),
    [
        (weighed, (3, 0, 4), (1, 0)),
        (lambda x, w: np.exp(np.swapaxes(x, 1, 2)), (2, 0, 4), (1, 2)),
        (lambda x, w: np.exp(x) - x.max(2, keepdims=True), (2, 4, 0), (2, 2)),
        (lambda x, w: x[:, :, 1] @ w, (3, 0, 2, 4), (1, 1)),
    ],
    ids=["products", "transposition", "rows", "gaps"],
)
def test_a_size_inside_of_arguments_and_results(
    function: Any, shape: tuple[int, ...], axes: tuple[int, int]
) -> None:
    def at(size: int) -> tuple[int, ...]:
        return tuple(extent or size for extent in shape)

    model = ranged(lambda s: parts(function, at(s), (4, 4)), ROWS, "length")
    x, *_, out = (p.sizes[0] if p.sizes else None for p in model.parameters)
    assert (x.axes, out.axes) == tuple((axis,) for axis in axes)
    kernel = model.compile(threads=1)

    def run() -> None:
        rng = np.random.default_rng(1)
        w = numbers(rng, 4, 4)
        for size in ROWS:
            values = numbers(rng, *at(size))
            wanted = parts(function, at(size), (4, 4)).evaluate(values, w)
            assert isinstance(wanted, np.ndarray)
            for side in ("start", "end"):
                guarded = [
                    guarded_array(array, name, side)  # type: ignore[arg-type]
                    for array, name in ((values, "x"), (np.zeros_like(wanted), "out"))
                ]
                kernel(guarded[0], w, out=guarded[1])
                np.testing.assert_allclose(guarded[1], wanted, rtol=1e-4, atol=1e-5)
                for array in guarded:
                    check_canaries(array)

    check_in_child(run)


def test_what_is_beside_tiles_of_the_size_has_a_program_of_each() -> None:
    """Pairs of rows are best by a kernel of settled columns."""

    def weighed_rows(x: Any) -> Any:
        return (x @ np.swapaxes(x, 1, 2)) @ x * 0.5

    model = ranged(lambda s: parts(weighed_rows, (1, s, 1)), range(2, 33), "length")
    kernel = model.compile(threads=1)
    rng = np.random.default_rng(1)
    for size in (2, 3, 16, 31, 32):
        x = rng.integers(-4, 5, (1, size, 1)).astype(np.float32)
        np.testing.assert_array_equal(kernel(x), weighed_rows(x))


@pytest.mark.sampled(2)
def test_equal_parts_whose_strides_follow_the_size() -> None:
    """Pointers to memrefs, which shared functions take, have no strides."""

    def twice(x: Any) -> Any:
        once = (x @ x.T) @ x * 0.125
        return (once @ once.T) @ once

    model = ranged(lambda s: parts(twice, (2, s)), range(3, 6), "length")
    specs = [str(part.kind) for part in model.parts]
    assert len(specs) > len({*specs})
    kernel = model.compile(threads=1)
    rng = np.random.default_rng(1)
    for size in range(3, 6):
        x = numbers(rng, 2, size)
        np.testing.assert_allclose(kernel(x), twice(x), rtol=1e-5)


def test_results_and_arguments_with_two_dimensions_of_the_size() -> None:
    def both(x: Any, mask: Any) -> Any:
        return np.exp(x[:, None] - x) * mask

    kernel = ranged(lambda s: parts(both, (s,), (s, s)), ROWS, "length").compile(
        threads=1
    )
    rng = np.random.default_rng(1)
    for size in ROWS:
        x, mask = numbers(rng, size), numbers(rng, size, size)
        np.testing.assert_allclose(kernel(x, mask), both(x, mask), rtol=1e-5)


@pytest.mark.sampled(2)
def test_constants_are_the_beginning_of_those_of_greater_sizes() -> None:
    def before(x: Any) -> Any:
        size = len(x)
        mask = np.tril(np.ones((size, size), np.float32))
        return (np.exp(x @ x.T) * mask) @ x + np.arange(size, dtype=np.float32)[:, None]

    model = ranged(lambda s: parts(before, (s, 4)), ROWS, "length")
    kernel = model.compile(threads=1)
    rng = np.random.default_rng(1)
    for size in ROWS:
        x = numbers(rng, size, 4) * 0.25
        np.testing.assert_allclose(kernel(x), before(x), rtol=1e-4, atol=1e-5)


@pytest.mark.quick
@pytest.mark.parametrize(
    "constant",
    [
        lambda s: np.tril(np.ones((s, s), np.float32))[::-1],
        lambda s: np.arange(s * s, dtype=np.float32).reshape(s, s),
    ],
    ids=["turned", "numbered"],
)
def test_constants_that_depend_on_the_size_otherwise_are_refused(constant: Any) -> None:
    with pytest.raises(ModelError, match="it depends on length"):
        ranged(
            lambda s: parts(
                lambda x: x * np.ascontiguousarray(constant(len(x))), (s, s)
            ),
            ROWS,
            "length",
        )


PRODUCT = """
func.func @layer(%x: tensor<?x8xf32>, %w: tensor<8x6xf32>) -> tensor<?x2x3xf32> {
  %zero = arith.constant 0.0 : f32
  %first = arith.constant 0 : index
  %rows = tensor.dim %x, %first : tensor<?x8xf32>
  %empty = tensor.empty(%rows) : tensor<?x6xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x6xf32>)
      -> tensor<?x6xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x8xf32>, tensor<8x6xf32>)
      outs(%fill : tensor<?x6xf32>) -> tensor<?x6xf32>
  %z = tensor.expand_shape %y [[0], [1, 2]] output_shape [%rows, 2, 3]
      : tensor<?x6xf32> into tensor<?x2x3xf32>
  return %z : tensor<?x2x3xf32>
}
"""

RESHAPED = """
func.func @f(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> tensor<?x4xf32> {
  %sum = stablehlo.add %x, %y : tensor<?x8xf32>
  %rows = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x8xf32>) -> tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %more = stablehlo.multiply %rows, %two : tensor<i32>
  %one = stablehlo.reshape %more : (tensor<i32>) -> tensor<1xi32>
  %four = stablehlo.constant dense<4> : tensor<1xi32>
  %shape = stablehlo.concatenate %one, %four, dim = 0
      : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %z = stablehlo.dynamic_reshape %sum, %shape
      : (tensor<?x8xf32>, tensor<2xi32>) -> tensor<?x4xf32>
  return %z : tensor<?x4xf32>
}
"""


def test_programs_of_mlir_with_open_dimensions() -> None:
    model = morello.from_mlir(PRODUCT, ranges={"rows": "1..5"})
    assert model.specs("avx2") == ("matmul:1..5x8x6:f32",)
    kernel = model.compile(threads=1)
    rng = np.random.default_rng(1)
    w = rng.integers(-4, 5, (8, 6)).astype(np.float32)
    for rows in range(1, 6):
        x = rng.integers(-4, 5, (rows, 8)).astype(np.float32)
        np.testing.assert_array_equal(kernel(x, w), (x @ w).reshape(rows, 2, 3))
    with pytest.raises(ArgumentError, match="rows is 6, and the kernel takes 1 to 5"):
        kernel(np.zeros((6, 8), np.float32), w)


@pytest.mark.quick
def test_open_dimensions_of_stablehlo_follow_from_arguments() -> None:
    with pytest.raises(ModelError, match="a dynamic shape"):
        morello.from_mlir(RESHAPED)
    with pytest.raises(ModelError, match="depends on n, which each call says"):
        morello.from_mlir(RESHAPED, ranges={"n": "1..5"})


@pytest.mark.quick
@pytest.mark.parametrize(
    ("text", "part"),
    [
        (
            "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
            "  return %x : tensor<4xf32>\n}",
            "no argument has an open dimension",
        ),
        (
            RESHAPED.replace("?x8", "?x?"),
            "argument 0 is tensor<?x?xf32>, and a call says one of its sizes",
        ),
    ],
    ids=["settled", "inside"],
)
def test_programs_of_mlir_that_are_refused(text: str, part: str) -> None:
    with pytest.raises(MorelloError) as refused:
        morello.from_mlir(text, ranges={"n": "1..5"})
    assert part in str(refused.value)


def test_a_program_of_settled_sizes_stays_as_it_is() -> None:
    model = ranged(lambda _: parts(lambda w: w + 1.0, (3, 4)), ROWS, "rows")
    assert model.tensors.size is None
    array = np.ones((3, 4), np.float32)
    kernel = morello.compile(model, threads=1)
    np.testing.assert_array_equal(kernel(array), array + 1)
