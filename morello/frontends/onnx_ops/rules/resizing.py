"""`Resize`: each axis by itself, as rows that are picked or sums of weighted rows.

The weights of an axis are what the reference of ONNX gives for a matrix of ones on its
diagonal.
"""

import importlib
from typing import Any

import numpy as np

from morello.errors import CompileError
from morello.frontends.onnx_ops.expansion import Arguments, Expansion, Results
from morello.frontends.onnx_ops.rules import windows

_MOST_TAPS = 4
"""Rows that are picked for each row of the result; more of them are a product."""

_MOST_WEIGHTS = 1 << 24

_COORDINATES = frozenset(
    {
        *(b"half_pixel", b"half_pixel_symmetric", b"pytorch_half_pixel"),
        *(b"align_corners", b"asymmetric", b"tf_crop_and_resize"),
    }
)
_OF_NEAREST = b"tf_half_pixel_for_nn"
"""The coordinates of an old version that only the nearest element has."""


def resized(to: Expansion, node: Arguments) -> Results:
    """Resize an image, axis by axis (ONNX ``Resize``).

    Raises:
        CompileError: factors or sizes are known only in a call.
    """
    x, shape, y_shape = node.input(0), to.shape(node.input(0)), to.shape(node.output(0))
    if len(shape) != len(y_shape):
        return None
    node.attributes()  # each mode reads some of them
    _check_modes(node)
    axes = [axis % len(shape) for axis in node.get("axes", None) or range(len(shape))]
    scales = _scales(to, node, [(shape[axis], y_shape[axis]) for axis in axes])
    roi = to.array(node.input(1)) if node.input(1) else None
    is_cropped = (
        node.get("coordinate_transformation_mode", b"") == b"tf_crop_and_resize"
    )
    if scales is None or (is_cropped and roi is None):
        raise CompileError(
            f"{node.name} (onnx.Resize) resizes by factors or to sizes that are known "
            "only in a call",
            "make 'roi', 'scales' and 'sizes' constants: constants={'name': value}",
        )
    now = list(shape)
    for number, (axis, scale) in enumerate(zip(axes, scales, strict=True)):
        part = (
            None if roi is None or not roi.size else roi[[number, number + len(axes)]]
        )
        scaled = _along(to, node, x, now, (axis, y_shape[axis], float(scale), part))
        if scaled is None:
            return None
        x, now[axis] = scaled, y_shape[axis]
    return [x]


def _check_modes(node: Arguments) -> None:
    """Refuse ways to resize that the standard does not have.

    Raises:
        CompileError: one that is none.
    """
    mode = node.get("mode", b"nearest")
    coordinates = node.get("coordinate_transformation_mode", b"half_pixel")
    known = _COORDINATES | ({_OF_NEAREST} if mode == b"nearest" else set())
    for what, value, values in (
        ("mode", mode, {b"nearest", b"linear", b"cubic"}),
        ("coordinate_transformation_mode", coordinates, known),
    ):
        if value not in values:
            names = ", ".join(sorted(one.decode() for one in values))
            raise CompileError(
                f"{node.name} (onnx.Resize): {what} is '{value.decode()}'",
                f"export the model with one of {names}",
            )


def _scales(
    to: Expansion, node: Arguments, sizes: list[tuple[int, int]]
) -> list[float] | None:
    """The factor of each axis; None for ones that are known only in a call."""
    factors = to.array(node.input(2)) if node.input(2) else None
    if factors is not None and factors.size == len(sizes):
        return [float(scale) for scale in factors]
    wanted = to.array(node.input(3)) if node.input(3) else None
    if wanted is None:
        return None
    policy = node.get("keep_aspect_ratio_policy", b"stretch")
    if policy == b"stretch":
        return [new / old for old, new in sizes]
    ratios = [int(new) / old for (old, _), new in zip(sizes, wanted, strict=True)]
    least = min(ratios) if policy == b"not_larger" else max(ratios)
    return [least] * len(sizes)


