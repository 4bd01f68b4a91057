"""Models of ONNX compute what ONNX's reference does."""

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

import morello
from morello.errors import ArgumentError, CompileError
from morello.frontends import onnx as from_onnx
from tests.child import python
from tests.onnx.models import (
    Shape,
    check_by_reference,
    drawn,
    evaluated,
    model,
    node,
    parsed,
    read,
)

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("one_database")]

MODELS = {
    "classifier": "(float[4,8] x, float[16,8] w, float[16] b) => (float[4,16] y) "
    "{ t = Gemm<transB=1>(x, w, b) r = Relu(t) y = Softmax<axis=-1>(r) }",
    "convolution": "(float[1,3,8,8] x, float[6,3,3,3] w) => (float[1,6,4,4] y) "
    "{ t = Conv<strides=[2,2], pads=[1,1,1,1]>(x, w) y = Relu(t) }",
    "norm": "(float[4,16] x, float[16] s, float[16] b) => (float[4,16] y) "
    "{ t = LayerNormalization<axis=-1>(x, s, b) y = Gelu(t) }",
}


@pytest.mark.parametrize("name", MODELS)
def test_it_computes_what_the_reference_does(name: str, tmp_path: Path) -> None:
    proto = parsed(MODELS[name])
    x, *weights = (
        drawn([dim.dim_value for dim in argument.type.tensor_type.shape.dim], seed)
        for seed, argument in enumerate(proto.graph.input)
    )
    held = zip(weights, proto.graph.input[1:], strict=True)
    tensors = [numpy_helper.from_array(array, value.name) for array, value in held]
    proto.graph.initializer.extend(tensors)
    del proto.graph.input[1:]
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    (wanted,) = ReferenceEvaluator(proto).run(None, {"x": x})
    compiled = morello.from_onnx(path).compile(threads=1, time_limit=1)
    np.testing.assert_allclose(compiled(x), wanted, rtol=1e-4, atol=1e-5)


def relu(*shape: int | str) -> bytes:
    proto = model([node("Relu", ["x"], ["y"], name="r")], {"x": shape}, {"y": shape})
    return bytes(proto.SerializeToString())


def test_an_open_shape_is_given() -> None:
    read = morello.from_onnx(relu("N", 4), shapes={"x": (3, 4)})
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    assert np.array_equal(read.compile(threads=1)(x), np.maximum(x, 0))


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ({}, r"input 'x' has the shape \(N, 4\), and Specs have sizes"),
        ({"x": (3, 5)}, r"input 'x' has the shape \(N, 4\)"),
        ({"x": (3, 4), "z": (1,)}, "has no input 'z'; its inputs are x"),
    ],
)
def test_wrong_shapes_are_refused(shapes: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        morello.from_onnx(relu("N", 4), shapes=shapes)


def test_a_node_without_a_name_gets_one() -> None:
    nodes = [
        node("Cast", ["x"], ["t"], to=onnx.TensorProto.INT64),
        node("MatMul", ["t", "t"], ["u"]),
        node("Cast", ["u"], ["y"], to=onnx.TensorProto.FLOAT),
    ]
    proto = model(nodes, {"x": (4, 4)}, {"y": (4, 4)})
    with pytest.raises(morello.MorelloError, match=r"MatMul_1: onnx\.MatMul: it reads"):
        read(proto)


def test_softmax_of_an_old_version_is_over_all_axes_that_follow() -> None:
    nodes = [node("Softmax", ["x"], ["y"], axis=1)]
    proto = model(nodes, {"x": (2, 3, 4)}, {"y": (2, 3, 4)}, opset=11)
    x = drawn((2, 3, 4))
    rows = np.exp(x.reshape(2, 12))
    wanted = (rows / rows.sum(1, keepdims=True)).reshape(x.shape)
    np.testing.assert_allclose(evaluated(proto, x), wanted, rtol=1e-5)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="model is no model of ONNX"):
        morello.from_onnx(b"hello, world")
    with pytest.raises(FileNotFoundError):
        morello.from_onnx(tmp_path / "nothing.onnx")


