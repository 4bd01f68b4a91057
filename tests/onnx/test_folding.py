"""Models of ONNX whose sizes, choices and counts are known before a call."""

from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

from morello.errors import ArgumentError, CompileError
from morello.frontends.onnx_ops.folding import folded
from tests.onnx.models import evaluated, parsed, read

pytestmark = pytest.mark.quick

SIZES = "s = Shape(x) width = Gather(s, axis) c = Equal(width, eight)"
DATA = "sum = ReduceSum<keepdims=0>(x) zero = Sub(sum, sum) c = Greater(sum, zero)"
X = np.linspace(-1, 2, 16, dtype=np.float32).reshape(2, 8)


def chosen(condition: str, other: str = "n = Neg(x)", **options: Any) -> Any:
    """A program that is relu(x), or -x where the condition ``c`` does not hold."""
    proto = parsed(
        "(float[N,8] x) => (float[N,8] y) <int64 eight = {8}, int64 axis = {1}> "
        f"{{ {condition} [choice] y = If(c)<then_branch = t () => (float[] p) "
        f"{{ p = Relu(x) }}, else_branch = e () => (float[] n) {{ {other} }}> }}"
    )
    return read(proto, shapes={"x": (2, 8)}, **options)


def test_a_choice_by_a_shape_is_made_before() -> None:
    program = chosen(SIZES)
    assert len(program.parts) == 1
    np.testing.assert_array_equal(program.evaluate(X), np.maximum(X, 0))


def test_a_choice_by_data_is_made_in_the_call() -> None:
    program = chosen(DATA)
    np.testing.assert_array_equal(program.evaluate(X), np.maximum(X, 0))
    np.testing.assert_array_equal(program.evaluate(-X), X)


def test_a_choice_by_data_has_one_shape() -> None:
    words = r"choice \(onnx.If\) has branches whose results have the shapes \[2, 8\]"
    with pytest.raises(CompileError, match=words):
        chosen(DATA, "n = ReduceMax<keepdims=0>(x)")


def test_an_input_of_any_size_is_given() -> None:
    proto = parsed("(float[N,8] x) => (float[N,8] y) { y = Relu(x) }")
    for value in (proto.graph.input[0], proto.graph.output[0]):
        value.type.tensor_type.shape.dim[0].dim_value = -1
    program = read(proto, shapes={"x": (2, 8)})
    np.testing.assert_array_equal(program.evaluate(X), np.maximum(X, 0))


REPEATED = parsed(
    "(float[2,8] x, int64 n) => (float[N,8] y) <int64[1] zero = {0}, "
    "int64[1] one = {1}> { times = Unsqueeze(n, zero) "
    "sizes = Concat<axis=0>(times, one) y = Tile(x, sizes) }"
)
"""A model of x and how often it is repeated."""


def test_an_input_is_a_constant() -> None:
    program = read(REPEATED, constants={"n": 3})
    assert [p.shape for p in program.parameters] == [(2, 8), (6, 8)]
    np.testing.assert_array_equal(program.evaluate(X), np.tile(X, (3, 1)))


@pytest.mark.parametrize(
    ("constants", "words"),
    [
        ({"m": 3}, "has no input 'm'; its inputs are x, n"),
        ({"n": 3.5}, "'n' has elements of int64, not float64"),
    ],
)
def test_wrong_constants_are_refused(constants: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        read(REPEATED, constants=constants)


def test_a_large_fill_is_not_evaluated() -> None:
    proto = parsed(
        "(float[1] x) => (float[1048576,1048576,1048576] y) "
        "<int64[3] sizes = {1048576, 1048576, 1048576}> "
        "{ zeros = ConstantOfShape(sizes) y = Add(x, zeros) }"
    )
    assert [n.op_type for n in folded(proto).graph.node] == ["ConstantOfShape", "Add"]


def test_names_of_captured_values_stay() -> None:
    """Two choices whose branches name their values alike, and read what is outside."""
    branch = "() => (float[] p) { p = Add(x, r) }"
    each = f"If(c)<then_branch = t {branch}, else_branch = e {branch}>"
    proto = parsed(
        f"(float[2,8] x) => (float[2,8] y) {{ r = Relu(x) {DATA} "
        f"a = {each} b = {each} y = Mul(a, b) }}"
    )
    wanted = (X + np.maximum(X, 0)) ** 2
    np.testing.assert_allclose(evaluated(proto, X), wanted, rtol=1e-6)


def test_numpy_helper_reads_what_was_folded() -> None:
    proto = parsed(
        "(float[4] x) => (float[4] y) <int64[2] a = {1, 2}, int64[2] b = {3, 4}> "
        "{ ab = Concat<axis=0>(a, b) row = Cast<to=1>(ab) y = Add(x, row) }"
    )
    graph = folded(proto).graph
    assert [n.op_type for n in graph.node] == ["Add"]
    (row,) = graph.initializer
    np.testing.assert_array_equal(numpy_helper.to_array(row), [1, 2, 3, 4])


SCAN = "(float[3] s, float[3] r) => (float[] t, float[] o)"
OLD_SCAN = "(float[3] s, float[3] r) => (float[] t)"
TRIP = "(int64 i, bool on, float[3] s) => (bool on, float[] t, float[] o)"


def test_a_scan_is_written_out() -> None:
    proto = parsed(
        "(float[3,4] x) => (float[3] last, float[3,4] y) <float[3] s0 = {0, 0, 0}> "
        f"{{ last, y = Scan(s0, x)<body = b {SCAN} {{ t = Add(s, r) o = Neg(t) }}, "
        "num_scan_inputs=1, scan_input_axes=[1], scan_input_directions=[1], "
        "scan_output_axes=[1]> }"
    )
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    last, y = evaluated(proto, x)
    np.testing.assert_array_equal(last, x.sum(1))
    np.testing.assert_array_equal(y, -np.cumsum(x[:, ::-1], 1))


def test_a_scan_of_a_batch_is_refused() -> None:
    proto = parsed(
        "(float[1,4,3] x) => (float[1,3] y) <float[1,3] s0 = {0, 0, 0}> "
        f"{{ [b] y = Scan(, s0, x)<body = inner {OLD_SCAN} {{ t = Add(s, r) }}, "
        "num_scan_inputs=1> }"
    )
    proto.opset_import[0].version = 8
    with pytest.raises(CompileError, match=r"b \(onnx.Scan\) is of version 8"):
        read(proto)


def test_a_loop_gives_what_each_trip_does() -> None:
    proto = parsed(
        "(float[3] x) => (float[3] last, float[2,3] y) <int64 n = {2}> "
        f"{{ last, y = Loop(n, , x)<body = b {TRIP} "
        "{ t = Add(s, x) o = Mul(t, t) }> }"
    )
    x = np.array([1, 2, 3], np.float32)
    last, y = evaluated(proto, x)
    np.testing.assert_array_equal(last, 3 * x)
    np.testing.assert_array_equal(y, [4 * x * x, 9 * x * x])
