"""Convolutions of filters that are known: channels last, filters turned beforehand."""

import pickle
import re

import numpy as np
import pytest

import morello
from morello.frontends.model import trusted_model

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("one_database")]

RNG = np.random.default_rng(0)
FILTERS = RNG.standard_normal((5, 4, 3, 3)).astype(np.float32)
DEPTHWISE = RNG.standard_normal((5, 3, 3)).astype(np.float32)
IMAGE = RNG.standard_normal((1, 4, 8, 7)).astype(np.float32)


def dense(array: np.ndarray) -> str:
    kind = "x".join(map(str, array.shape))
    return f'dense<"0x{array.tobytes().hex()}"> : tensor<{kind}xf32>'


def convolution(filters: str, arguments: str = "") -> str:
    """3x3 with zeros around, a maximum, and a depthwise one with steps of 2."""
    return f"""
func.func @net(%x: tensor<1x4x8x7xf32>{arguments}) -> tensor<1x5x3x2xf32> {{
  {filters}
  %zero = arith.constant 0.0 : f32
  %pad = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {{
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  }} : tensor<1x4x8x7xf32> to tensor<1x4x10x9xf32>
  %e = tensor.empty() : tensor<1x5x8x7xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x5x8x7xf32>)
      -> tensor<1x5x8x7xf32>
  %y = linalg.conv_2d_nchw_fchw
      ins(%pad, %w : tensor<1x4x10x9xf32>, tensor<5x4x3x3xf32>)
      outs(%f : tensor<1x5x8x7xf32>) -> tensor<1x5x8x7xf32>
  %r = linalg.max ins(%y, %f : tensor<1x5x8x7xf32>, tensor<1x5x8x7xf32>)
      outs(%e : tensor<1x5x8x7xf32>) -> tensor<1x5x8x7xf32>
  %v = arith.constant {dense(DEPTHWISE)}
  %g = tensor.empty() : tensor<1x5x3x2xf32>
  %h = linalg.fill ins(%zero : f32) outs(%g : tensor<1x5x3x2xf32>)
      -> tensor<1x5x3x2xf32>
  %z = linalg.depthwise_conv_2d_nchw_chw {{strides = dense<[2, 3]> : vector<2xi64>}}
      ins(%r, %v : tensor<1x5x8x7xf32>, tensor<5x3x3xf32>)
      outs(%h : tensor<1x5x3x2xf32>) -> tensor<1x5x3x2xf32>
  return %z : tensor<1x5x3x2xf32>
}}"""


def windows(image: np.ndarray) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(image, (3, 3), (2, 3))


def convolved() -> np.ndarray:
    padded = np.pad(IMAGE.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.maximum(np.einsum("nchwij,fcij->nfhw", windows(padded), FILTERS), 0)


def wanted() -> np.ndarray:
    strided = windows(convolved())[:, :, ::2, ::3]
    return np.einsum("nchwij,cij->nchw", strided, DEPTHWISE)


CONSTANT = convolution(f"%w = arith.constant {dense(FILTERS)}")
ARGUMENT = convolution("", ", %w: tensor<5x4x3x3xf32>")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("is_constant", [True, False], ids=["constants", "weights"])
def test_filters_are_turned_beforehand(is_constant: bool) -> None:
    if is_constant:
        model, inputs = morello.from_mlir(CONSTANT), (IMAGE,)
    else:
        model, inputs = trusted_model(ARGUMENT, weights=[1]), (IMAGE, FILTERS)
    np.testing.assert_allclose(model.evaluate(*inputs), wanted(), rtol=1e-4, atol=1e-4)
    assert [part.is_laid_out for part in model.parts] == [False, True, False]
    spec = model.specs()[1]
    assert spec.startswith("compose:8x7x5x3x3x4:")  # x taps x channels
    assert "relu(v0)" in spec
    compiled = model.compile(target="avx2", threads=1)
    np.testing.assert_allclose(compiled(*inputs), wanted(), rtol=1e-4, atol=1e-4)


def test_the_maximum_is_taken_of_each_tile_of_sums() -> None:
    compiled = morello.from_mlir(CONSTANT).compile(target="avx2", threads=1)
    cuts = re.findall(
        r"morello_transform\.cut(?:_in_place)?\"\((%\w+)", compiled.schedule
    )
    assert cuts
    assert all(op.startswith(("%body", "%main")) for op in cuts)


def test_a_map_that_turns_a_result_is_apart() -> None:
    seen = CONSTANT.replace(
        "-> tensor<1x5x3x2xf32> {\n", "-> tensor<1x5x8x7xf32> {\n", 1
    )
    seen = seen.replace(
        "return %z : tensor<1x5x3x2xf32>", "return %r : tensor<1x5x8x7xf32>"
    )
    model = morello.from_mlir(seen)
    assert [part.is_laid_out for part in model.parts] == [False, True, False]
    np.testing.assert_allclose(model.evaluate(IMAGE), convolved(), rtol=1e-4, atol=1e-4)


def test_a_compiled_model_can_be_pickled() -> None:
    model = trusted_model(ARGUMENT, weights=[1])
    compiled = model.compile(target="avx2", threads=1)
    again = pickle.loads(pickle.dumps(compiled))
    assert again.object == compiled.object
    np.testing.assert_array_equal(again(IMAGE, FILTERS), compiled(IMAGE, FILTERS))


def test_filters_that_are_arguments_stay() -> None:
    model = morello.from_mlir(ARGUMENT)
    assert not any(part.is_laid_out for part in model.parts)
    result = model.evaluate(IMAGE, FILTERS)
    np.testing.assert_allclose(result, wanted(), rtol=1e-4, atol=1e-4)


def test_progress_counts_distinct_specs() -> None:
    told: list[str] = []
    model = morello.from_mlir(CONSTANT)
    model.compile(target="avx2", threads=1, time_limit=0.1, progress=told.append)
    places = [text.partition(":")[0].split(" of ") for text in told]
    # A part that has no program as a whole becomes several, which count.
    assert [int(place) for place, _ in places] == list(range(1, len(told) + 1))
    assert places[0][1] == "3"
    assert places[-1][1] == str(len(told))