def test_without_onnx_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['onnx'] = None\n"
        "import morello; morello.from_onnx('x.onnx')"
    )
    run = python("-c", code)
    assert "ImportError: morello.from_onnx needs the package onnx: pip" in run.stderr


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([node("Transpose", ["x"], ["y"], perm=[5, 7])], "perm"),
        ([node("Softmax", ["x"], ["y"], axis=99)], "axis"),
        ([node("Gemm", ["x"], ["y"])], "input size 1"),
        ([node("Exp", ["y"], ["y"])], "'?y'?"),
    ],
)
def test_what_would_crash_an_importer_is_refused(
    nodes: list[Any], words: str, tried_first: None
) -> None:
    proto = model(nodes, {"x": (4, 4)}, {"y": (4, 4)})
    with pytest.raises(CompileError, match=words):
        read(proto)


def test_broken_constants_and_shapes_are_refused() -> None:
    proto = model(
        [node("MatMul", ["x", "w"], ["y"])], {"x": (4, 4)}, {"y": (4, 4)}, {"w": (4, 4)}
    )
    proto.graph.initializer[0].ClearField("raw_data")
    with pytest.raises(CompileError, match="reshape"):
        read(proto)
    negative = model([node("Exp", ["x"], ["y"])], {"x": (-2, 4)}, {"y": (4, 4)})
    with pytest.raises(ArgumentError, match=r"\(-2, 4\)"):
        read(negative)


def test_a_model_in_memory_is_not_changed() -> None:
    proto = model([node("Relu", ["x"], ["y"])], {"x": ("n", 4)}, {"y": ("n", 4)})
    before = proto.SerializeToString(deterministic=True)
    x = drawn((3, 4))
    read = morello.from_onnx(proto, shapes={"x": (3, 4)})
    assert np.array_equal(read.evaluate(x), np.maximum(x, 0))
    assert proto.SerializeToString(deterministic=True) == before
    with pytest.raises(CompileError, match=r"is GraphProto.*onnx\.ModelProto"):
        morello.from_onnx(proto.graph)


def test_a_result_without_a_type_has_that_of_its_node() -> None:
    layer = node("Cast", ["x"], ["y"], to=onnx.TensorProto.UINT8)
    proto = model([layer], {"x": ("n", 3)}, {"y": None})
    proto.graph.output[0].ClearField("type")
    result = morello.from_onnx(proto, shapes={"x": (2, 3)}).parameters[-1]
    assert (result.dtype, result.shape) == (np.uint8, (2, 3))
    proto.graph.node[0].op_type, proto.graph.node[0].domain = "Other", "nobody"
    with pytest.raises(CompileError, match="'y' is declared as no tensor; declare its"):
        morello.from_onnx(proto, shapes={"x": (2, 3)})


def test_weights_that_are_nowhere_are_refused() -> None:
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": (4,)}, {"y": (4,)}, {"w": 4})
    onnx.external_data_helper.set_external_data(proto.graph.initializer[0], "w.bin")
    for source in (proto, proto.SerializeToString()):
        with pytest.raises(CompileError, match="has weights in other files"):
            morello.from_onnx(source)


def test_a_lookup_falls_back() -> None:
    table = np.random.default_rng(0).standard_normal((5, 4), np.float32)
    look = node("Gather", ["table", "i"], ["t"], name="look")
    double, places = node("Add", ["t", "t"], ["y"]), np.array([4, 0, 2])
    proto = model([look, double], {"i": places}, {"y": (3, 4)}, {"table": table})
    program = read(proto, fallback=True)
    assert any("look" in refusal.place for refusal in program.fallback)
    np.testing.assert_array_equal(program.evaluate(places), 2 * table[places])


