"""Places, masks and tables that exporters compute of indices, and empty tensors."""

from collections.abc import Callable

import numpy as np
import pytest

import morello
from tests.tables import rows

pytestmark = pytest.mark.quick

X = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)


def stablehlo(body: str, shape: str) -> str:
    kind = f"tensor<{shape}xf32>"
    head = f"func.func @f(%x: tensor<4x6xf32>) -> {kind} {{"
    return f"{head}\n{body}\nreturn %r : {kind}\n}}"


def linalg(body: str, shape: str, read: str = "") -> str:
    """An element for each index of a shape of rank 2, as `%v`."""
    kind = f"tensor<{shape}xf32>"
    same = "affine_map<(d0, d1) -> (d0, d1)>"
    inputs = "ins(%x : tensor<4x6xf32>)" if read else ""
    maps = f"[{same}, {same}]" if read else f"[{same}]"
    argument = "%in: f32, " if read else ""
    return f"""func.func @f(%x: tensor<4x6xf32>) -> {kind} {{
  %e = tensor.empty() : {kind}
  %r = linalg.generic {{indexing_maps = {maps},
      iterator_types = ["parallel", "parallel"]}} {inputs} outs(%e : {kind}) {{
  ^bb0({argument}%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
{body}
    linalg.yield %v : f32
  }} -> {kind}
  return %r : {kind}
}}"""


def angles(x: np.ndarray) -> np.ndarray:
    rows = np.arange(4)[:, None] * np.arange(6)[None] * 0.1
    return x * np.cos(rows)


def counts(x: np.ndarray) -> np.ndarray:
    """Each divided by how many of it and its neighbours there are."""
    return x / np.minimum(np.minimum(np.arange(6) + 2, 3), 7 - np.arange(6))


DIVIDED = (
    "%s = tensor.expand_shape %x [[0], [1, 2]] output_shape [4, 2, 3] : "
    "tensor<4x6xf32> into tensor<4x2x3xf32>\n  %e = "
)

PROGRAMS = {name: line for name, *line in rows(__file__, "known_places")}
"""The function that writes each program, the result's shape, lines, NumPy's code."""

WAYS: dict[str, Callable[[str, str], str]] = {
    "stablehlo": stablehlo,
    "indices": linalg,
    "read": lambda body, shape: linalg(body, shape, read="%x"),
    "divided": lambda body, shape: linalg(body, shape).replace("%e = ", DIVIDED),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_known_beforehand_is_no_op(name: str) -> None:
    way, shape, body, wanted = PROGRAMS[name]
    text = WAYS[way](body.replace("; ", "\n"), shape)
    result = morello.from_mlir(text).evaluate(X)
    right = eval(wanted, globals(), {"x": X})
    np.testing.assert_allclose(result, right, rtol=2e-6, atol=0)


def test_a_sum_of_nothing_is_its_start() -> None:
    text = """func.func @f(%x: tensor<4x6xf32>) -> tensor<4xf32> {
  %z = stablehlo.constant dense<3.0> : tensor<f32>
  %e = stablehlo.slice %x [0:4, 2:2] : (tensor<4x6xf32>) -> tensor<4x0xf32>
  %r = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1]
      : (tensor<4x0xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}"""
    assert (morello.from_mlir(text).evaluate(X) == 3).all()


def test_expressions_that_double_stay_small() -> None:
    """Each is read twice by the next: written out they were 2^16 operations."""
    lines = [
        f"%{n + 1} = stablehlo.tanh %{n} : tensor<4x6xf32>\n"
        f"%{n + 2} = stablehlo.multiply %{n}, %{n + 1} : tensor<4x6xf32>"
        for n in range(0, 32, 2)
    ]
    text = stablehlo("\n".join(lines), "4x6").replace("%0", "%x").replace("%r", "%32")
    wanted = X.astype(np.float64)
    for _ in lines:
        wanted = wanted * np.tanh(wanted)
    model = morello.from_mlir(text)
    np.testing.assert_allclose(model.evaluate(X), wanted, rtol=1e-4, atol=1e-12)


def test_a_tensor_that_a_body_makes_is_refused() -> None:
    body = DIVIDED.partition("\n")[0]
    text = linalg(
        f"%c0 = arith.constant 0 : index\n{body}\n"
        "%v = tensor.extract %s[%i, %c0, %c0] : tensor<4x2x3xf32>",
        "4x6",
    )
    with pytest.raises(
        morello.MorelloError, match=r"tensor.extract: it reads a tensor"
    ):
        morello.from_mlir(text)


def test_tensors_that_no_graph_reads_are_read_backwards_and_joined() -> None:
    kinds = {"ui8": np.uint8, "i16": np.int16, "i64": np.int64, "f64": np.float64}
    names = {kind: f"%{kind}" for kind in kinds}
    arguments = ", ".join(f"{name}: tensor<2x3x{kind}>" for kind, name in names.items())
    body = "".join(
        f"""  %r{kind} = stablehlo.reverse {name}, dims = [1] : tensor<2x3x{kind}>
  %n{kind} = stablehlo.slice {name} [0:0, 0:3]
      : (tensor<2x3x{kind}>) -> tensor<0x3x{kind}>
  %j{kind} = stablehlo.concatenate %r{kind}, %n{kind}, {name}, dim = 0
      : (tensor<2x3x{kind}>, tensor<0x3x{kind}>, tensor<2x3x{kind}>)
      -> tensor<4x3x{kind}>
"""
        for kind, name in names.items()
    )
    results = ", ".join(f"tensor<4x3x{kind}>" for kind in kinds)
    values = ", ".join(f"%j{kind}" for kind in kinds)
    text = f"func.func @f({arguments}) -> ({results}) {{\n{body}"
    kernel = morello.from_mlir(f"{text}  return {values} : {results}\n}}").compile()
    arrays = [np.arange(6, dtype=dtype).reshape(2, 3) for dtype in kinds.values()]
    for array, result in zip(arrays, kernel(*arrays), strict=True):
        np.testing.assert_array_equal(
            result, np.concatenate([array[:, ::-1], array]), strict=True
        )


def test_integers_that_became_floats_are_reversed() -> None:
    text = """func.func @f(%x: tensor<3x5xi32>) -> tensor<3x5xf32> {
      %a = stablehlo.convert %x : (tensor<3x5xi32>) -> tensor<3x5xf32>
      %b = stablehlo.reverse %a, dims = [0, 1] : tensor<3x5xf32>
      %r = stablehlo.add %a, %b : tensor<3x5xf32>
      return %r : tensor<3x5xf32>
    }"""
    x = np.arange(-4, 11, dtype=np.int32).reshape(3, 5) ** 3
    y = morello.from_mlir(text).compile(threads=1)(x)
    np.testing.assert_array_equal(y, (x + x[::-1, ::-1]).astype(np.float32))
