"""A computation is one object, whichever way it is written: the same Spec, to the byte.

As a name, as a graph, traced from NumPy, from MLIR (StableHLO, as jax writes it) and
from ONNX. Front ends take maps of whole arrays as maps of one row. Exporters and NumPy
divide by sums and roots; front ends multiply by the inverse, up to rounding, and so
does the graph that a name is.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morello
from morello.machine import AVX2
from morello.spec import Spec, parse_spec, print_spec

LIMITS = AVX2.limits

Shape = tuple[int, ...]
Op = tuple[str, str, str, dict[str, Any]]
"""A node of ONNX: its name, inputs, outputs, attributes."""


@dataclasses.dataclass(frozen=True)
class Way:
    """One computation by each door."""

    name: str
    graph: str
    function: Callable[..., Any]
    """On arrays of a module that has the names of NumPy, which is the first
    argument."""
    shapes: tuple[Shape, ...]
    ops: tuple[Op, ...] = ()
    """Nodes of ONNX; none where it cannot say this."""
    exporters: bool = True
    """Whether other front ends than jit take it as one part."""


def softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def log_softmax(xp: Any, x: Any) -> Any:
    m = x.max(-1, keepdims=True)
    return x - (m + xp.log(xp.exp(x - m).sum(-1, keepdims=True)))


def layer_norm(xp: Any, x: Any, g: Any, b: Any) -> Any:
    u, v = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - u) / xp.sqrt(v + 1e-5) * g + b


def rms_norm(xp: Any, x: Any, g: Any) -> Any:
    return x / xp.sqrt(xp.mean(x**2, -1, keepdims=True) + 1e-5) * g


def gelu(xp: Any, x: Any) -> Any:
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + xp.tanh(inner))


def attention(xp: Any, q: Any, k: Any, v: Any) -> Any:
    scores = q @ xp.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    return softmax(xp, scores) @ v


def windows(xp: Any, x: Any, taps: int, step: int = 1) -> Any:
    """Windows of the last two axes, which come last."""
    if xp is np:
        every = np.lib.stride_tricks.sliding_window_view(x, (taps, taps), (-2, -1))
        return every[..., ::step, ::step, :, :]
    count = (x.shape[-1] - taps) // step + 1
    place = step * np.arange(count)[:, None] + np.arange(taps)
    return xp.swapaxes(x[..., place, :][..., place], -3, -2)


def conv(xp: Any, x: Any, w: Any, step: int = 1, pad: int = 0) -> Any:
    if xp is np:
        x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)]) if pad else x
        return np.einsum("nchwij,fcij->nfhw", windows(xp, x, 3, step), w)
    from jax import lax

    return lax.conv_general_dilated(x, w, (step, step), [(pad, pad)] * 2)


def max_pool(xp: Any, x: Any) -> Any:
    if xp is np:
        return windows(xp, x, 2, 2).max((-2, -1))
    from jax import lax

    sizes = (1, 1, 2, 2)
    return lax.reduce_window(x, -np.inf, lax.max, sizes, sizes, "VALID")


def mean_pool(xp: Any, x: Any) -> Any:
    if xp is np:
        return windows(xp, x, 2, 2).mean((-2, -1))
    from jax import lax

    sizes = (1, 1, 2, 2)
    return lax.reduce_window(x, 0.0, lax.add, sizes, sizes, "VALID") / 4


def one(op: str, count: int = 1, **attributes: Any) -> tuple[Op, ...]:
    """One op of ONNX, which reads all inputs."""
    return ((op, " ".join(f"x{i}" for i in range(count)), "y", attributes),)


def function_way(
    name: str, code: str, function: Callable[..., Any], ops: tuple[Op, ...]
) -> Way:
    """A function of each element of arrays of 8 x 33."""
    count = 2 if "b[" in code else 1
    graph = f"8x33:f32:graph=y[m,n]={code}"
    return Way(f"{name}:8x33", graph, function, ((8, 33),) * count, ops)


MM, IMAGE = ((8, 16), (16, 32)), ((1, 4, 8, 8), (6, 4, 3, 3))
HEADS = ((2, 5, 7), (2, 6, 7), (2, 6, 9))
GELU = "t[m,n]=sum(a[m,k]*w[k,n]);y[m,n]=gelu(t+c[n])"
BIAS: tuple[Op, ...] = (("MatMul", "x0 x1", "t", {}), ("Add", "t x2", "u", {}))
LOW = "maximum(m,-3.4028234663852886e38)"
N33, ROOT7 = repr(1 / 33), repr(1 / math.sqrt(7))

WAYS = [
    function_way("exp", "exp(a[m,n])", lambda xp, x: xp.exp(x), one("Exp")),
    function_way("log", "log(a[m,n])", lambda xp, x: xp.log(x), one("Log")),
    function_way("sqrt", "sqrt(a[m,n])", lambda xp, x: xp.sqrt(x), one("Sqrt")),
    function_way("tanh", "tanh(a[m,n])", lambda xp, x: xp.tanh(x), one("Tanh")),
    function_way("neg", "-a[m,n]", lambda xp, x: -x, one("Neg")),
    function_way("abs", "abs(a[m,n])", lambda xp, x: xp.abs(x), one("Abs")),
    function_way(
        "square",
        "square(a[m,n])",
        lambda xp, x: x * x,
        (("Mul", "x0 x0", "y", {}),),
    ),
    function_way("relu", "relu(a[m,n])", lambda xp, x: xp.maximum(x, 0), one("Relu")),
    function_way(
        "sigmoid",
        "sigmoid(a[m,n])",
        lambda xp, x: 1 / (1 + xp.exp(-x)),
        one("Sigmoid"),
    ),
    function_way(
        "silu",
        "silu(a[m,n])",
        lambda xp, x: x / (1 + xp.exp(-x)),
        (("Sigmoid", "x0", "t", {}), ("Mul", "x0 t", "y", {})),
    ),
    function_way("gelu", "gelu(a[m,n])", gelu, one("Gelu", approximate="tanh")),
    function_way("add", "a[m,n]+b[m,n]", lambda xp, a, b: a + b, one("Add", 2)),
    function_way("sub", "a[m,n]-b[m,n]", lambda xp, a, b: a - b, one("Sub", 2)),
    function_way("mul", "a[m,n]*b[m,n]", lambda xp, a, b: a * b, one("Mul", 2)),
    function_way("div", "a[m,n]/b[m,n]", lambda xp, a, b: a / b, one("Div", 2)),
    function_way(
        "maximum",
        "max(a[m,n],b[m,n])",
        lambda xp, a, b: xp.maximum(a, b),
        one("Max", 2),
    ),
    function_way(
        "minimum",
        "min(a[m,n],b[m,n])",
        lambda xp, a, b: xp.minimum(a, b),
        one("Min", 2),
    ),
    Way(
        "exp:2x3x4",
        "2x3x4:f32:graph=y[a,b,c]=exp(x[a,b,c])",
        lambda xp, x: xp.exp(x),
        ((2, 3, 4),),
        one("Exp"),
    ),
    Way(
        "max:8x33",
        "8x33:f32:graph=y[m]=max(x[m,n])",
        lambda xp, x: x.max(axis=1),
        ((8, 33),),
        one("ReduceMax", axes=[1], keepdims=0),
    ),
    Way(
        "min:8x33",
        "8x33:f32:graph=y[m]=min(x[m,n])",
        lambda xp, x: x.min(axis=1),
        ((8, 33),),
        one("ReduceMin", axes=[1], keepdims=0),
    ),
    Way(
        "sum:8x33",
        "8x33:f32:graph=y[m]=sum(x[m,n])",
        lambda xp, x: x.sum(axis=1),
        ((8, 33),),
        (
            ("Constant", "", "axes", {"value_ints": [1]}),
            ("ReduceSum", "x0 axes", "y", {"keepdims": 0}),
        ),
    ),
    Way(
        "sum:8x33:f32:axis=0",
        "33x8:f32:graph=y[n]=sum(x[m,n])",
        lambda xp, x: x.sum(axis=0),
        ((8, 33),),
        (
            ("Constant", "", "axes", {"value_ints": [0]}),
            ("ReduceSum", "x0 axes", "y", {"keepdims": 0}),
        ),
    ),
    Way(
        "max:2x3x4",
        "2x3x4:f32:graph=y[a,b]=max(x[a,b,c])",
        lambda xp, x: x.max(axis=2),
        ((2, 3, 4),),
        one("ReduceMax", axes=[2], keepdims=0),
    ),
    Way(
        "matmul:8x16x32",
        "8x32x16:f32:graph=y[m,n]=sum(a[m,k]*w[k,n])",
        lambda xp, a, w: a @ w,
        MM,
        one("MatMul", 2),
    ),
    Way(
        "matmul:8x16x32:f32:rhs=[0,2,1]",
        "8x32x16:f32:graph=y[m,n]=sum(a[m,k]*w[n,k])",
        lambda xp, a, w: a @ w.T,
        ((8, 16), (32, 16)),
        one("Gemm", 2, transB=1),
    ),
    Way(
        "matmul:3x8x16x32",
        "3x8x32x16:f32:graph=y[b,m,n]=sum(a[b,m,k]*w[b,k,n])",
        lambda xp, a, w: a @ w,
        ((3, 8, 16), (3, 16, 32)),
        one("MatMul", 2),
    ),
    Way(
        "move:8x33:f32:dst=[1,0]",
        "33x8:f32:graph=y[n,m]=x[m,n]",
        lambda xp, x: x.T.copy(),
        ((8, 33),),
        one("Transpose"),
    ),
    Way(  # of two products: others store the value between them
        "chain:4x5x6x7",
        "4x6x5x7:f32:graph=t[m,j]=sum(a[m,k]*b[k,j]);y[m,n]=sum(t*c[j,n])",
        lambda xp, a, b, c: a @ b @ c,
        ((4, 5), (5, 6), (6, 7)),
        exporters=False,
    ),
    Way(
        "residual_matmul:8x16x32",
        "8x32x16:f32:graph=t[m,n]=sum(a[m,k]*w[k,n]);y[m,n]=t+c[m,n]",
        lambda xp, a, w, c: a @ w + c,
        (*MM, (8, 32)),
        (("MatMul", "x0 x1", "t", {}), ("Add", "t x2", "y", {})),
    ),
    Way(
        "gelu_matmul:8x16x32",
        f"8x32x16:f32:graph={GELU}",
        lambda xp, a, w, c: gelu(xp, a @ w + c),
        (*MM, (32,)),
        (*BIAS, ("Gelu", "u", "y", {"approximate": "tanh"})),
    ),
    Way(
        "softmax:8x33",
        f"8x33:f32:graph=m[r]=max(x[r,n]);p[r,n]=exp(x-{LOW});l[r]=sum(p);"
        "i[r]=1.0/l;y[r,n]=p*i",
        softmax,
        ((8, 33),),
        one("Softmax"),
    ),
    Way(  # that of ONNX is (x - m) - log(l), which rounds in another way
        "log_softmax:8x33",
        f"8x33:f32:graph=m[r]=max(x[r,n]);p[r,n]=exp(x-{LOW});l[r]=sum(p);"
        "z[r]=m+log(l);y[r,n]=x-z",
        log_softmax,
        ((8, 33),),
    ),
    Way(
        "layer_norm:8x33",
        f"8x33:f32:graph=s[r]=sum(x[r,n]);c[r,n]=x-s*{N33};q[r]=sum(square(c));"
        f"w[r]=rsqrt(q*{N33}+1e-5);y[r,n]=c*w*g[n]+b[n]",
        layer_norm,
        ((8, 33), (33,), (33,)),
        one("LayerNormalization", 3),
    ),
    Way(
        "rms_norm:8x33",
        f"8x33:f32:graph=q[r]=sum(square(x[r,n]));w[r]=rsqrt(q*{N33}+1e-5);"
        "y[r,n]=x*w*g[n]",
        rms_norm,
        ((8, 33), (33,)),
        one("RMSNormalization", 2),
    ),
    Way(
        "attention:2x5x6x7x9",
        "2x5x6x7x9:f32:graph=s[b,q,k]=sum(Q[b,q,d]*K[b,k,d]);"
        f"m[b,q]=max(s*{ROOT7});p[b,q,k]=exp(s*{ROOT7}-{LOW});"
        "o[b,q,e]=sum(p*V[b,k,e]);l[b,q]=sum(p);y[b,q,e]=o/l",
        attention,
        HEADS,
        (
            ("Constant", "", "c", {"value_float": 1 / math.sqrt(7)}),
            ("Transpose", "x1", "t", {"perm": [0, 2, 1]}),
            ("MatMul", "x0 t", "s", {}),
            ("Mul", "s c", "z", {}),
            ("Softmax", "z", "p", {}),
            ("MatMul", "p x2", "y", {}),
        ),
    ),
    Way(
        "conv:1x4x8x8x6x3x3",
        "6x6x6x4x3x3:f32:graph=y[f,u,v]=sum(w[f,c,i,j]*x[c,u+i,v+j])",
        conv,
        IMAGE,
        one("Conv", 2),
    ),
    Way(
        "conv:1x4x9x9x6x3x3:f32:stride=2",
        "6x4x4x4x3x3:f32:graph=y[f,u,v]=sum(w[f,c,i,j]*x[c,2*u+i,2*v+j])",
        functools.partial(conv, step=2),
        ((1, 4, 9, 9), (6, 4, 3, 3)),
        one("Conv", 2, strides=[2, 2]),
    ),
    Way(
        "conv:1x4x8x8x6x3x3:f32:pad=1",
        "6x8x8x4x3x3:f32:graph=y[f,u,v]=sum(w[f,c,i,j]*x[c,pad(u+i,1,1),pad(v+j,1,1)])",
        functools.partial(conv, pad=1),
        IMAGE,
        one("Conv", 2, pads=[1, 1, 1, 1]),
    ),
    Way(
        "compose:4x4x4x2x2:f32:graph=y[c,u,v]=max(x[c,2*u+i,2*v+j])",
        "4x4x4x2x2:f32:graph=z[c,u,v]=max(x[c,2*u+i,2*v+j])",
        max_pool,
        IMAGE[:1],
        one("MaxPool", kernel_shape=[2, 2], strides=[2, 2]),
    ),
    Way(
        "compose:4x4x4x2x2:f32:graph=t[c,u,v]=sum(x[c,2*u+i,2*v+j]);y[c,u,v]=t*0.25",
        "4x4x4x2x2:f32:graph=z[c,u,v]=sum(x[c,2*u+i,2*v+j]);y[c,u,v]=0.25*z",
        mean_pool,
        IMAGE[:1],
        one("AveragePool", kernel_shape=[2, 2], strides=[2, 2]),
    ),
    Way(
        "compose:264:f32:graph=y[i]=max(x[i],x*0.01)",
        "264:f32:graph=z[m]=max(x[m],0.01*x)",
        lambda xp, x: xp.where(x > 0, x, 0.01 * x),
        ((8, 33),),
        one("LeakyRelu", alpha=0.01),
    ),
    Way(
        "compose:264:f32:graph=y[i]=where(less(0.0,x[i]),x,expm1(x))",
        "264:f32:graph=z[m]=where(less(0.0,x[m]),x,expm1(x))",
        lambda xp, x: xp.where(x > 0, x, xp.expm1(xp.where(x > 0, 0, x))),
        ((8, 33),),
        one("Elu", alpha=1.0),
    ),
    Way(
        "compose:264:f32:graph=y[i]=relu(x[i])+log1p(exp(neg(abs(x))))",
        "264:f32:graph=z[m]=relu(x[m])+log1p(exp(-abs(x)))",
        lambda xp, x: xp.logaddexp(x, xp.float32(0)),
        ((8, 33),),
        one("Softplus"),
    ),
    Way(
        "compose:264:f32:graph=y[i]=min(relu((x[i]*0.125)+0.5),1.0)",
        "264:f32:graph=z[m]=min(relu(0.125*x[m]+0.5),1.0)",
        lambda xp, x: xp.clip(x / 8 + 0.5, 0, 1),
        ((8, 33),),
        one("HardSigmoid", alpha=0.125, beta=0.5),
    ),
    Way(
        "compose:264:f32:graph=y[i]=min(max(x[i],-1.0),2.0)",
        "264:f32:graph=z[m]=min(max(x[m],-1.0),2.0)",
        lambda xp, x: xp.where(x > 2, 2, xp.where(x < -1, -1, x)),
        ((8, 33),),
        (
            ("Constant", "", "a", {"value_float": -1.0}),
            ("Constant", "", "b", {"value_float": 2.0}),
            ("Clip", "x0 a b", "y", {}),
        ),
    ),
    Way(
        "compose:8x33:f32:graph=y[m,n]=a[m]*b[n]",
        "8x33:f32:graph=z[i,j]=a[i]*b[j]",
        lambda xp, a, b: a[:, None] * b,
        ((8,), (33,)),
        (
            ("Constant", "", "c", {"value_ints": [1]}),
            ("Unsqueeze", "x0 c", "t", {}),
            ("Mul", "t x1", "y", {}),
        ),
    ),
    Way(
        "compose:1x264:f32:graph=y[i]=max(x[n,i])",
        "1x264:f32:graph=z[a]=max(x[b,a])",
        lambda xp, x: x.max(),
        ((8, 33),),
        one("ReduceMax", keepdims=0),
    ),
]
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
    onnx = pytest.importorskip("onnx")
    helper, f32 = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [
        helper.make_node(op, reads.split(), [to], **attributes)
        for op, reads, to, attributes in way.ops
    ]
    info = helper.make_tensor_value_info
    inputs = [info(f"x{i}", f32, shape) for i, shape in enumerate(way.shapes)]
    graph = helper.make_graph(nodes, "g", inputs, [info("y", f32, None)])
    newest = {"Gelu", "RMSNormalization", "LayerNormalization"}
    version = 23 if newest & {op for op, *_ in way.ops} else 13
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])
    return morello.from_onnx(proto.SerializeToString())


@pytest.mark.parametrize("way", WAYS, ids=NAMES)
def test_name_graph_and_function_are_one(way: Way) -> None:
    same(parse_spec(f"compose:{way.graph}", LIMITS), way.name)
    function = functools.partial(way.function, np)
    (part,) = morello.trace(function, *way.shapes).parts
    same(part.spec(LIMITS), flat(way.name))


@pytest.mark.parametrize("way", WAYS, ids=NAMES)
def test_what_is_read_of_mlir_is_the_same(way: Way) -> None:
    parts = jax_model(way).parts
    assert (len(parts) == 1) is way.exporters
    if way.exporters:
        same(parts[0].spec(LIMITS), flat(way.name))


@pytest.mark.parametrize("way", [w for w in WAYS if w.ops], ids=lambda w: w.name)
def test_what_is_read_of_onnx_is_the_same(way: Way) -> None:
    (part,) = onnx_model(way).parts
    same(part.spec(LIMITS), flat(way.name))


def test_most_computations_come_by_all_doors() -> None:
    assert sum(bool(way.ops) and way.exporters for way in WAYS) >= 25


SPELLINGS: list[tuple[str, Callable[..., Any], tuple[Shape, ...]]] = [
    ("relu:264", lambda x: np.maximum(0, x), ((8, 33),)),
    ("square:264", lambda x: x**2, ((8, 33),)),
    ("square:264", np.square, ((8, 33),)),
    ("silu:264", lambda x: x * (1 / (1 + np.exp(-x))), ((8, 33),)),
    (
        "gelu:264",
        lambda x: x * 0.5 * (np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)) + 1),
        ((8, 33),),
    ),
    (
        "softmax:8x33",
        lambda x: (
            np.exp(x - np.max(x, 1, keepdims=True))
            / np.sum(np.exp(x - np.max(x, 1, keepdims=True)), 1, keepdims=True)
        ),
        ((8, 33),),
    ),
    (
        "softmax:8x33",
        lambda x: (lambda e: (e.T / e.sum(1)).T)(np.exp(x - x.max(1)[:, None])),
        ((8, 33),),
    ),
    (
        "layer_norm:8x33",
        lambda x, g, b: (
            g
            * (
                (x - x.mean(1)[:, None])
                / np.sqrt(((x - x.mean(1)[:, None]) ** 2).mean(1)[:, None] + 1e-5)
            )
            + b
        ),
        ((8, 33), (33,), (33,)),
    ),
    (
        "rms_norm:8x33",
        lambda x, g: x * (1 / np.sqrt((x * x).sum(-1, keepdims=True) / 33 + 1e-5)) * g,
        ((8, 33), (33,)),
    ),
    (
        "attention:2x5x6x7x9",
        lambda q, k, v: (lambda p: (p @ v) / p.sum(-1, keepdims=True))(
            (lambda s: np.exp(s - s.max(-1, keepdims=True)))(
                np.einsum("bqd,bkd->bqk", q, k) / np.sqrt(7)
            )
        ),
        HEADS,
    ),
]
"""Other ways to write a computation in NumPy."""


@pytest.mark.parametrize(("name", "function", "shapes"), SPELLINGS)
def test_other_spellings_in_numpy_are_the_same(
    name: str, function: Callable[..., Any], shapes: tuple[Shape, ...]
) -> None:
    (part,) = morello.trace(function, *shapes).parts
    same(part.spec(LIMITS), name)


@pytest.mark.parametrize(
    ("name", "function", "shapes"),
    [
        (  # overflows where a maximum is not subtracted
            "softmax:8x33",
            lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True),
            ((8, 33),),
        ),
        (  # rounds x - m, not m + log(l)
            "log_softmax:8x33",
            lambda x: (lambda d: d - np.log(np.exp(d).sum(1, keepdims=True)))(
                x - x.max(1, keepdims=True)
            ),
            ((8, 33),),
        ),
        (  # the mean of squares less the square of the mean cancels
            "layer_norm:8x33",
            lambda x, g, b: (
                (x - x.mean(1, keepdims=True))
                / np.sqrt(
                    (x * x).mean(1, keepdims=True)
                    - x.mean(1, keepdims=True) ** 2
                    + 1e-5
                )
                * g
                + b
            ),
            ((8, 33), (33,), (33,)),
        ),
    ],
)
def test_other_numbers_are_another_computation(
    name: str, function: Callable[..., Any], shapes: tuple[Shape, ...]
) -> None:
    parts = morello.trace(function, *shapes).parts
    named = parse_spec(name, LIMITS)
    assert [part.spec(LIMITS) for part in parts] != [named]


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