@pytest.mark.parametrize(
    ("layer", "shape", "result"),
    [
        # torch-mlir has another constant in it.
        (node("Gelu", ["x"], ["y"], approximate="tanh"), (8, 8), (8, 8)),
        # It pads with a number of f64 that is infinite in f32.
        (
            node(
                "MaxPool",
                ["x"],
                ["y"],
                kernel_shape=[2, 2],
                strides=[2, 2],
                auto_pad="SAME_UPPER",
            ),
            (1, 2, 5, 5),
            (1, 2, 3, 3),
        ),
    ],
    ids=["gelu by tanh", "padded maxima"],
)
def test_numbers_of_the_importer(layer: Any, shape: Shape, result: Shape) -> None:
    proto = model([layer], {"x": shape}, {"y": result})
    x = np.linspace(-4, 4, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    check_by_reference(proto, x, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_response_takes_the_channels_of_the_standard(size: int) -> None:
    layer = node("LRN", ["x"], ["y"], size=size, alpha=0.5, beta=0.75, bias=2.0)
    proto = model([layer], {"x": (1, 5, 2, 2)}, {"y": (1, 5, 2, 2)})
    x = drawn((1, 5, 2, 2))
    before = (size - 1) // 2
    sums = np.stack(
        [(x[:, max(0, c - before) : c - before + size] ** 2).sum(1) for c in range(5)],
        1,
    )
    result = evaluated(proto, x)
    wanted = x / (2 + 0.5 / size * sums) ** 0.75
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


def test_zeros_are_around_an_axis_of_one_element_where_another_is_cut() -> None:
    layer = node("Pad", ["x", "n"], ["y"])
    held = {"n": np.array([2, 2, 0, -1, 1, 2])}
    proto = model([layer], {"x": (4, 3, 1)}, {"y": (5, 6, 3)}, held)
    x = np.arange(12, dtype=np.float32).reshape(4, 3, 1)
    wanted = np.pad(x[:3], [(2, 0), (2, 1), (0, 2)])
    np.testing.assert_array_equal(evaluated(proto, x), wanted)


def test_what_ends_the_importer_is_refused(
    monkeypatch: pytest.MonkeyPatch, tried_first: None
) -> None:
    def crash(*arguments: Any) -> bytes:
        os.kill(os.getpid(), signal.SIGSEGV)
        return b""

    monkeypatch.setattr(from_onnx, "_bytecode", crash)
    with pytest.raises(CompileError, match=r"\(SIGSEGV\); export the model with other"):
        morello.from_onnx(relu(2, 3))


def test_weights_in_a_file_that_is_gone(tmp_path: Path) -> None:
    layer = node("MatMul", ["x", "w"], ["y"])
    proto = model([layer], {"x": (2, 3)}, {"y": (2, 4)}, {"w": (3, 4)})
    options = {"save_as_external_data": True, "size_threshold": 0, "location": "w.bin"}
    onnx.save(proto, tmp_path / "m.onnx", **options)
    morello.from_onnx(tmp_path / "m.onnx")
    (tmp_path / "w.bin").unlink()
    with pytest.raises(CompileError, match="has weights that cannot be read"):
        morello.from_onnx(tmp_path / "m.onnx")


def test_a_shape_of_unknown_rank_is_given() -> None:
    proto = model([node("Relu", ["x"], ["y"])], {"x": (2, 3)}, {"y": (2, 3)})
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    data = proto.SerializeToString()
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    result = morello.from_onnx(data, shapes={"x": (2, 3)}).evaluate(x)
    np.testing.assert_array_equal(result, np.maximum(x, 0))
    with pytest.raises(ArgumentError, match="give the shape"):
        morello.from_onnx(data)


@pytest.mark.parametrize("trips", [3, 60])
def test_a_loop_of_few_trips_is_unrolled(trips: int) -> None:
    trip = "(int64 i, bool on, float[4] v) => (bool goes_on, float[4] next)"
    steps = "c = Constant<value_float=0.5>() m = Mul(v, c) next = Add(m, x)"
    body = f"b {trip} {{ {steps} goes_on = Identity(on) }}"
    proto = parsed(
        f"(float[4] x) => (float[4] y) <int64 count = {{{trips}}}, bool start = {{1}}> "
        f"{{ y = Loop(count, start, x)<body = {body}> }}"
    )
    x = np.arange(4, dtype=np.float32)
    if trips > 32:
        with pytest.raises(morello.MorelloError, match="Loop: a loop of 60 trips is"):
            read(proto)
        return
    assert np.array_equal(evaluated(proto, x), x * 1.875)
