"""Small models of ONNX, and the programs in `programs/`, as Specs: those of
each, as `str` shows a model.

Run it as ``python -m tests.frontends.listing`` to write the list anew.
"""

from pathlib import Path
from typing import Any

import onnx

import morello
from morello.frontends.model import Model
from tests.frontends.definitions import PROGRAMS

FILE = Path(__file__).with_suffix(".txt")

HEAD = '<ir_version: 8, opset_import: ["" : 18]> g '

MODELS = {
    "softmax of rows": "(float[4,6] x) => (float[4,6] y) { y = Softmax<axis=-1>(x) }",
    "softmax of columns": "(float[4,6] x) => (float[4,6] y) { y = Softmax<axis=0>(x) }",
    "scaled softmax with a mask": (
        "(float[2,4,6] x, float[4,6] m) => (float[2,4,6] y) <float c = {0.25}> "
        "{ a = Mul(x, c) b = Add(a, m) y = Softmax(b) }"
    ),
    "logarithm of softmax": "(float[4,6] x) => (float[4,6] y) { y = LogSoftmax(x) }",
    "layer norm": (
        "(float[4,6] x, float[6] w, float[6] b) => (float[4,6] y) "
        "{ y = LayerNormalization(x, w, b) }"
    ),
    "norm of groups": (
        "(float[2,4,3,3] x) => (float[2,4,3,3] y) <float[4] w = {1, 2, 3, 4}, "
        "float[4] b = {0, 1, 0, 1}> { y = InstanceNormalization(x, w, b) }"
    ),
    "root mean square": (
        "(float[4,6] x) => (float[4,6] y) <float e = {0.01}, int64[1] a = {1}> "
        "{ s = Mul(x, x) m = ReduceMean(s, a) n = Add(m, e) r = Sqrt(n) y = Div(x, r) }"
    ),
    "an operand that is shared": (
        "(float[2,3] x) => (float[2,3] y) "
        "{ e = Exp(x) r = Sqrt(e) t = Add(e, r) u = Sin(r) y = Mul(t, u) }"
    ),
    "one that is cheap": (
        "(float[2,3] x) => (float[2,3] y) <float c = {2}> "
        "{ e = Mul(x, c) y = Mul(e, e) }"
    ),
    "an operand of fewer axes": (
        "(float[2,3] x, float[3] z) => (float[2,3] y) "
        "{ e = Exp(z) r = Sqrt(x) y = Add(r, e) }"
    ),
    "a quotient by what lacks an axis": (
        "(float[4,6] x) => (float[4,6] y) <int64[1] a = {1}, float c = {3}> "
        "{ e = Exp(x) s = ReduceSum(e, a) t = Mul(s, c) y = Div(e, t) }"
    ),
    "activations": (
        "(float[3,5] x) => (float[3,5] a, float[3,5] b, float[3,5] c, float[3,5] d) "
        "{ a = LeakyRelu<alpha=0.5>(x) b = HardSigmoid(x) c = Elu<alpha=2.0>(x) "
        "s = Sigmoid(x) d = Mul(x, s) }"
    ),
    "a product with a bias and what is above 0": (
        "(float[4,5] x, float[5,6] w, float[6] b) => (float[4,6] y) "
        "{ p = MatMul(x, w) q = Add(p, b) y = Relu(q) }"
    ),
    "a product of transposed factors": (
        "(float[5,4] x, float[6,5] w, float[6] b) => (float[4,6] y) "
        "{ y = Gemm<transA=1, transB=1, alpha=0.5, beta=2.0>(x, w, b) }"
    ),
    "two products of one input": (
        "(float[4,5] x, float[5,6] v, float[5,6] w) => (float[4,6] y) "
        "{ p = MatMul(x, v) q = MatMul(x, w) s = Sigmoid(p) y = Mul(s, q) }"
    ),
    "a chain of products": (
        "(float[4,5] x, float[5,6] v, float[6,3] w) => (float[4,3] y) "
        "{ p = MatMul(x, v) r = Relu(p) y = MatMul(r, w) }"
    ),
    "attention": (
        "(float[2,4,8] q, float[2,5,8] k, float[2,5,6] v) => (float[2,4,6] y) "
        "<float c = {0.5}> { t = Transpose<perm=[0,2,1]>(k) s = MatMul(q, t) "
        "m = Mul(s, c) p = Softmax(m) y = MatMul(p, v) }"
    ),
    "heads of a tensor": (
        "(float[3,8] x, float[4,3,2] w) => (float[3,3] y) <int64[1] a = {0}, "
        "int64[3] n = {3, 4, 2}> { r = Reshape(x, n) t = Transpose<perm=[1,0,2]>(r) "
        "u = Transpose<perm=[0,2,1]>(w) p = MatMul(t, u) "
        "y = ReduceSum<keepdims=0>(p, a) }"
    ),
    "a convolution with a norm": (
        "(float[1,2,5,5] x, float[3,2,3,3] w) => (float[1,3,5,5] y) "
        "<float[3] s = {1, 2, 3}, float[3] b = {0, 1, 2}, float[3] m = {1, 1, 2}, "
        "float[3] v = {1, 4, 9}> { c = Conv<pads=[1,1,1,1]>(x, w) "
        "n = BatchNormalization(c, s, b, m, v) y = Relu(n) }"
    ),
    "a convolution of each channel": (
        "(float[1,3,6,6] x, float[3,1,3,3] w, float[3] b) => (float[1,3,2,2] y) "
        "{ y = Conv<group=3, strides=[2,2]>(x, w, b) }"
    ),
    "a convolution of groups": (
        "(float[1,4,5,5] x, float[6,2,2,2] w) => (float[1,6,4,4] y) "
        "{ y = Conv<group=2>(x, w) }"
    ),
    "a convolution by points": (
        "(float[1,4,3,3] x, float[6,4,1,1] w) => (float[1,6,3,3] y) { y = Conv(x, w) }"
    ),
    "pools": (
        "(float[1,2,5,5] x) => (float[1,2,2,2] a, float[1,2,4,4] b, float[1,2,1,1] c) "
        "{ a = MaxPool<kernel_shape=[3,3], strides=[2,2]>(x) "
        "b = AveragePool<kernel_shape=[2,2]>(x) c = GlobalAveragePool(x) }"
    ),
    "sums and largest elements": (
        "(float[3,4,5] x) => (float[3,5] a, float[4] b, float[3,4,1] c, float[3,4] d) "
        "<int64[1] one = {1}, int64[2] two = {0, 2}, int64[1] last = {2}> "
        "{ a = ReduceSum<keepdims=0>(x, one) b = ReduceMax<keepdims=0>(x, two) "
        "c = ReduceMean(x, last) d = ReduceL2<keepdims=0>(x, last) }"
    ),
    "slices, joined in another order": (
        "(float[4,6] x) => (float[4,6] y) <int64[2] n = {2, 4}> "
        "{ a, b = Split<axis=1>(x, n) y = Concat<axis=1>(b, a) }"
    ),
    "a border, and every second element": (
        "(float[4,6] x) => (float[3,4] y) <int64[4] p = {1, 0, 0, 1}, float v = {7}, "
        "int64[2] s = {0, 0}, int64[2] e = {5, 7}, int64[2] a = {0, 1}, "
        "int64[2] t = {2, 2}> { b = Pad(x, p, v) y = Slice(b, s, e, a, t) }"
    ),
    "a choice by a comparison": (
        "(float[4,6] x, float[6] z) => (float[4,6] y) <float lo = {-1}, "
        "float hi = {2}> { g = Greater(x, z) c = Clip(x, lo, hi) y = Where(g, c, z) }"
    ),
    "a gate that is fed back": (
        "(float[2,3,4] x, float[1,3,4] w, float[1,3,3] r, float[1,6] b) => "
        "(float[2,1,3,3] y) { y = RNN<hidden_size=3>(x, w, r, b) }"
    ),
    "the place of the largest": (
        "(float[3,5] x) => (int64[3] y) { y = ArgMax<axis=1, keepdims=0>(x) }"
    ),
    "sums so far": (
        "(float[3,5] x) => (float[3,5] y) <int64 a = {1}> { y = CumSum(x, a) }"
    ),
    "an image twice as large": (
        "(float[1,2,3,3] x) => (float[1,2,6,6] y) <float[4] s = {1, 1, 2, 2}> "
        '{ y = Resize<mode="nearest", nearest_mode="floor", '
        'coordinate_transformation_mode="asymmetric">(x, , s) }'
    ),
    "a transposed convolution": (
        "(float[1,2,3,3] x, float[2,3,2,2] w) => (float[1,3,6,6] y) "
        "{ y = ConvTranspose<strides=[2,2]>(x, w) }"
    ),
    "a sum along all axes": (
        "(float[3,4] x, float[3,4] z) => (float y) "
        "{ d = Sub(x, z) s = Mul(d, d) y = ReduceMean<keepdims=0>(s) }"
    ),
    "casts": (
        "(float[3,4] x) => (int32[3,4] a, float16[3,4] b) "
        "{ a = Cast<to=6>(x) b = Cast<to=10>(x) }"
    ),
    "a transposed sum": (
        "(float[4,6] x, float[6,4] z) => (float[6,4] y) "
        "{ t = Transpose<perm=[1,0]>(x) s = Add(t, z) y = Tanh(s) }"
    ),
} | {
    f"bytes less {p}, by bytes less {q}": (
        "(uint8[2,3] a, uint8[3,4] b) => (float[2,4] y) "
        f"<float p = {{{p}}}, float q = {{{q}}}> "
        "{ f = Cast<to=1>(a) u = Sub(f, p) g = Cast<to=1>(b) v = Sub(g, q) "
        "y = MatMul(u, v) }"
    )
    for p, q in ((0, 0), (5, 0), (0, 9), (5, 9))
}


def read(name: str) -> tuple[Any, Model]:
    """A model as ONNX has it, and as it was read."""
    proto = onnx.parser.parse_model(HEAD + MODELS[name])
    return proto, morello.from_onnx(proto.SerializeToString())


def programs() -> dict[str, Model]:
    """The programs in MLIR, by their files."""
    files = sorted(PROGRAMS.glob("*/*.mlir"))
    return {str(f.relative_to(PROGRAMS)): morello.from_mlir(f) for f in files}


def listing(models: dict[str, Model]) -> str:
    """The list of some models."""
    return "\n".join(f"# {name}\n{model}\n" for name, model in models.items())


if __name__ == "__main__":
    FILE.write_text(listing({name: read(name)[1] for name in MODELS} | programs()))
