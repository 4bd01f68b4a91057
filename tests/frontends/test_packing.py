"""Constants, and weights if asked, in the layout that the search picks, copied once."""

import pickle

import numpy as np
import pytest

from morello.frontends.model import trusted_model

pytestmark = pytest.mark.usefixtures("one_database")

LAYER = """
func.func @layer(%x: tensor<6x32xf32>, %w: tensor<48x32xf32>) -> tensor<6x48xf32> {
  CONSTANT
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1]
      : (tensor<6x32xf32>, tensor<48x32xf32>) -> tensor<6x48xf32>
  %r = stablehlo.abs %y : tensor<6x48xf32>
  return %r : tensor<6x48xf32>
}
"""


def drawn(*shape: int) -> np.ndarray:
    """Small integers, whose sums of products are exact."""
    rng = np.random.default_rng(sum(shape))
    return rng.integers(-4, 5, shape).astype(np.float32)


@pytest.mark.sampled(2)
def test_constants_are_packed_once() -> None:
    x, w = drawn(6, 32), drawn(48, 32)
    constant = f"%w = stablehlo.constant dense<{w.tolist()}> : tensor<48x32xf32>"
    text = LAYER.replace(", %w: tensor<48x32xf32>", "").replace("CONSTANT", constant)
    compiled = trusted_model(text).compile(target="avx2", threads=1)
    (array,) = compiled.constants.values()
    assert array.shape != w.shape
    assert sorted(array.reshape(-1)) == sorted(w.reshape(-1))
    np.testing.assert_array_equal(compiled(x), np.abs(x @ w.T))
    plain = trusted_model(text).compile(target="avx2", threads=1, pack=False)
    (array,) = plain.constants.values()
    assert array.shape == w.shape
    np.testing.assert_array_equal(plain(x), np.abs(x @ w.T))


def test_weights_are_packed_when_they_are_known() -> None:
    model = trusted_model(LAYER.replace("CONSTANT", ""), weights=[1])
    plain = model.compile(target="avx2", threads=1)
    assert plain.held is not None
    assert not plain.held.weights
    assert plain.held.copied_bytes == 0
    compiled = model.compile(target="avx2", threads=1, pack=True)
    assert compiled.held is not None
    assert compiled.held.weights == {1}
    assert compiled.held.copied_bytes == 48 * 32 * 4
    again = pickle.loads(pickle.dumps(compiled))
    x = drawn(6, 32)
    for w in (drawn(48, 32), 2 * drawn(48, 32)):
        (array,) = compiled.held.arrays({1: w})
        assert array.shape != w.shape
        for run in (plain, compiled, again):
            np.testing.assert_array_equal(run(x, w), np.abs(x @ w.T))


CONVOLUTION = """
func.func @net(%x: tensor<1x9x7x32xf32>) -> tensor<1x4x5x32xf32> {
  %w = arith.constant CONSTANT : tensor<3x3x32x32xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x5x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x5x32xf32>)
      -> tensor<1x4x5x32xf32>
  %y = linalg.conv_2d_nhwc_hwcf {strides = dense<[2, 1]> : vector<2xi64>}
      ins(%x, %w : tensor<1x9x7x32xf32>, tensor<3x3x32x32xf32>)
      outs(%f : tensor<1x4x5x32xf32>) -> tensor<1x4x5x32xf32>
  return %y : tensor<1x4x5x32xf32>
}
"""


def convolved(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (1, 2))[:, ::2]
    return np.einsum("nhwcij,ijcf->nhwf", windows, w)


@pytest.mark.sampled(2)
def test_filters_of_a_convolution_are_packed_unasked() -> None:
    x, w = drawn(1, 9, 7, 32), drawn(3, 3, 32, 32)
    model = trusted_model(CONVOLUTION.replace("CONSTANT", f"dense<{w.tolist()}>"))
    assert [part.is_laid_out for part in model.parts] == [True]
    kernel = model.compile(target="avx2", threads=1)
    (array,) = kernel.constants.values()
    assert array.shape != w.shape
    np.testing.assert_array_equal(np.sort(array, axis=None), np.sort(w, axis=None))
    np.testing.assert_array_equal(kernel(x), convolved(x, w))
    np.testing.assert_array_equal(model.evaluate(x), convolved(x, w))


TIED = """
func.func @tied(%x: tensor<6x32xf32>, %z: tensor<6x48xf32>, %w: tensor<48x32xf32>)
    -> (tensor<6x48xf32>, tensor<6x48xf32>, tensor<48x32xf32>) {
  %n = stablehlo.negate %w : tensor<48x32xf32>
  %a = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1]
      : (tensor<6x32xf32>, tensor<48x32xf32>) -> tensor<6x48xf32>
  %b = stablehlo.dot_general %z, %w, contracting_dims = [1] x [0]
      : (tensor<6x48xf32>, tensor<48x32xf32>) -> tensor<6x32xf32>
  %c = stablehlo.dot_general %b, %w, contracting_dims = [1] x [1]
      : (tensor<6x32xf32>, tensor<48x32xf32>) -> tensor<6x48xf32>
  return %a, %c, %n : tensor<6x48xf32>, tensor<6x48xf32>, tensor<48x32xf32>
}
"""


@pytest.mark.sampled(2)
def test_weights_that_several_parts_read_are_copied_once_for_each_layout() -> None:
    model = trusted_model(TIED, weights=[2])
    compiled = model.compile(target="avx2", threads=1, pack=True)
    assert compiled.held is not None
    layouts = {
        str(packed.spec.tensors[packed.operand]) for packed in compiled.held.packed
    }
    assert len(compiled.held.packed) == len(layouts)
    assert compiled.held.copied_bytes == 48 * 32 * 4 * len(layouts) > 0
    x, z, w = drawn(6, 32), drawn(6, 48), drawn(48, 32)
    a, c, n = compiled(x, z, w)
    np.testing.assert_array_equal(a, x @ w.T)
    np.testing.assert_array_equal(c, z @ w @ w.T)
    np.testing.assert_array_equal(n, -w)
