"""A computation is one object, whichever way it is written: the same Spec, to the byte.

Front ends take maps of whole arrays as maps of one row.

As a name, as a graph, traced from NumPy, from MLIR and from ONNX.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morello
from morello.machine import AVX2
from morello.spec import Spec, parse_spec, print_spec

LIMITS = AVX2.limits
ROWS, SQUARE = ((8, 33),), ((8, 33), (8, 33))

WAYS: list[tuple[str, str, Callable[..., Any], tuple[tuple[int, ...], ...]]] = [
    ("exp:8x33", "8x33:f32:graph=y[m,n]=exp(x[m,n])", np.exp, ROWS),
    ("log:8x33", "8x33:f32:graph=y[m,n]=log(x[m,n])", np.log, ROWS),
    ("sqrt:8x33", "8x33:f32:graph=y[m,n]=sqrt(x[m,n])", np.sqrt, ROWS),
    ("tanh:8x33", "8x33:f32:graph=y[m,n]=tanh(x[m,n])", np.tanh, ROWS),
    ("neg:8x33", "8x33:f32:graph=y[m,n]=-x[m,n]", np.negative, ROWS),
    ("abs:8x33", "8x33:f32:graph=y[m,n]=abs(x[m,n])", np.abs, ROWS),
    ("square:8x33", "8x33:f32:graph=y[m,n]=square(x[m,n])", np.square, ROWS),
    ("exp:40", "40:f32:graph=y[m]=exp(x[m])", np.exp, ((40,),)),
    ("exp:2x3x4", "2x3x4:f32:graph=y[a,b,c]=exp(x[a,b,c])", np.exp, ((2, 3, 4),)),
    ("add:8x33", "8x33:f32:graph=y[m,n]=a[m,n]+b[m,n]", np.add, SQUARE),
    ("sub:8x33", "8x33:f32:graph=y[m,n]=a[m,n]-b[m,n]", np.subtract, SQUARE),
    ("mul:8x33", "8x33:f32:graph=y[m,n]=a[m,n]*b[m,n]", np.multiply, SQUARE),
    ("div:8x33", "8x33:f32:graph=y[m,n]=a[m,n]/b[m,n]", np.divide, SQUARE),
    ("maximum:8x33", "8x33:f32:graph=y[m,n]=max(a[m,n],b[m,n])", np.maximum, SQUARE),
    ("minimum:8x33", "8x33:f32:graph=y[m,n]=min(a[m,n],b[m,n])", np.minimum, SQUARE),
    ("max:8x33", "8x33:f32:graph=y[m]=max(x[m,n])", lambda x: x.max(axis=1), ROWS),
    ("min:8x33", "8x33:f32:graph=y[m]=min(x[m,n])", lambda x: x.min(axis=1), ROWS),
    ("sum:8x33", "8x33:f32:graph=y[m]=sum(x[m,n])", lambda x: x.sum(axis=1), ROWS),
    (
        "sum:8x33:f32:axis=0",
        "33x8:f32:graph=y[n]=sum(x[m,n])",
        lambda x: x.sum(axis=0),
        ROWS,
    ),
    (
        "max:2x3x4",
        "2x3x4:f32:graph=y[a,b]=max(x[a,b,c])",
        lambda x: x.max(axis=2),
        ((2, 3, 4),),
    ),
    (
        "residual_matmul:8x16x32",
        "8x32x16:f32:graph=t[m,n]=sum(a[m,k]*w[k,n]);y[m,n]=t+c[m,n]",
        lambda a, w, c: a @ w + c,
        ((8, 16), (16, 32), (8, 32)),
    ),
]


def same(spec: Spec, text: str) -> None:
    """Check that a Spec is the one that a text says, in every byte."""
    named = parse_spec(text, LIMITS)
    assert spec == named
    assert repr(spec) == repr(named)
    assert print_spec(spec, LIMITS) == print_spec(named, LIMITS)


@pytest.mark.parametrize(("name", "graph", "function", "shapes"), WAYS)
def test_name_graph_and_function_are_one(
    name: str, graph: str, function: Callable[..., Any], shapes: tuple[Any, ...]
) -> None:
    (part,) = morello.trace(function, *shapes).parts
    spec = parse_spec(name, LIMITS)
    label, *_ = name.partition(":")
    *rows, last = spec.sizes
    flat = {"max:2x3x4": "max:6x4"}.get(name, name)
    if spec.kind.is_map:
        flat = f"{label}:{math.prod(rows) * last}"
    same(part.spec(LIMITS), flat)
    same(parse_spec(f"compose:{graph}", LIMITS), name)


def generic(body: str, inputs: int, reduces: bool) -> str:
    """A function of linalg on arrays of 8 x 33, along whose rows it may reduce."""
    row = "affine_map<(m, n) -> (m, n)>"
    out, kind = ("(m, n) -> (m)", "8") if reduces else ("(m, n) -> (m, n)", "8x33")
    names = [f"%x{i}" for i in range(inputs)]
    types = ", ".join(["tensor<8x33xf32>"] * inputs)
    maps = ", ".join([*[row] * inputs, f"affine_map<{out}>"])
    last = "reduction" if reduces else "parallel"
    values = ", ".join(f"%a{i}: f32" for i in range(inputs))
    first = {"max": "0xFF800000", "sum": "0.0"}.get(body.split()[0], "0.0")
    code = body.split(maxsplit=1)[1]
    return f"""
