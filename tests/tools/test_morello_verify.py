"""The judgement of outputs: exact, within the bound, special values."""

import numpy as np
import pytest

from morello.compiler.tuning.verify import judge
from morello.machine import AVX2
from morello.spec import Array, parse_spec

ROW = parse_spec("matmul:1x2x1:f32", AVX2.limits)
SUM = parse_spec("matmul_accum:1x1x1:f32", AVX2.limits)
MOVE = parse_spec("move:2:f32", AVX2.limits)
MAX = parse_spec("max:1x2:f32", AVX2.limits)
U = 2.0**-24
INF, NAN = float("inf"), float("nan")


def f32(*values: float) -> Array:
    return np.array(values, np.float32)


def row(a: tuple[float, float], b: tuple[float, float]) -> tuple[Array, Array]:
    return f32(*a).reshape(1, 1, 2), f32(*b).reshape(1, 2, 1)


def one(value: float) -> Array:
    return f32(value).reshape(1, 1, 1)


def test_exact_inputs_allow_no_other_bit() -> None:
    inputs = row((1, 2), (3, 4))
    assert judge(ROW, inputs, one(11), exact=True).holds
    near = np.nextafter(one(11), np.float32(12))
    verdict = judge(ROW, inputs, near, exact=True)
    assert not verdict.holds
    assert str(verdict).startswith("1 of 1 elements are not the definition's; out[0,")


def test_bound_is_that_of_two_roundings() -> None:
    inputs = row((1, 1), (1, 1))  # g * |A||B| is about 4 u; a step after 2 is 4 u
    step = np.nextafter(one(2), np.float32(3))
    allowed = judge(ROW, inputs, step, exact=False)
    assert allowed.holds
    assert not allowed.is_exact
    assert allowed.max_error == 4 * U
    assert allowed.of_bound == pytest.approx(1, abs=1e-5)
    refused = judge(ROW, inputs, np.nextafter(step, np.float32(3)), exact=False)
    assert not refused.holds
    assert refused.of_bound == pytest.approx(2, abs=1e-5)
    assert "of the bound g*|A||B|; out[0, 0, 0] is 2.0000004" in str(refused)


def test_initial_output_is_a_term_of_the_sum() -> None:
    inputs = (one(1), one(0.5), one(0.5))  # 2 terms: g * 1 is about 2 u
    step = np.nextafter(one(1), np.float32(2))
    assert judge(SUM, inputs, step, exact=False).holds
    assert not judge(SUM, inputs, np.nextafter(step, np.float32(2)), exact=False).holds


def test_rounding_below_the_normal_numbers() -> None:
    tiny = 2.0**-100
    assert judge(ROW, row((tiny, tiny), (tiny, tiny)), one(1e-45), exact=False).holds
    assert not judge(ROW, row((tiny, 0), (tiny, 0)), one(1e-44), exact=False).holds


@pytest.mark.parametrize(
    ("a", "got", "holds"),
    [
        ((INF, 1), INF, True),
        ((INF, 1), -INF, False),
        ((INF, 1), NAN, False),
        ((INF, 1), 3e38, False),
        ((NAN, 1), NAN, True),
        ((NAN, 1), 1, False),
        ((INF, -INF), NAN, True),
        ((1, 1), NAN, False),
        ((1, 1), INF, False),
        ((3e38, 3e38), INF, True),
        ((3e38, -3e38), INF, True),
    ],
)
def test_special_values(a: tuple[float, float], got: float, holds: bool) -> None:
    # The last two leave the range of f32 on their way, or may.
    assert judge(ROW, row(a, (1, 1)), one(got), exact=False).holds is holds


def test_moves_keep_every_bit() -> None:
    values = np.array([0x7FC00001, 0x80000000], np.uint32).view(np.float32)
    assert judge(MOVE, (values,), values.copy(), exact=False).holds
    other = np.array([0x7FC00000, 0x80000000], np.uint32).view(np.float32)
    assert judge(MOVE, (values,), other, exact=False).differing == 1
    assert judge(MOVE, (values,), np.abs(values), exact=False).differing == 1


def test_maximum_is_exact_on_all_data_but_which_nan_it_is() -> None:
    source = f32(NAN, 1).reshape(1, 2)
    assert judge(MAX, (source,), -f32(NAN), exact=False).holds
    assert not judge(MAX, (f32(1, 2).reshape(1, 2),), f32(1), exact=False).holds
    assert not judge(MAX, (f32(0, -0.0).reshape(1, 2),), f32(-0.0), exact=False).holds
