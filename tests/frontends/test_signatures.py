"""Arguments and results have the names, dtypes and signs of the source program."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import morello
from morello.errors import ArgumentError
from morello.frontends.linalg.signature import unique_name
from morello.frontends.model import Model

pytestmark = [
    pytest.mark.usefixtures("one_database"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

MLIR = {"bool": "i1", "float16": "f16", "float32": "f32", "float64": "f64"} | {
    f"{sign}int{width}": f"{sign}i{width}"
    for sign in ("", "u")
    for width in (8, 16, 32, 64)
}


def edges(dtype: str) -> Any:
    """Numbers whose upper bit differs from that of others, where there is a sign."""
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return np.array([1, limits.min, limits.max, limits.max // 2 + 1], kind)
    return np.array([0, 1, 1, 0], kind)


def by_onnx(names: Sequence[str]) -> Model:
    pytest.importorskip("onnx", reason="onnx is not installed")
    from tests.onnx.models import model, node

    nodes = []
    for name in names:
        op = ["Identity", f"{name}.in"]
        if name not in ("bool", "float16"):
            op = ["Max", f"{name}.in", f"{name}.in"]
        nodes += [
            node(op[0], op[1:], [f"{name}.out"]),
            node("Cast", [f"{name}.in"], [f"{name}.cast"], to=1),
        ]
    inputs = {f"{name}.in": np.zeros(4, name) for name in names}
    results = {f"{name}.out": np.zeros(4, name) for name in names}
    proto = model(nodes, inputs, results | {f"{name}.cast": (4,) for name in names})
    return morello.from_onnx(proto.SerializeToString(), fallback=True)


def by_stablehlo(names: Sequence[str]) -> Model:
    return from_text(
        names,
        "  %{name}.out = stablehlo.maximum %{name}.in, %{name}.in : {type}\n"
        "  %{name}.cast = stablehlo.convert %{name}.in : ({type}) -> tensor<4xf32>\n",
        ["{name}.out", "{name}.cast"],
    )


def by_linalg(names: Sequence[str]) -> Model:
    """Without casts: no op of linalg says how a signed tensor is cast."""
    return from_text(names, "", ["{name}.in"])


def from_text(names: Sequence[str], ops: str, returned: list[str]) -> Model:
    types = {name: f"tensor<4x{MLIR[name]}>" for name in names}
    arguments = ", ".join(f"%{name}.in: {kind}" for name, kind in types.items())
    lines = "".join(ops.format(name=name, type=kind) for name, kind in types.items())
    values = [
        f"%{template.format(name=name)}" for template in returned for name in names
    ]
    results = [*types.values()] + ["tensor<4xf32>"] * (len(values) - len(types))
    return morello.from_mlir(
        f"func.func @main({arguments}) -> ({', '.join(results)}) {{\n{lines}"
        f"  return {', '.join(values)} : {', '.join(results)}\n}}",
        fallback=True,
    )


def by_jax(names: Sequence[str]) -> Model:
    jax: Any = pytest.importorskip("jax", reason="jax is not installed")
    jnp = jax.numpy

    def both(*values: Any) -> Any:
        casts = [value.astype(jnp.float32) for value in values]
        return [*(jnp.maximum(value, value) for value in values), *casts]

    values = [jnp.asarray(edges(name)) for name in names]
    return morello.from_mlir(jax.jit(both).lower(*values).as_text(), fallback=True)


FRONT_ENDS: dict[str, tuple[Callable[[Sequence[str]], Model], str]] = {
    "JAX": (by_jax, "arg{place}"),
    "ONNX": (by_onnx, "{name}.in"),
    "StableHLO": (by_stablehlo, "{name}.in"),
    "linalg": (by_linalg, "{name}.in"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_the_source_program_says_names_dtypes_and_signs(front_end: str) -> None:
    read, wanted_name = FRONT_ENDS[front_end]
    names = [name for name in MLIR if front_end != "JAX" or not name.endswith("64")]
    model = read(names)
    inputs = [parameter for parameter in model.parameters if not parameter.is_output]
    assert [parameter.name for parameter in inputs] == [
        wanted_name.format(name=name, place=place) for place, name in enumerate(names)
    ]
    assert [parameter.dtype for parameter in inputs] == list(map(np.dtype, names))
    values = [edges(name) for name in names]
    results = model.compile(threads=1)(*values)
    wanted = [*values, *(value.astype(np.float32) for value in values)]
    for name, result, right in zip([*names, *names], results, wanted, strict=False):
        assert result.dtype == right.dtype, name
        np.testing.assert_array_equal(result, right, name)


def test_results_of_onnx_have_their_names() -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    from tests.onnx.models import model, node

    # Names that constants and results have here, too.
    nodes = [
        node("Add", ["constant0", "table"], ["out"]),
        node("Exp", ["constant0"], ["y/exp:0"]),
    ]
    results, table = {"out": (3,), "y/exp:0": (3,)}, np.array([1, 2, 4], np.float32)
    proto = model(nodes, {"constant0": (3,)}, results, {"table": table})
    read = morello.from_onnx(proto.SerializeToString())
    names = ["constant0_", "out_", "y/exp:0"]
    assert [parameter.name for parameter in read.parameters] == names
    x = np.array([0, -1, 2], np.float32)
    total, power = read.compile(threads=1)(**{"constant0_": x})
    np.testing.assert_array_equal(total, [1, 1, 6])
    np.testing.assert_allclose(power, np.exp(x), rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "otherwise", "taken", "wanted"),
    [
        ("", "out0", [], "out0"),
        ("out0", "out0", [], "out0"),
        ("out1", "out0", [], "out1_"),
        ("out0", "out1", [], "out0_"),
        ("", "out1", ["out1"], "out1_"),
        ("out", "out0", [], "out_"),
        ("table", "arg0", [], "table_"),
        ("constant1.0", "arg0", [], "constant1.0_"),
        ("tables", "arg0", [], "tables"),
        ("arg1", "arg0", [], "arg1"),
        ("x", "arg0", ["x", "x_"], "x__"),
        ("zeros", "arg0", ["zeros_"], "zeros__"),
    ],
)
def test_names_that_are_made_up_are_no_source_names(
    name: str, otherwise: str, taken: list[str], wanted: str
) -> None:
    assert unique_name(name, otherwise, taken) == wanted


@pytest.mark.parametrize("op", ["Cast", "DequantizeLinear", "Less"])
def test_constants_keep_their_signs(op: str) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    from tests.onnx.models import evaluated, model, node

    weights, limit = np.array([0, 127, 128, 255], np.uint8), np.full(4, 200, np.uint8)
    held = {"w": weights}
    match op:
        case "Cast":
            nodes = [node("Cast", ["w"], ["t"], to=1)]
            wanted = weights.astype(np.float32)
        case "DequantizeLinear":
            nodes = [node("DequantizeLinear", ["w", "scale", "z"], ["t"])]
            held |= {"scale": np.array(0.5, np.float32), "z": np.array(128, np.uint8)}
            wanted = (weights.astype(np.float32) - 128) / 2
        case _:
            nodes = [node("Less", ["w", "limit"], ["b"])]
            nodes.append(node("Cast", ["b"], ["t"], to=1))
            held["limit"] = limit
            wanted = (weights < limit).astype(np.float32)
    nodes.append(node("Add", ["x", "t"], ["y"]))
    x = np.array([1, 2, 3, 4], np.float32)
    result = evaluated(model(nodes, {"x": (4,)}, {"y": (4,)}, held), x)
    np.testing.assert_array_equal(result, x + wanted)


@pytest.mark.parametrize(
    ("place", "wrong", "message"),
    [
        (0, np.ones((4, 3), object), "'x' of f has elements of object and shape"),
        (0, np.ones((2, 3), np.float32), r"shape \(2, 3\); give .* shape \(4, 3\)"),
        (1, np.ones(4, np.int64), "'i' of f has elements of int64.*; give .* of int32"),
        (1, None, r"'i' of f has elements of object and shape \(\)"),
    ],
)
def test_the_definition_checks_what_it_reads(
    place: int, wrong: Any, message: str
) -> None:
    """Native code computes a part of it, which reads memory as the program has it."""
    model = morello.from_mlir(
        "func.func @f(%x: tensor<4x3xf32>, %i: tensor<4xi32>)"
        " -> (tensor<4x3xf32>, tensor<4xi32>) {\n"
        "  %j = stablehlo.add %i, %i : tensor<4xi32>\n"
        "  return %x, %j : tensor<4x3xf32>, tensor<4xi32>\n}"
    )
    arrays: list[Any] = [np.ones((4, 3), np.float32), np.arange(4, dtype=np.int32)]
    assert model.evaluate(*arrays)[1].tolist() == [0, 2, 4, 6]
    arrays[place] = wrong
    with pytest.raises(ArgumentError, match=message):
        model.evaluate(*arrays)