def _along(
    to: Expansion,
    node: Arguments,
    x: str,
    now: list[int],
    wanted: tuple[int, int, float, Any],
) -> str | None:
    """An image with another size along one axis; None for sizes that do not fit."""
    axis, new, scale, roi = wanted
    mode = node.get("coordinate_transformation_mode", b"half_pixel")
    if new == now[axis] and scale == 1 and mode != b"tf_crop_and_resize":
        return x
    if node.get("mode", b"nearest") == b"nearest" and not node.get("antialias", 0):
        places = windows.places(node, now[axis], new, scale)
        if places is not None:
            return windows.rows(to, x, places, axis, now)
    if new * now[axis] > _MOST_WEIGHTS:
        return None
    weights, outside = _weights(node, now[axis], (new, scale), roi)
    if len(weights) != new:
        return None
    y = _weighted(to, x, weights, axis, len(now))
    if outside.any():
        along = [1] * len(now)
        along[axis] = new
        value = to.number(node.get("extrapolation_value", 0.0))
        y = to.op("Where", to.constant(outside.reshape(along)), value, y)
    return y


def _weights(
    node: Arguments, size: int, scaling: tuple[int, float], roi: Any
) -> tuple[Any, Any]:
    """The weight of each row in each row of the result, and which of these are outside
    of the image.

    Args:
        scaling: the size of the result, and the factor.
    """
    new, scale = scaling
    mode = node.get("coordinate_transformation_mode", b"half_pixel")
    # Of these, the definition has the size of the result, not the factor.
    by_size = mode in (b"align_corners", b"tf_crop_and_resize") or scale == new / size
    helper: Any = importlib.import_module("onnx.helper")
    reference: Any = importlib.import_module("onnx.reference")
    attributes = node.attributes(without=("axes", "keep_aspect_ratio_policy"))
    attributes["extrapolation_value"] = _OUTSIDE
    inputs = ["x", "roi", *(["", "sizes"] if by_size else ["scales"])]
    resize = helper.make_node("Resize", inputs, ["y"], axes=[0], **attributes)
    kind = {"x": 11, "roi": 11} | ({"sizes": 7} if by_size else {"scales": 1})
    graph = helper.make_graph(
        [resize],
        "weights",
        [helper.make_tensor_value_info(n, t, None) for n, t in kind.items()],
        [helper.make_tensor_value_info("y", 11, None)],
    )
    opset = [helper.make_opsetid("", _RESIZES_AXES)]
    run = reference.ReferenceEvaluator(helper.make_model(graph, opset_imports=opset))
    feeds = {
        "x": np.eye(size),
        "roi": np.array([0.0, 1.0] if roi is None else roi, np.float64),
        "scales": np.array([scale], np.float32),
        "sizes": np.array([new], np.int64),
    }
    weights = np.asarray(run.run(None, {name: feeds[name] for name in kind})[0])
    outside = (weights == _OUTSIDE).all(1)
    return np.where(outside[:, None], 0, weights), outside


_OUTSIDE = 12345.0
"""No weight, so that it tells elements that are outside."""

_RESIZES_AXES = 19
"""A version in which `Resize` has all of its attributes."""


def _weighted(to: Expansion, x: str, weights: Any, axis: int, rank: int) -> str:
    """Sums of rows along an axis, each times its weights."""
    count = int((weights != 0).sum(1).max(initial=0))
    if count > _MOST_TAPS:
        order = [*(i for i in range(rank) if i != axis), axis]
        turned = to.op("Transpose", x, perm=order)
        matrix = to.constant(weights.T.astype(np.float32))
        back = [order.index(i) for i in range(rank)]
        return to.op("Transpose", to.op("MatMul", turned, matrix), perm=back)
    along = [1] * rank
    along[axis] = len(weights)
    taps = np.sort(np.argsort(weights == 0, axis=1, kind="stable")[:, :count], axis=1)
    total = ""
    for row in taps.T:
        factors = np.take_along_axis(weights, row[:, None], 1).astype(np.float32)
        part = to.op("Gather", x, to.constant(row.copy()), axis=axis)
        if (factors != 1).any():
            part = to.op("Mul", part, to.constant(factors.reshape(along)))
        total = to.op("Add", total, part) if total else part
    return total or to.op("Mul", x, to.number(0.0))


RULES = {"Resize": resized}
