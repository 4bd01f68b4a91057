"""Ops of ONNX that are windows, places and products along axes."""

import math
from typing import Any

import numpy as np
import pytest

import morello
from tests.onnx.models import check_by_reference, drawn, model, node

pytestmark = pytest.mark.quick

IMAGE = (1, 2, 4, 4)


def scales(*factors: float) -> dict[str, Any]:
    return {"s": np.array([1, 1, *factors], np.float32)}


def pool(**options: Any) -> Any:
    return node(
        "AveragePool", ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2], **options
    )


def axis(number: int) -> dict[str, Any]:
    return {"a": np.array(number, np.int64)}


APART = {"i": np.array([[0, 1], [1, 2], [3, 0], [-2, 2]], np.int64)}
ALIKE = {"i": np.array([[3, -3]] * 4, np.int64)}
CEILING = {"ceil_mode": 1, "pads": [1, 1, 1, 1]}

CASES = [
    (node("Resize", ["x", "", "s"], ["y"]), IMAGE, (1, 2, 12, 8), scales(3, 2)),
    (node("Resize", ["x", "", "s"], ["y"]), IMAGE, (1, 2, 6, 6), scales(1.5, 1.5)),
    (node("Resize", ["x", "", "s"], ["y"]), IMAGE, (1, 2, 2, 2), scales(0.5, 0.5)),
    (
        node("Resize", ["x", "", "", "s"], ["y"], nearest_mode="ceil"),
        IMAGE,
        (1, 2, 8, 4),
        {"s": np.array([1, 2, 8, 4], np.int64)},
    ),
    (node("GatherElements", ["x", "i"], ["y"], axis=1), (4, 4), (4, 2), APART),
    (node("GatherElements", ["x", "i"], ["y"], axis=1), (4, 4), (4, 2), ALIKE),
    (node("CumSum", ["x", "a"], ["y"]), (4, 5), (4, 5), axis(1)),
    (node("CumSum", ["x", "a"], ["y"], reverse=1), (4, 5), (4, 5), axis(-1)),
    (node("CumSum", ["x", "a"], ["y"], exclusive=1), (3, 5, 2), (3, 5, 2), axis(1)),
    (
        node("CumSum", ["x", "a"], ["y"], exclusive=1, reverse=1),
        (4, 5),
        (4, 5),
        axis(0),
    ),
    (pool(ceil_mode=1), IMAGE, (1, 2, 2, 2), {}),
    (pool(**CEILING), IMAGE, (1, 2, 3, 3), {}),
    (pool(count_include_pad=1, **CEILING), IMAGE, (1, 2, 3, 3), {}),
    (node("MeanVarianceNormalization", ["x"], ["y"]), IMAGE, IMAGE, {}),
    (node("MeanVarianceNormalization", ["x"], ["y"], axes=[1]), IMAGE, IMAGE, {}),
    (
        node("ReduceProd", ["x", "a"], ["y"], keepdims=0),
        (4, 5),
        (4,),
        {"a": np.array([1], np.int64)},
    ),
    (
        node("ReduceProd", ["x", "a"], ["y"], keepdims=0),
        (2, 4),
        (),
        {"a": np.array([], np.int64)},
    ),
    (
        node("DepthToSpace", ["x"], ["y"], blocksize=2, mode="CRD"),
        (1, 8, 2, 3),
        (1, 2, 4, 6),
        {},
    ),
    (node("DepthToSpace", ["x"], ["y"], blocksize=2), (1, 8, 2, 3), (1, 2, 4, 6), {}),
    (node("SpaceToDepth", ["x"], ["y"], blocksize=2), (1, 2, 4, 6), (1, 8, 2, 3), {}),
    (node("Floor", ["x"], ["y"]), (4, 5), (4, 5), {}),
    (node("Round", ["x"], ["y"]), (4, 5), (4, 5), {}),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("layer", "shape", "result", "constants"),
    CASES,
    ids=lambda value: value.op_type if hasattr(value, "op_type") else "",
)
def test_it_computes_what_the_reference_does(
    layer: Any,
    shape: tuple[int, ...],
    result: tuple[int, ...],
    constants: dict[str, Any],
) -> None:
    proto = model([layer], {"x": shape}, {"y": result}, constants)
    check_by_reference(proto, drawn(shape), rtol=1e-5, atol=1e-6)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("shape", "pads"),
    [
        ((2, 3, 5, 7), (1, 2, 0, 1)),
        ((1, 1, 4, 4), (0, 0, 2, 0)),
        ((1, 4, 9), (2, 1)),
        ((1, 2, 3, 4, 5), (1, 0, 1, 0, 2, 1)),
    ],
)
def test_what_is_around_an_image_is_filled_alone(
    shape: tuple[int, ...], pads: tuple[int, ...]
) -> None:
    axes = len(shape) - 2
    sums = [a + b for a, b in zip(pads[:axes], pads[axes:], strict=True)]
    padded = [n + more for n, more in zip(shape[2:], sums, strict=True)]
    result = (*shape[:2], *(n - 2 for n in padded))
    layer = node("MaxPool", ["x"], ["y"], kernel_shape=[3] * axes, pads=list(pads))
    proto = model([layer], {"x": shape}, {"y": result}, {})
    graph = morello.from_onnx(proto.SerializeToString())
    filled = [part for part in graph.parts if part.kind.label == "fill"]
    images = math.prod(shape[:2])
    around = images * (math.prod(padded) - math.prod(shape[2:]))
    assert sum(math.prod(part.sizes) for part in filled) == around
    x = -np.abs(drawn(shape))
    x.flat[::3] = -np.inf
    x.flat[::11] = np.nan
    wide = np.full((*shape[:2], *padded), -np.inf, np.float32)
    sides = zip(pads[:axes], shape[2:], strict=True)
    inside = (slice(before, before + n) for before, n in sides)
    wide[:, :, *inside] = x
    windows = np.lib.stride_tricks.sliding_window_view(
        wide, (3,) * axes, tuple(range(2, axes + 2))
    )
    wanted = windows.max(tuple(range(axes + 2, 2 * axes + 2)))
    for computed in (graph.evaluate(x), graph.compile(threads=1)(x)):
        np.testing.assert_array_equal(computed, wanted)


def test_a_sum_so_far_is_not_touched_by_what_comes_after() -> None:
    proto = model(
        [node("CumSum", ["x", "a"], ["y"])], {"x": (1, 4)}, {"y": (1, 4)}, axis(1)
    )
    x = np.array([[1, 2, np.inf, np.nan]], np.float32)
    result = morello.from_onnx(proto.SerializeToString()).compile(threads=1)(x)
    np.testing.assert_array_equal(result, [[1, 3, np.inf, np.nan]])


def test_a_result_may_be_known_before() -> None:
    sizes = {"sizes": np.zeros(2, np.int64)}
    proto = model([node("Shape", ["x"], ["sizes"])], {"x": (4, 4)}, sizes)
    read = morello.from_onnx(proto.SerializeToString())
    result = read.compile(threads=1)(np.zeros((4, 4), np.float32))
    np.testing.assert_array_equal(result, np.array([4, 4], np.int64), strict=True)


def test_recurrences_are_unrolled() -> None:
    shapes = {"w": (1, 24, 4), "r": (1, 24, 6), "b": (1, 48)}
    lstm = node("LSTM", ["x", "w", "r", "b"], ["y"], hidden_size=6)
    proto = model([lstm], {"x": (5, 2, 4)}, {"y": (5, 1, 2, 6)}, shapes)
    check_by_reference(proto, drawn((5, 2, 4)), rtol=1e-5, atol=1e-6)
