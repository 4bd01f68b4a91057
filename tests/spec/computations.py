"""Computations as a name, a graph, a function of NumPy or jax, and nodes of ONNX.

Exporters and NumPy divide by sums and roots; front ends multiply by the inverse, up to
rounding, and so does the graph that a name is.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

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

    @property
    def reads_windows(self) -> bool:
        """Whether its function is another one for another module."""
        return self.function in (max_pool, mean_pool) or "conv" in self.name


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
        "square", "square(a[m,n])", lambda xp, x: x * x, (("Mul", "x0 x0", "y", {}),)
    ),
    function_way("relu", "relu(a[m,n])", lambda xp, x: xp.maximum(x, 0), one("Relu")),
    function_way(
        "sigmoid", "sigmoid(a[m,n])", lambda xp, x: 1 / (1 + xp.exp(-x)), one("Sigmoid")
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
        "compose:1x264:f32:graph=y[i]=max(x[i,n])",
        "1x264:f32:graph=z[a]=max(x[a,b])",
        lambda xp, x: x.max(),
        ((8, 33),),
        one("ReduceMax", keepdims=0),
    ),
    Way(  # that of ONNX is of 64 bits
        "compose:8x33:f32:graph=m[r]=max(x[r,n]);"
        "y[r]=min(where(where(equal(equal(x,x),0.0),1.0,equal(x,m)),p[n],33.0))",
        "8x33:f32:graph=t[r]=max(x[r,c]);"
        "z[r]=min(where(where(equal(equal(x,x),0.0),1.0,equal(x,t)),q[c],33.0))",
        lambda xp, x: xp.argmax(x, 1),
        ((8, 33),),
    ),
]
