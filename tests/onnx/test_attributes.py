"""Attributes at unusual values: what ONNX's reference computes, or a refusal by name.

A part of the table is drawn anew in each run; MORELLO_TEST_SEED gives it again. The
whole: MORELLO_TEST_ALL=1.
"""

import itertools
import os
import random
from typing import Any

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

import morello
from tests.onnx.models import model, node, read

pytestmark = pytest.mark.filterwarnings("ignore")

COUNT = 10
"""Of the cases of a run."""

RNG = np.random.default_rng(0)
Case = tuple[str, list[Any], list[Any], dict[str, Any]]
"""An op, its arguments, its constants after them, its attributes."""


def f32(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def i64(*values: int) -> Any:
    return np.array(values, np.int64)


def _windows() -> list[Case]:
    """Convolutions and pools."""
    cases: list[Case] = []
    image, filters = f32(1, 4, 7, 6), f32(6, 2, 3, 2)
    for options in (
        {"strides": [2, 3]},
        {"pads": [1, 0, 2, 1]},
        {"dilations": [2, 1]},
        {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
        {"auto_pad": "VALID", "strides": [2, 2]},
    ):
        cases.append(("Conv", [image], [filters], {"group": 2, **options}))
        transposed = f32(4, 3, 3, 2)
        if options.get("auto_pad") != "VALID":
            cases.append(("ConvTranspose", [image], [transposed], options))
        pool = {"kernel_shape": [3, 2], **options}
        cases.append(("AveragePool", [image], [], pool))
        cases.append(("LpPool", [image], [], pool))
        if "pads" not in options:  # of which the reference knows only equal ones
            cases.append(("MaxPool", [image], [], pool))
        if "auto_pad" not in options:
            cases.append(("AveragePool", [image], [], {"ceil_mode": 1, **pool}))
        included = {"count_include_pad": 1, "kernel_shape": [3, 2], **options}
        cases.append(("AveragePool", [image], [], included))
    pool = {"kernel_shape": [2, 2], "p": 3}
    cases.append(("LpPool", [np.abs(image)], [], pool))
    return cases


_SUMS = ("LogSum", "LogSumExp", "Mean", "Sum", "SumSquare")


def _reductions() -> list[Case]:
    cases: list[Case] = []
    x = np.abs(f32(2, 3, 4)) + np.float32(0.1)
    for name in (*_SUMS, "L1", "L2", "Max", "Min", "Prod"):
        for axes, keepdims in itertools.product(([i64(-1)], [i64(0, 2)], []), (0, 1)):
            cases.append((f"Reduce{name}", [x], axes, {"keepdims": keepdims}))
        if name in ("Max", "Mean", "Min", "Sum"):
            cases.append((f"Reduce{name}", [x], [], {"noop_with_empty_axes": 1}))
    for name, last in itertools.product(("ArgMax", "ArgMin"), (0, 1)):
        tied = np.array([[1, 3, 3], [2, 2, 2], [-1, -5, -5]], np.float32)
        cases.append((name, [tied], [], {"axis": -1, "select_last_index": last}))
    for axis in (0, 1, -1):
        cases += [(n, [x], [], {"axis": axis}) for n in ("Softmax", "LogSoftmax")]
        cases.append(("Hardmax", [x], [], {"axis": axis}))
    for exclusive, reverse in itertools.product((0, 1), (0, 1)):
        options = {"exclusive": exclusive, "reverse": reverse}
        cases.append(("CumSum", [f32(3, 5)], [np.array(1)], options))
    return cases


def _resizes() -> list[Case]:
    cases: list[Case] = []
    empty = np.zeros(0, np.float32)
    ways = ("half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric")
    for mode, way, sizes in itertools.product(
        ("nearest", "linear", "cubic"), ways, ((9, 4), (4, 10))
    ):
        options = {"mode": mode, "coordinate_transformation_mode": way}
        constants = [empty, empty, i64(1, 2, *sizes)]
        cases.append(("Resize", [f32(1, 2, 6, 5)], constants, options))
    for how in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        constants = [empty, empty, i64(1, 1, 9)]
        cases.append(("Resize", [f32(1, 1, 6)], constants, {"nearest_mode": how}))
    for options in ({"antialias": 1}, {"exclude_outside": 1}, {"cubic_coeff_a": -0.5}):
        constants = [empty, empty, i64(1, 2, 4, 9)]
        options = {"mode": "cubic", **options}
        cases.append(("Resize", [f32(1, 2, 6, 5)], constants, options))
    return cases


def _others() -> list[Case]:
    """Arguments that are no numbers of f32; others are rows of `nodes.tsv`."""
    return [
        ("OneHot", [i64(0, 2, -1)], [np.array(4), np.float32([-2, 3])], {"axis": 0}),
        ("IsInf", [np.float32([np.inf, -np.inf, 1])], [], {"detect_positive": 0}),
        ("Mod", [np.array([5, -5, 7, -7])], [np.array([3, 3, -3, -3])], {"fmod": 1}),
    ]


CASES = [*_windows(), *_reductions(), *_resizes(), *_others()]


def _drawn() -> list[Case]:
    if os.environ.get("MORELLO_TEST_ALL"):
        return CASES
    return random.Random(os.environ.get("MORELLO_TEST_SEED", "0")).sample(CASES, COUNT)


def _name(case: Case) -> str:
    return f"{case[0]}-{case[3]}"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", _drawn(), ids=_name)
def test_it_is_read_or_refused(case: Case) -> None:
    op, arrays, constants, attributes = case
    inputs = {f"x{place}": array for place, array in enumerate(arrays)}
    held = {f"c{place}": array for place, array in enumerate(constants)}
    names = [*inputs, *(name if held[name].size else "" for name in held)]
    layer = node(op, names, ["y"], name="layer", **attributes)
    kinds = {"ArgMax": 7, "ArgMin": 7, "IsInf": 9, "Mod": 7}
    proto = model([layer], inputs, {"y": kinds.get(op, 1)}, held)
    (wanted,) = ReferenceEvaluator(proto).run(None, inputs)
    try:
        program = read(proto, fallback=True)
    except morello.MorelloError as error:
        if "layer" not in str(error):
            raise
        return
    result = program.evaluate(*arrays)
    assert isinstance(result, np.ndarray)
    assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=2e-6)
