"""Padded windows of ONNX, and results that are known before a call."""

import math

import numpy as np
import pytest

from tests.onnx.models import drawn, model, node, read

pytestmark = pytest.mark.quick


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
    graph = read(model([layer], {"x": shape}, {"y": result}, {}))
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
        [node("CumSum", ["x", "a"], ["y"])],
        {"x": (1, 4)},
        {"y": (1, 4)},
        {"a": np.array(1)},
    )
    x = np.array([[1, 2, np.inf, np.nan]], np.float32)
    result = read(proto).compile(threads=1)(x)
    np.testing.assert_array_equal(result, [[1, 3, np.inf, np.nan]])


def test_a_result_may_be_known_before() -> None:
    sizes = {"sizes": np.zeros(2, np.int64)}
    proto = model([node("Shape", ["x"], ["sizes"])], {"x": (4, 4)}, sizes)
    result = read(proto).compile(threads=1)(np.zeros((4, 4), np.float32))
    np.testing.assert_array_equal(result, np.array([4, 4], np.int64), strict=True)