func.func @f({", ".join(f"{n}: tensor<8x33xf32>" for n in names)}) -> tensor<{kind}xf32>
{{
  %c = arith.constant {first} : f32
  %e = tensor.empty() : tensor<{kind}xf32>
  %i = linalg.fill ins(%c : f32) outs(%e : tensor<{kind}xf32>) -> tensor<{kind}xf32>
  %r = linalg.generic {{indexing_maps = [{maps}],
      iterator_types = ["parallel", "{last}"]}}
      ins({", ".join(names)} : {types}) outs(%i : tensor<{kind}xf32>) {{
  ^bb0({values}, %o: f32):
    %v = {code} : f32
    linalg.yield %v : f32
  }} -> tensor<{kind}xf32>
  return %r : tensor<{kind}xf32>
}}
"""


@pytest.mark.parametrize(
    ("name", "body", "inputs", "reduces"),
    [
        ("exp:264", "map math.exp %a0", 1, False),
        ("add:264", "map arith.addf %a0, %a1", 2, False),
        ("mul:264", "map arith.mulf %a0, %a1", 2, False),
        ("max:8x33", "max arith.maximumf %a0, %o", 1, True),
        ("sum:8x33", "sum arith.addf %a0, %o", 1, True),
    ],
)
def test_what_is_read_of_mlir_is_the_same(
    name: str, body: str, inputs: int, reduces: bool
) -> None:
    model = morello.from_mlir(generic(body, inputs, reduces))
    (part,) = model.parts
    same(part.spec(LIMITS), name)


@pytest.mark.parametrize(
    ("name", "op", "inputs", "attributes"),
    [
        ("exp:264", "Exp", 1, {}),
        ("add:264", "Add", 2, {}),
        ("max:8x33", "ReduceMax", 1, {"axes": [1], "keepdims": 0}),
    ],
)
def test_what_is_read_of_onnx_is_the_same(
    name: str, op: str, inputs: int, attributes: dict[str, Any]
) -> None:
    onnx = pytest.importorskip("onnx")
    helper, f32 = onnx.helper, onnx.TensorProto.FLOAT
    names = [f"x{i}" for i in range(inputs)]
    shape = [8] if attributes else [8, 33]
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"], **attributes)],
        "g",
        [helper.make_tensor_value_info(n, f32, [8, 33]) for n in names],
        [helper.make_tensor_value_info("y", f32, shape)],
    )
    opset = helper.make_opsetid("", 13)
    proto = helper.make_model(graph, opset_imports=[opset])
    model = morello.from_onnx(proto.SerializeToString())
    (part,) = model.parts
    same(part.spec(LIMITS), name)
