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
        "matmul:8x16x32",
        "8x32x16:f32:graph=y[m,n]=sum(a[m,k]*w[k,n])",
        np.matmul,
        ((8, 16), (16, 32)),
    ),
    (
        "matmul:8x16x32:f32:rhs=[0,2,1]",
        "8x32x16:f32:graph=y[m,n]=sum(a[m,k]*w[n,k])",
        lambda a, w: a @ w.T,
        ((8, 16), (32, 16)),
    ),
    (
        "matmul:3x8x16x32",
        "3x8x32x16:f32:graph=y[b,m,n]=sum(a[b,m,k]*w[b,k,n])",
        np.matmul,
        ((3, 8, 16), (3, 16, 32)),
    ),
    (
        "move:8x33:f32:dst=[1,0]",
        "33x8:f32:graph=y[n,m]=x[m,n]",
        lambda x: x.T.copy(),
        ROWS,
    ),
    (
        "chain:4x5x6x7",
        "4x6x5x7:f32:graph=t[m,j]=sum(a[m,k]*b[k,j]);y[m,n]=sum(t*c[j,n])",
        lambda a, b, c: a @ b @ c,
        ((4, 5), (5, 6), (6, 7)),
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
    if spec.kind.is_map and all(t.layout.is_row_major for t in spec.tensors):
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
    graph = name.replace("8x16x32", "8x32x16")
    _, sizes, dtypes = graph.split(":")
    text = f"compose:{sizes}:{dtypes}:graph=y[m,n]=sum(a[m,k]*w[k,n])"
    same(parse_spec(text, LIMITS), name)


@pytest.mark.parametrize(
    ("graph", "name"),
    [
        (
            "8x32x16:u8,s8,s32:graph=y[m,n]=sum(a[m,k]*w[k,n])",
            "matmul:8x16x32:u8,s8,s32",
        ),
        (
            "8x32x16:s32:graph=out y[m,n]+=sum(a[m,k]*w[k,n])",
            "matmul_accum:8x16x32:s32",
        ),
        ("4x2x6x5:f32:graph=y[m,b,n]=sum(a[m,b,k]*w[n,b,k])", ""),
        ("5x4:bf16,f32:graph=y[n,m]=x[m,n]", "move:4x5:bf16,f32:dst=[1,0]"),
        ("5x4:s8:graph=y[m,n]=x[m,n]", "move:5x4:s8"),
        (
            "1..8x32x16:f32:graph=y[m,n]=sum(a[m,k]*w[k,n])",
            "matmul:1..8x16x32:f32",
        ),
        (
            "8x32x16:f32:graph=y[m,n]=sum(a[m,k]*w[n,k]):x0=ld20:x1=[0,1]/ld17",
            "matmul:8x16x32:f32:lhs=ld20:rhs=[0,2,1]/ld17",
        ),
    ],
)
def test_graphs_of_every_dtype_and_form_are_kinds(graph: str, name: str) -> None:
    wanted = name or "matmul:2x4x5x6:f32:lhs=[1,0,2]:rhs=[2,0,1]:out=[1,0,2]"
    same(parse_spec(f"compose:{graph}", LIMITS), wanted)


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


@pytest.mark.parametrize(
    ("name", "op", "shapes", "attributes"),
    [
        ("exp:264", "Exp", [[8, 33]], {}),
        ("add:264", "Add", [[8, 33]] * 2, {}),
        ("max:8x33", "ReduceMax", [[8, 33]], {"axes": [1], "keepdims": 0}),
        ("softmax:8x33", "Softmax", [[8, 33]], {}),
        ("move:8x33:f32:dst=[1,0]", "Transpose", [[8, 33]], {}),
        ("matmul:8x16x32", "MatMul", [[8, 16], [16, 32]], {}),
        (
            "matmul:8x16x32:f32:rhs=[0,2,1]",
            "Gemm",
            [[8, 16], [32, 16]],
            {"transB": 1},
        ),
        ("matmul:3x8x16x32", "MatMul", [[3, 8, 16], [3, 16, 32]], {}),
        ("conv:1x4x8x8x6x3x3", "Conv", [[1, 4, 8, 8], [6, 4, 3, 3]], {}),
    ],
)
def test_what_is_read_of_onnx_is_the_same(
    name: str, op: str, shapes: list[list[int]], attributes: dict[str, Any]
) -> None:
    onnx = pytest.importorskip("onnx")
    helper, f32 = onnx.helper, onnx.TensorProto.FLOAT
    names = [f"x{i}" for i in range(len(shapes))]
    pairs = zip(names, shapes, strict=True)
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"], **attributes)],
        "g",
        [helper.make_tensor_value_info(n, f32, shape) for n, shape in pairs],
        [helper.make_tensor_value_info("y", f32, None)],
    )
    opset = helper.make_opsetid("", 13)
    proto = helper.make_model(graph, opset_imports=[opset])
    model = morello.from_onnx(proto.SerializeToString())
    (part,) = model.parts
    same(part.spec(LIMITS), name)
