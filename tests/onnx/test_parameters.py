"""Shapes, axes and counts of ops of ONNX that are inputs of the graph."""

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import morello
from morello.errors import ArgumentError, CompileError
from tests.onnx.models import drawn, model, node, read

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("one_database")]


def with_parameter(
    layer: Any, shape: tuple[int, ...], result: tuple[int, ...], value: Any
) -> bytes:
    """A model of ``x`` and a parameter ``p`` of the dtype and shape of a value."""
    results = {"y": result, "z": (2, 2)} if len(layer.output) > 1 else {"y": result}
    proto = model([layer], {"x": shape}, results, opset=20)
    kind = helper.np_dtype_to_tensor_dtype(value.dtype)
    proto.graph.input.append(helper.make_tensor_value_info("p", kind, value.shape))
    return bytes(proto.SerializeToString())


def numbers(*values: int) -> Any:
    return np.array(values, np.int64)


def reduce(kind: str, keeps: int) -> Any:
    return node(f"Reduce{kind}", ["x", "p"], ["y"], keepdims=keeps)


CASES = [
    (node("Reshape", ["x", "p"], ["y"]), (2, 6), (2, 3, 2), numbers(0, -1, 2)),
    (node("Expand", ["x", "p"], ["y"]), (3, 1), (2, 3, 4), numbers(2, 1, 4)),
    (node("Tile", ["x", "p"], ["y"]), (2, 3), (4, 3), numbers(2, 1)),
    (node("Unsqueeze", ["x", "p"], ["y"]), (2, 3), (1, 2, 3, 1), numbers(-1, 0)),
    (node("Squeeze", ["x", "p"], ["y"]), (1, 2, 1), (1, 2), numbers(-1)),
    (node("Split", ["x", "p"], ["y", "z"]), (5, 2), (3, 2), numbers(3, 2)),
    (
        node("Resize", ["x", "", "", "p"], ["y"], mode="linear"),
        (1, 1, 4, 4),
        (1, 1, 8, 6),
        numbers(1, 1, 8, 6),
    ),
    (
        node("Resize", ["x", "", "p"], ["y"]),
        (1, 1, 4, 4),
        (1, 1, 8, 6),
        np.array([1, 1, 2, 1.5], np.float32),
    ),
    (reduce("Max", 1), (2, 3, 4), (2, 1, 4), numbers(-2)),
    (reduce("Sum", 0), (2, 3, 3), (2, 3), numbers(1)),
    (reduce("Sum", 0), (2, 3, 3), (2, 3), numbers(-1)),
    (reduce("L2", 0), (2, 3, 4), (2,), numbers(-1, 1)),
    (reduce("Sum", 1), (2, 3), (1, 1), numbers()),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("layer", "shape", "result", "value"),
    CASES,
    ids=[f"{case[0].op_type} {case[3].tolist()}" for case in CASES],
)
def test_it_follows_from_the_shapes(
    layer: Any, shape: tuple[int, ...], result: tuple[int, ...], value: Any
) -> None:
    data = with_parameter(layer, shape, result, value)
    x = drawn(shape)
    proto = onnx.load_model_from_string(data)
    wanted = ReferenceEvaluator(proto).run(["y"], {"x": x, "p": value})[0]
    computed = morello.from_onnx(data).evaluate(x, value)
    computed = computed[0] if isinstance(computed, tuple) else computed
    np.testing.assert_allclose(computed, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("layer", "shape", "result", "value", "other"),
    [
        (*CASES[0][:3], numbers(0, -1, 2), numbers(3, 2, 2)),
        (*CASES[2][:3], numbers(2, 1), numbers(1, 2)),
        (*CASES[7], np.array([1, 1, 2, 1.6], np.float32)),
        (*CASES[8][:3], numbers(1), numbers(0)),
        (*CASES[9][:3], numbers(1), numbers(0)),
    ],
    ids=["Reshape", "Tile", "Resize", "ReduceMax", "ReduceSum"],
)
def test_others_are_refused_in_the_call(
    layer: Any, shape: tuple[int, ...], result: tuple[int, ...], value: Any, other: Any
) -> None:
    program = morello.from_onnx(with_parameter(layer, shape, result, value))
    x = np.zeros(shape, np.float32)
    compiled = program.compile(threads=1, time_limit=1)
    for call in (
        program.evaluate,
        compiled,
        compiled.bind,
        pickle.loads(pickle.dumps(compiled)),
    ):
        with pytest.raises(ArgumentError, match=r"input 'p' is \[.*constants=\{'p'"):
            call(x, other)
    with pytest.raises(ArgumentError, match="input 'p' is"):
        compiled(x, p=other)
    assert compiled(x, p=value).shape == result
    with pytest.raises(CompileError, match=r"input 'p' has to be .*C programs"):
        compiled.library()


LOADS = """
import pickle, sys
import numpy as np
from morello.errors import ArgumentError
kernel = pickle.load(sys.stdin.buffer)
try:
    kernel(np.zeros((4, 3), np.float32), np.array([2, 7]))
except ArgumentError:
    assert not {"onnx", "morello.search", "morello.mlir"} & {*sys.modules}
    print(kernel(np.zeros((4, 3), np.float32), np.array([2, 6])).shape)
"""


def test_a_loaded_kernel_checks_its_arguments_without_the_front_end() -> None:
    layer, value = node("Reshape", ["x", "p"], ["y"]), numbers(2, 6)
    program = morello.from_onnx(with_parameter(layer, (4, 3), (2, 6), value))
    run = subprocess.run(
        [sys.executable, "-c", LOADS],
        input=pickle.dumps(program.compile(threads=1)),
        capture_output=True,
        check=False,
    )
    assert run.stdout == b"(2, 6)\n", run.stderr.decode()


def test_what_has_no_elements_is_known() -> None:
    layer = node("ReduceSum", ["x", "a"], ["y"])
    proto = model([layer], {"x": (2, 0, 3)}, {"y": (2, 1, 3)}, {"a": numbers(1)})
    result = read(proto).compile(threads=1)(np.zeros((2, 0, 3), np.float32))
    np.testing.assert_array_equal(result, np.zeros((2, 1, 3), np.float32))


def test_results_may_have_no_elements() -> None:
    layer = node("Split", ["x", "n"], ["y", "z"], axis=1)
    held = {"n": numbers(0, 3)}
    program = read(model([layer], {"x": (2, 3)}, {"y": (2, 0), "z": (2, 3)}, held))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for call in (program.evaluate, program.compile(threads=1)):
        y, z = call(x)
        assert y.shape == (2, 0)
        np.testing.assert_array_equal(z, x)
