"""Models of ONNX with a size that each call says: results of ONNX's reference."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import morello
from morello.errors import ArgumentError, MorelloError
from morello.frontends.refusals import ModelError
from tests.guarded import check_canaries, check_in_child, guarded_array
from tests.onnx.models import model, node, read

pytestmark = pytest.mark.usefixtures("one_database")


def layer(batch: int | str) -> Any:
    """Norms, a product that its shape turns into rows, and a sum with its input."""
    return model(
        [
            node("LayerNormalization", ["x", "scale", "shift"], ["n"], axis=-1),
            node("MatMul", ["n", "w"], ["t"]),
            node("Relu", ["t"], ["r"]),
            node("Shape", ["x"], ["shape"]),
            node("MatMul", ["r", "v"], ["u"]),
            node("Reshape", ["u", "shape"], ["back"]),
            node("Add", ["x", "back"], ["y"]),
        ],
        {"x": (batch, 3, 8)},
        {"y": (batch, 3, 8)},
        {"scale": (8,), "shift": (8,), "w": (8, 12), "v": (12, 8)},
    )


@pytest.mark.sampled(3)
def test_every_size_is_right_and_touches_nothing_else() -> None:
    proto = layer("batch")
    program = read(proto, ranges={"batch": "1..5"})
    assert any("3..15/3x12x8" in spec for spec in program.specs("avx2"))
    kernel = program.compile(threads=1)
    reference = ReferenceEvaluator(proto)

    def run() -> None:
        for batch in range(1, 6):
            rng = np.random.default_rng(batch)
            values = rng.standard_normal((batch, 3, 8), np.float32)
            (wanted,) = reference.run(None, {"x": values})
            for side in ("start", "end"):
                x = guarded_array(values, "x", side)
                out = guarded_array(np.zeros_like(values), "out", side)
                assert kernel(x, out=out) is out
                np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-5)
                check_canaries(x)
                check_canaries(out)

    check_in_child(run)
    with pytest.raises(ArgumentError, match="batch is 6, and the kernel takes 1 to 5"):
        kernel(np.zeros((6, 3, 8), np.float32))


@pytest.mark.quick
def test_names_of_sizes_that_a_file_leaves_open() -> None:
    proto = model([node("Exp", ["x"], ["y"])], {"x": ("n", "m")}, {"y": ("n", "m")})
    program = read(proto, shapes={"x": ("rows", 4)}, ranges={"rows": "2..6/2"})
    assert [str(p.sizes[0]) for p in program.parameters] == ["2 to 6 in steps of 2"] * 2


@pytest.mark.quick
@pytest.mark.parametrize(
    ("op", "ranges", "part"),
    [
        ("Exp", {"n": "1..4", "m": "1..4"}, "n and m have ranges"),
        ("Exp", {"b": "1..4"}, "no input with a dimension 'b'"),
        ("Exp", {"n": "8"}, "'8' is no range of sizes"),
        ("Exp", {"n": "9..1"}, "'9..1' holds no sizes"),
        ("Exp", {"n": "1..4"}, "input 'x' has the shape (n, m)"),
    ],
)
def test_ranges_that_are_refused(op: str, ranges: dict[str, str], part: str) -> None:
    proto = model([node(op, ["x"], ["y"])], {"x": ("n", "m")}, {"y": ("n", "m")})
    with pytest.raises(MorelloError) as refused:
        read(proto, ranges=ranges)
    assert part in str(refused.value)


def test_a_mean_over_the_size() -> None:
    mean = node("ReduceMean", ["x", "axes"], ["y"])
    axes = {"axes": np.array([0], np.int64)}
    proto = model([mean], {"x": ("n", 4)}, {"y": (1, 4)}, axes)
    model_of_all = read(proto, ranges={"n": "2..4"})
    kernel = model_of_all.compile(threads=1)
    for size in (2, 3, 4):
        x = np.arange(4.0 * size, dtype=np.float32).reshape(size, 4) ** 2
        np.testing.assert_allclose(kernel(x), x.mean(0, keepdims=True), rtol=1e-6)


def test_a_branch_by_one_of_the_sizes_is_refused() -> None:
    text = """<ir_version: 8, opset_import: ["" : 21]> g (float[batch,4] x) =>
    (float[batch,4] y) <int64[2] seven = {7, 4}, int64[1] axis = {0}> {
      shape = Shape(x)
      same = Equal(shape, seven)
      numbers = Cast<to=6>(same)
      least = ReduceMin<keepdims=0>(numbers, axis)
      is_seven = Cast<to=9>(least)
      y = If(is_seven) <
        then_branch = a () => (float[batch,4] r) { r = Neg(x) },
        else_branch = b () => (float[batch,4] s) { s = Relu(x) }>
    }"""
    data = onnx.parser.parse_model(text).SerializeToString()
    with pytest.raises(ModelError, match="may choose by the size 'batch'"):
        morello.from_onnx(data, ranges={"batch": "1..16"})
