"""Kernels of models and of traced functions: the same class, by the same function."""

import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morello
from morello.errors import ArgumentError, CompileError

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("one_database")]

TWO_PRODUCTS = """
func.func @two(%x: tensor<3x4xf32>, %v: tensor<2x5xf32>) -> tensor<3x5xf32> {
  %w = stablehlo.constant dense<[[1.0, 2.0], [3.0, -4.0], [5.0, 6.0], [7.0, 8.0]]>
      : tensor<4x2xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %z = stablehlo.dot_general %y, %v, contracting_dims = [1] x [0]
      : (tensor<3x2xf32>, tensor<2x5xf32>) -> tensor<3x5xf32>
  return %z : tensor<3x5xf32>
}
"""
W = np.array([[1, 2], [3, -4], [5, 6], [7, 8]], np.float32)
X = np.arange(-6, 6, dtype=np.float32).reshape(3, 4)
V = np.arange(10, dtype=np.float32).reshape(2, 5) - 4


@pytest.fixture(scope="module")
def kernel() -> morello.Kernel:
    return morello.compile(morello.from_mlir(TWO_PRODUCTS), target="avx2", threads=1)


def test_the_kernel_of_a_model_is_a_kernel(kernel: morello.Kernel) -> None:
    assert isinstance(kernel, morello.Kernel)
    assert len(kernel.specs) == len(kernel.solutions) == 2
    assert kernel.cost() == sum(s.impl.cost for s in kernel.solutions if s)
    assert [*map(np.shape, kernel.constants.values())] == [(4, 2)]
    assert "two, a model of 2 parts" in repr(kernel)
    np.testing.assert_array_equal(kernel(X, V), X @ W @ V)


def test_its_signature_has_no_constants(kernel: morello.Kernel) -> None:
    names = [*inspect.signature(kernel).parameters]
    assert names == ["x", "v", "out"]


def test_it_is_bound_called_by_names_and_pickled(kernel: morello.Kernel) -> None:
    out = np.zeros((3, 5), np.float32)
    bound = kernel.bind(X, V, out)
    again = pickle.loads(pickle.dumps(kernel))
    for result in (bound(), again(x=X, v=V), again(X, v=V, out=out)):
        np.testing.assert_array_equal(result, X @ W @ V)
    with pytest.raises(ArgumentError, match="'v'"):
        kernel(X, V.T)


def test_one_spec_is_asked_of_several(kernel: morello.Kernel) -> None:
    for ask in (lambda: kernel.spec, lambda: kernel.solution, lambda: kernel.pack(X)):
        with pytest.raises(CompileError, match=r"has 2 Specs, not one.*Kernel\.specs"):
            ask()


def test_a_schedule_is_for_one_spec() -> None:
    with pytest.raises(CompileError, match="one Spec, and a program"):
        morello.compile(morello.from_mlir(TWO_PRODUCTS), schedule="module {}")


def test_a_trace_is_compiled() -> None:
    traced = morello.trace(lambda a, b: np.maximum(a @ b, 0), (3, 4), (4, 2))
    kernel = morello.compile(traced, target="avx2", threads=1)
    np.testing.assert_array_equal(kernel(X, W), np.maximum(X @ W, 0))
    by_text = morello.compile(*traced.specs("avx2"), target="avx2", threads=1)
    assert by_text.spec == kernel.spec


BETWEEN: dict[str, Callable[[Any, Any], Any]] = {
    "nothing": lambda s, m: s,
    "a mask after": lambda s, m: s + m,
    "a mask before": lambda s, m: m + s,
    "masks on both sides": lambda s, m: m * (s + m) - m,
    "a choice": lambda s, m: np.where(m > 0, s, -np.inf),
}


@pytest.mark.parametrize("divided", ["powers", "result"])
@pytest.mark.parametrize("name", BETWEEN)
def test_two_products_and_what_is_between_them_are_one_spec(
    name: str, divided: str
) -> None:
    def heads(q: Any, k: Any, v: Any, m: Any) -> Any:
        scores = BETWEEN[name](q @ k.T, m)
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        total = powers.sum(-1, keepdims=True)
        return (powers / total) @ v if divided == "powers" else (powers @ v) / total

    (text,) = morello.trace(heads, (6, 4), (5, 4), (5, 3), (6, 5)).specs("avx2")
    assert text.startswith("compose:6x5x4x3:f32:graph=")
    assert text.count("sum(") == 3
