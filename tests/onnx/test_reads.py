"""What nodes of ONNX have is read, or refused by name."""

import os
from typing import Any

import numpy as np
import pytest
from onnx import helper

import morello
from morello.errors import CompileError
from morello.frontends import onnx as onnx_front_end
from morello.frontends.onnx_ops.culprits import reason
from morello.frontends.onnx_ops.reads import check_read
from morello.frontends.onnx_ops.results import check_results
from morello.mlir import ir
from tests.onnx.models import evaluated, model, node, parsed, read
from tests.tables import rows

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("text", "words"),
    [pytest.param(*row[1:], id=row[0]) for row in rows(__file__, "refused")],
)
def test_what_is_refused_is_named(text: str, words: str) -> None:
    proto = parsed(text)
    proto.opset_import[0].version = 28 if "BitCast" in text else 21
    with pytest.raises(morello.MorelloError, match=words):
        read(proto)


def test_an_input_that_nothing_reads_is_refused() -> None:
    layer = node("Resize", ["x", "roi", "s"], ["y"], name="layer")
    words = r"layer \(onnx\.Resize\): the input roi is given \('roi'\)"
    with pytest.raises(CompileError, match=words):
        check_read(layer, {"": 20}, attributes=(), inputs=(0, 2))


def test_the_nodes_that_are_not_known_are_named_in_a_sentence() -> None:
    layers = [
        node("Relu", ["x"], ["r"]),
        node("TfIdfLike", ["r", "x"], ["g"], name="one"),
        node("Neg", ["g"], ["y"]),
    ]
    proto = model(layers, {"x": (1, 4)}, {"y": (1, 4)})
    kind = helper.make_tensor_value_info("g", 1, (1, 4))
    proto.graph.value_info.append(kind)
    words = r"not know one \(onnx.TfIdfLike of float\[1,4\], float\[1,4\]\) with"
    with pytest.raises(CompileError, match=words) as caught:
        read(proto)
    assert "Relu" not in str(caught.value)


def test_a_default_that_is_written_is_none() -> None:
    layer = node("LRN", ["x"], ["y"], size=3, alpha=1e-4)
    assert read(model([layer], {"x": (1, 4, 2, 2)}, {"y": (1, 4, 2, 2)})).parts


NUMBERS = np.arange(6, dtype=np.float32)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("start", "end", "step"),
    [
        (5, -100, -1),
        (6, -100, -1),
        (6, 0, -2),
        (2**63 - 1, -(2**63), -1),
        (7, -8, -2),
        (-1, -7, -1),
        (-3, -100, -2),
        (4, 1, -1),
        (-100, 3, 1),
        (0, 6, 4),
    ],
)
def test_slices_begin_and_end_within_the_tensor(
    start: int, end: int, step: int
) -> None:
    constants = {
        name: np.array([value])
        for name, value in {"s": start, "e": end, "a": 0, "t": step}.items()
    }
    wanted = NUMBERS[slice(start, end if abs(end) < 7 or step > 0 else None, step)]
    layer = node("Slice", ["x", *constants], ["y"])
    proto = model([layer], {"x": (6,)}, {"y": wanted.shape}, constants)
    np.testing.assert_array_equal(evaluated(proto, NUMBERS), wanted)


@pytest.mark.parametrize(
    ("result", "fits"),
    [("6xf32", True), ("7xf32", False), ("6xf64", False), ("6x1xf32", False)],
)
def test_results_have_the_declared_type(result: str, fits: bool) -> None:
    proto = model([node("Exp", ["x"], ["y"])], {"x": (6,)}, {"y": (6,)})
    kind = f"tensor<{result}>"
    text = f"func.func @f(%x: {kind}) -> {kind} {{ return %x : {kind} }}"
    with ir.Context():
        module = ir.Module.parse(text)
        if fits:
            check_results(module.operation, proto, "model")
            return
        with pytest.raises(CompileError, match="the result 'y' is 6 float by the mod"):
            check_results(module.operation, proto, "model")


def test_a_refusal_is_found_once(
    tried_first: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = os.getpid()

    def refused(*_: object) -> bytes:
        assert os.getpid() != pid, "the child has said it"
        raise CompileError("a node is not known", "leave it out")

    monkeypatch.setattr(onnx_front_end, "_bytecode", refused)
    proto = model([node("Relu", ["x"], ["y"])], {"x": (1, 4)}, {"y": (1, 4)})
    with pytest.raises(CompileError) as caught:
        read(proto)
    assert (caught.value.what, caught.value.remedy) == (
        "a node is not known",
        "leave it out",
    )


class _Failed(ir.MLIRError):
    """An error of MLIR without diagnostics."""

    def __init__(self) -> None:
        Exception.__init__(self, "no")


def test_equal_nodes_are_tried_once() -> None:
    layers = [
        node("Neg", ["x"], ["a"], name="one"),
        node("Neg", ["a"], ["b"], name="two"),
        node("Elu", ["b"], ["c"], name="three", alpha=0.5),
        node("Elu", ["c"], ["y"], name="four", alpha=0.25),
    ]
    proto = model(layers, {"x": (1, 4)}, {"y": (1, 4)})
    for name in "abc":
        kind = helper.make_tensor_value_info(name, 1, (1, 4))
        proto.graph.value_info.append(kind)
    tried = []

    def fails(part: Any) -> bool:
        tried.append(part.graph.node[0].op_type)
        return True

    text = reason(proto, _Failed(), "model", fails)
    assert tried == ["Neg", "Elu", "Elu"]
    words = ", ".join(
        f"{name} (onnx.{kind} of float[1,4])"
        for name, kind in (("one", "Neg"), ("two", "Neg"), ("three", "Elu"))
    )
    assert text == f"torch-mlir does not know {words} and 1 more with these arguments"
