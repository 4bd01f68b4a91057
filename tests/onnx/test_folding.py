"""Models of ONNX whose sizes, choices and counts are known before a call."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import morello
from morello.errors import ArgumentError, CompileError
from tests.onnx.models import FLOAT, evaluated, model, node, read

pytestmark = pytest.mark.quick


def branch(*nodes: Any) -> Any:
    """A graph without inputs, whose result is that of its last node."""
    name = nodes[-1].output[0]
    result = helper.make_tensor_value_info(name, FLOAT, None)
    return helper.make_graph(list(nodes), name, [], [result])


def chosen(*condition: Any, other: Any = None) -> Any:
    """A model that is relu(x), or -x where the condition ``c`` does not hold."""
    choice = node(
        "If",
        ["c"],
        ["y"],
        name="choice",
        then_branch=branch(node("Relu", ["x"], ["p"])),
        else_branch=branch(other or node("Neg", ["x"], ["n"])),
    )
    held = {"eight": np.array(8, np.int64), "axis": np.array(1, np.int64)}
    return model([*condition, choice], {"x": ("N", 8)}, {"y": ("N", 8)}, held)


SIZES = [
    node("Shape", ["x"], ["s"]),
    node("Gather", ["s", "axis"], ["width"]),
    node("Equal", ["width", "eight"], ["c"]),
]
DATA = [
    node("ReduceSum", ["x"], ["sum"], keepdims=0),
    node("Sub", ["sum", "sum"], ["zero"]),
    node("Greater", ["sum", "zero"], ["c"]),
]
X = np.linspace(-1, 2, 16, dtype=np.float32).reshape(2, 8)


def test_a_choice_by_a_shape_is_made_before() -> None:
    proto = chosen(*SIZES).SerializeToString()
    program = morello.from_onnx(proto, shapes={"x": (2, 8)})
    assert len(program.parts) == 1
    np.testing.assert_array_equal(program.evaluate(X), np.maximum(X, 0))


def test_a_choice_by_data_is_made_in_the_call() -> None:
    proto = chosen(*DATA).SerializeToString()
    program = morello.from_onnx(proto, shapes={"x": (2, 8)})
    np.testing.assert_array_equal(program.evaluate(X), np.maximum(X, 0))
    np.testing.assert_array_equal(program.evaluate(-X), X)


def test_a_choice_by_data_has_one_shape() -> None:
    proto = chosen(*DATA, other=node("ReduceMax", ["x"], ["n"], keepdims=0))
    words = r"choice \(onnx.If\) has branches whose results have the shapes \[2, 8\]"
    with pytest.raises(CompileError, match=words):
        read(proto, shapes={"x": (2, 8)})


def test_an_input_of_any_size_is_given() -> None:
    proto = model([node("Relu", ["x"], ["y"])], {"x": (-1, 8)}, {"y": (-1, 8)})
    program = read(proto, shapes={"x": (2, 8)})
    np.testing.assert_array_equal(program.evaluate(X), np.maximum(X, 0))


def with_a_count() -> bytes:
    """A model of x and how often it is repeated."""
    nodes = [
        node("Unsqueeze", ["n", "zero"], ["times"]),
        node("Concat", ["times", "one"], ["sizes"], axis=0),
        node("Tile", ["x", "sizes"], ["y"]),
    ]
    held = {"zero": np.array([0], np.int64), "one": np.array([1], np.int64)}
    proto = model(nodes, {"x": (2, 8)}, {"y": ("N", 8)}, held)
    count = helper.make_tensor_value_info("n", onnx.TensorProto.INT64, [])
    proto.graph.input.append(count)
    return bytes(proto.SerializeToString())


def test_an_input_is_a_constant() -> None:
    program = morello.from_onnx(with_a_count(), constants={"n": 3})
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
        morello.from_onnx(with_a_count(), constants=constants)


def test_a_large_fill_is_not_evaluated() -> None:
    nodes = [
        node("ConstantOfShape", ["sizes"], ["zeros"]),
        node("Add", ["x", "zeros"], ["y"]),
    ]
    held = {"sizes": np.array([1 << 20, 1 << 20, 1 << 20], np.int64)}
    proto = model(nodes, {"x": (1,)}, {"y": (1 << 20, 1 << 20, 1 << 20)}, held)
    from morello.frontends.onnx_ops.folding import folded

    assert [n.op_type for n in folded(proto).graph.node] == ["ConstantOfShape", "Add"]


def test_names_of_captured_values_stay() -> None:
    """Two choices whose branches name their values alike, and read what is outside."""
    double = branch(node("Add", ["x", "r"], ["p"]))
    nodes = [
        node("Relu", ["x"], ["r"]),
        *DATA,
        *(
            node("If", ["c"], [result], then_branch=double, else_branch=double)
            for result in ("a", "b")
        ),
        node("Mul", ["a", "b"], ["y"]),
    ]
    program = read(model(nodes, {"x": (2, 8)}, {"y": (2, 8)}))
    wanted = (X + np.maximum(X, 0)) ** 2
    np.testing.assert_allclose(program.evaluate(X), wanted, rtol=1e-6)


def test_numpy_helper_reads_what_was_folded() -> None:
    held = {"a": np.array([1, 2], np.int64), "b": np.array([3, 4], np.int64)}
    nodes = [
        node("Concat", ["a", "b"], ["ab"], axis=0),
        node("Cast", ["ab"], ["row"], to=FLOAT),
        node("Add", ["x", "row"], ["y"]),
    ]
    from morello.frontends.onnx_ops.folding import folded

    graph = folded(model(nodes, {"x": (4,)}, {"y": (4,)}, held)).graph
    assert [n.op_type for n in graph.node] == ["Add"]
    (row,) = graph.initializer
    np.testing.assert_array_equal(numpy_helper.to_array(row), [1, 2, 3, 4])


def body(results: list[str], *nodes: Any, loop: bool) -> Any:
    """A body that has a state ``s``, and a row ``r`` of a scan or the place of a trip
    and the condition of a loop."""
    inputs = [("i", onnx.TensorProto.INT64, []), ("on", onnx.TensorProto.BOOL, [])]
    inputs = inputs if loop else []
    inputs += [("s", FLOAT, [3])] + ([] if loop else [("r", FLOAT, [3])])
    kinds = {"on": onnx.TensorProto.BOOL}
    return helper.make_graph(
        list(nodes),
        "body",
        [helper.make_tensor_value_info(*fields) for fields in inputs],
        [
            helper.make_tensor_value_info(name, kinds.get(name, FLOAT), None)
            for name in results
        ],
    )


def test_a_scan_is_written_out() -> None:
    inner = body(
        ["t", "o"],
        node("Add", ["s", "r"], ["t"]),
        node("Neg", ["t"], ["o"]),
        loop=False,
    )
    scan = node(
        "Scan",
        ["s0", "x"],
        ["last", "y"],
        body=inner,
        num_scan_inputs=1,
        scan_input_axes=[1],
        scan_input_directions=[1],
        scan_output_axes=[1],
        name="scan",
    )
    held = {"s0": np.zeros(3, np.float32)}
    proto = model([scan], {"x": (3, 4)}, {"last": (3,), "y": (3, 4)}, held)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    last, y = evaluated(proto, x)
    np.testing.assert_array_equal(last, x.sum(1))
    np.testing.assert_array_equal(y, -np.cumsum(x[:, ::-1], 1))


def test_a_scan_of_a_batch_is_refused() -> None:
    inner = body(["t"], node("Add", ["s", "r"], ["t"]), loop=False)
    scan = node("Scan", ["", "s0", "x"], ["y"], body=inner, num_scan_inputs=1, name="b")
    held = {"s0": np.zeros((1, 3), np.float32)}
    proto = model([scan], {"x": (1, 4, 3)}, {"y": (1, 3)}, held, opset=8)
    with pytest.raises(CompileError, match=r"b \(onnx.Scan\) is of version 8"):
        read(proto)


def test_a_loop_gives_what_each_trip_does() -> None:
    inner = body(
        ["on", "t", "o"],
        node("Add", ["s", "x"], ["t"]),
        node("Mul", ["t", "t"], ["o"]),
        loop=True,
    )
    loop = node("Loop", ["n", "", "x"], ["last", "y"], body=inner)
    held = {"n": np.array(2, np.int64)}
    proto = model([loop], {"x": (3,)}, {"last": (3,), "y": (2, 3)}, held)
    x = np.array([1, 2, 3], np.float32)
    last, y = evaluated(proto, x)
    np.testing.assert_array_equal(last, 3 * x)
    np.testing.assert_array_equal(y, [4 * x * x, 9 * x * x])
