"""`from_mlir`: programs that exporters wrote compute what NumPy does."""

import functools

import numpy as np
import pytest

import morello
from morello.compiler.kernel import Kernel
from morello.frontends.model import Model
from morello.mlir import ir
from morello.spec import Array
from tests.frontends.definitions import ATOL, DEFINITIONS, PROGRAMS, RTOL, drawn

WEIGHTED = """module {
func.func @weighted(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0],
                             [9.0, 10.0, 11.0, 12.0]]> : tensor<3x4xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = linalg.matmul ins(%x, %w : tensor<2x3xf32>, tensor<3x4xf32>)
      outs(%f : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
}
"""


COMPILED = [name for name in DEFINITIONS if name != "linalg/attention"]
"""Attention is searched for ten seconds: its parts are checked by their definition."""


@functools.cache
def model_of(name: str) -> Model:
    return morello.from_mlir(PROGRAMS / f"{name}.mlir")


@functools.cache
def compiled(name: str) -> Kernel:
    return model_of(name).compile(threads=1)


def arguments(name: str, seed: int = 0) -> list[Array]:
    inputs = [p for p in model_of(name).parameters if not p.is_output]
    return drawn(name, [p.shape for p in inputs], seed)


def assert_as_defined(name: str, result: Array, arrays: list[Array]) -> None:
    wanted = DEFINITIONS[name](*(a.astype(np.float64) for a in arrays))
    assert result.dtype == np.float32
    assert result.shape == wanted.shape
    np.testing.assert_allclose(result, wanted, rtol=RTOL, atol=ATOL)


def test_every_program_has_a_definition() -> None:
    files = PROGRAMS.glob("*/*.mlir")
    assert {f"{f.parent.name}/{f.stem}" for f in files} == set(DEFINITIONS)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", DEFINITIONS)
def test_parts_define_the_program(name: str) -> None:
    arrays = arguments(name)
    results = model_of(name).evaluate(*arrays)
    assert isinstance(results, np.ndarray)
    assert_as_defined(name, results, arrays)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", COMPILED)
def test_machine_code_computes_the_program(name: str) -> None:
    arrays = arguments(name, 1)
    assert_as_defined(name, compiled(name)(*arrays), arrays)


def test_a_second_call_has_its_own_result() -> None:
    name = "stablehlo/mlp"
    first, second = arguments(name, 2), arguments(name, 3)
    one, other = compiled(name)(*first), compiled(name)(*second)
    assert_as_defined(name, one, first)
    assert_as_defined(name, other, second)


def test_the_result_may_be_given() -> None:
    name = "linalg/softmax"
    arrays = arguments(name)
    out = np.full_like(arrays[0], np.nan)
    assert compiled(name)(*arrays, out=out) is out
    assert_as_defined(name, out, arrays)


def test_bytecode_is_the_same_program(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("bytecode") / "softmax.mlirbc"
    with ir.Context():
        module = ir.Module.parse((PROGRAMS / "linalg" / "softmax.mlir").read_text())
        with file.open("wb") as stream:
            module.operation.write_bytecode(stream)
    wanted = str(model_of("linalg/softmax"))
    assert str(morello.from_mlir(file.read_bytes())) == wanted
    assert str(morello.from_mlir(file)) == wanted


def test_constants_are_held() -> None:
    model = morello.from_mlir(WEIGHTED)
    assert [p.is_output for p in model.parameters] == [False, True]
    weighted = model.compile(threads=1)
    (weights,) = weighted.constants.values()
    np.testing.assert_array_equal(weights.reshape(3, 4), np.arange(1, 13).reshape(3, 4))
    x = np.array([[1, 0, 0], [0, 1, 2]], np.float32)
    np.testing.assert_array_equal(weighted(x), [[1, 2, 3, 4], [23, 26, 29, 32]])


def test_a_model_lists_its_parts() -> None:
    model = model_of("stablehlo/mlp")
    first, *lines = str(model).splitlines()
    assert first.startswith("main(arg0: 5x12 float32, arg1: 12x16 float32, ")
    assert first.endswith("-> out: 5x3 float32")
    assert len(lines) == len(model.parts) > 1
    for number, (line, spec) in enumerate(zip(lines, model.specs(), strict=True)):
        assert line.startswith(f"  {number}: ")
        assert f" = {spec} of " in line


def test_a_wrong_argument_is_named() -> None:
    x, *rest = arguments("linalg/layer_norm")
    with pytest.raises(morello.MorelloError, match="arg0"):
        compiled("linalg/layer_norm")(x[:, 1:].copy(), *rest)
    with pytest.raises(morello.MorelloError, match="takes 3 arrays, not 1"):
        model_of("linalg/layer_norm").evaluate(x)


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("func.func @f(", None, "is no module"),
        (b"\xff\xfe", None, "is no module"),
        (WEIGHTED, "other", "no function 'other'.*weighted"),
    ],
)
def test_what_is_no_program_is_refused(
    text: str | bytes, name: str | None, message: str
) -> None:
    with pytest.raises(morello.MorelloError, match=message):
        morello.from_mlir(text, name=name)


def test_parts_are_tuned() -> None:
    compiled = morello.from_mlir(WEIGHTED).compile(threads=1, tune=0.05)
    assert any(row.chosen for row in compiled.solutions[0].measured)
    x = np.array([[1, 0, 0], [0, 1, 2]], np.float32)
    np.testing.assert_array_equal(compiled(x), [[1, 2, 3, 4], [23, 26, 29, 32]])
