"""A computation is one object, whichever way it is written: the same Spec, to the byte.

As a name, as a graph, traced from NumPy, from MLIR (StableHLO, as jax writes it) and
from ONNX. Front ends take maps of whole arrays as maps of one row.
"""

import functools
import math
from typing import Any

import numpy as np
import pytest

import morello
from morello.machine import AVX2
from morello.spec import Spec, parse_spec, print_spec
from tests.spec.computations import WAYS, Way
from tests.tables import rows

LIMITS = AVX2.limits

NAMES = [way.name for way in WAYS]


def same(spec: Spec, text: str) -> None:
    """Check that a Spec is the one that a text says, in every byte."""
    named = parse_spec(text, LIMITS)
    assert spec == named
    assert repr(spec) == repr(named)
    assert print_spec(spec, LIMITS) == print_spec(named, LIMITS)


def flat(name: str) -> str:
    """A name as front ends take it: maps in order have one row."""
    label, *_ = name.partition(":")
    spec = parse_spec(name, LIMITS)
    if (
        label != "compose"
        and spec.kind.is_map
        and all(t.layout.is_row_major for t in spec.tensors)
    ):
        return f"{label}:{math.prod(spec.sizes)}"
    return {"max:2x3x4": "max:6x4"}.get(name, name)


def jax_model(way: Way) -> Any:
    """A function as jax lowers it: StableHLO as text."""
    jax = pytest.importorskip("jax")
    arguments = [jax.ShapeDtypeStruct(shape, np.float32) for shape in way.shapes]
    function = functools.partial(way.function, jax.numpy)
    return morello.from_mlir(jax.jit(function).lower(*arguments).as_text())


def onnx_model(way: Way) -> Any:
    pytest.importorskip("onnx")
    from onnx import parser

    from tests.onnx.models import model

    nodes = [parser.parse_node(op) for op in way.ops]
    inputs = {f"x{i}": shape for i, shape in enumerate(way.shapes)}
    newest = {"Gelu", "RMSNormalization", "LayerNormalization"}
    version = 23 if newest & {node.op_type for node in nodes} else 13
    proto = model(nodes, inputs, {"y": None}, opset=version)
    return morello.from_onnx(proto.SerializeToString())


@pytest.mark.parametrize("way", WAYS, ids=NAMES)
def test_name_graph_and_function_are_one(way: Way) -> None:
    same(parse_spec(f"compose:{way.graph}", LIMITS), way.name)
    (part,) = morello.trace(functools.partial(way.function, np), *way.shapes).parts
    same(part.spec(LIMITS), flat(way.name))


@pytest.mark.sampled(9)
@pytest.mark.parametrize("way", WAYS, ids=NAMES)
def test_what_is_read_of_mlir_is_the_same(way: Way) -> None:
    parts = jax_model(way).parts
    assert (len(parts) == 1) is way.exporters
    if way.exporters:
        same(parts[0].spec(LIMITS), flat(way.name))


@pytest.mark.sampled(9)
@pytest.mark.parametrize("way", [w for w in WAYS if w.ops], ids=lambda w: w.name)
def test_what_is_read_of_onnx_is_the_same(way: Way) -> None:
    (part,) = onnx_model(way).parts
    same(part.spec(LIMITS), flat(way.name))


def test_most_computations_come_by_all_doors() -> None:
    assert sum(bool(way.ops) and way.exporters for way in WAYS) >= 25


SPELLINGS = rows(__file__, "spellings")
"""Other ways to write a computation in NumPy."""


@pytest.mark.parametrize(("name", "function", "shapes"), SPELLINGS)
def test_other_spellings_in_numpy_are_the_same(
    name: str, function: str, shapes: str
) -> None:
    (part,) = morello.trace(eval(function), *eval(shapes)).parts
    same(part.spec(LIMITS), name)


@pytest.mark.parametrize(
    ("name", "function", "shapes", "reason"), rows(__file__, "other_numbers")
)
def test_other_numbers_are_another_computation(
    name: str, function: str, shapes: str, reason: str
) -> None:
    parts = morello.trace(eval(function), *eval(shapes)).parts
    named = parse_spec(name, LIMITS)
    assert [part.spec(LIMITS) for part in parts] != [named], reason


@pytest.mark.parametrize(
    ("name", "narrow"),
    [
        ("matmul:8x16x32:f32", "f32"),
        ("matmul:8x16x32:bf16,bf16,f32", "bf16"),
        ("matmul:8x16x32:f16,f16,f32", "f16"),
    ],
)
def test_products_of_mlir_are_products(name: str, narrow: str) -> None:
    model = morello.from_mlir(f"""
func.func @f(%a: tensor<8x16x{narrow}>, %b: tensor<16x32x{narrow}>)
    -> tensor<8x32xf32> {{
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %i = linalg.fill ins(%c : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %r = linalg.matmul ins(%a, %b : tensor<8x16x{narrow}>, tensor<16x32x{narrow}>)
      outs(%i : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}}
""")
    (part,) = model.parts
    same(part.spec(LIMITS), name)
    _, sizes, dtypes = name.replace("8x16x32", "8x32x16").split(":")
    text = f"compose:{sizes}:{dtypes}:graph=y[m,n]=sum(a[m,k]*w[k,n])"
    same(parse_spec(text, LIMITS), name)


@pytest.mark.parametrize(("graph", "name"), rows(__file__, "kinds_as_graphs"))
def test_graphs_of_every_dtype_and_form_are_kinds(graph: str, name: str) -> None:
    same(parse_spec(f"compose:{graph}", LIMITS), name)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("8x32x16:f32:graph=y[m,n]=sum(w[k,n]*a[m,k])", "the arguments in this order"),
        ("5x4:f32,bf16:graph=y[n,m]=x[m,n]", "a graph rounds NaN in another way"),
        ("5x4:f32:graph=y[m,n]=x[m,n]", "the kernels of graphs are as quick"),
        ("8x32:f32:graph=y[n]=sum(a[k]*w[k,n])", "no axis is added to an argument"),
        ("1x32x16:f32:graph=y[m,n]=sum(a[m,k]*w[k,n])", "a row has kernels of graphs"),
    ],
)
def test_what_calls_would_see_stays_a_graph(text: str, reason: str) -> None:
    assert parse_spec(f"compose:{text}", LIMITS).kind.as_graph is not None, reason
