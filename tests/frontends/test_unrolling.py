"""Loops of a known number of trips are written out; others are refused by why."""

import numpy as np
import pytest

import morello

FOR = """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %low = arith.constant {} : index
  %high = arith.constant {} : index
  %step = arith.constant {} : index
  %r = scf.for %i = %low to %high step %step iter_args(%a = %x) -> tensor<4xf32> {{
    %e = tensor.empty() : tensor<4xf32>
    %y = linalg.add ins(%a, %x : tensor<4xf32>, tensor<4xf32>)
        outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %y : tensor<4xf32>
  }}
  return %r : tensor<4xf32>
}}
"""


@pytest.mark.parametrize(
    ("bounds", "trips"), [((0, 3, 1), 3), ((2, 9, 3), 3), ((4, 4, 1), 0)]
)
def test_a_loop_of_scf_is_written_out(bounds: tuple[int, ...], trips: int) -> None:
    x = np.arange(4, dtype=np.float32)
    result = morello.from_mlir(FOR.format(*bounds)).evaluate(x)
    assert np.array_equal(result, x * (trips + 1))


WHILE = """
func.func @f(%x: tensor<4xf32>, %rows: tensor<6x4xf32>)
    -> (tensor<4xf32>, tensor<6x4xf32>) {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<6x4xf32>
  %r:3 = stablehlo.while(%i = %zero, %a = %x, %sums = %none)
      : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  cond {{
    {}
    stablehlo.return %on : tensor<i1>
  }} do {{
    %first = stablehlo.constant dense<0> : tensor<i32>
    %row = stablehlo.dynamic_slice %rows, %i, %first, sizes = [1, 4]
        : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %flat = stablehlo.reshape %row : (tensor<1x4xf32>) -> tensor<4xf32>
    %sum = func.call @sum(%a, %flat) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %wide = stablehlo.reshape %sum : (tensor<4xf32>) -> tensor<1x4xf32>
    %next = stablehlo.dynamic_update_slice %sums, %wide, %i, %first
        : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>)
        -> tensor<6x4xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %sum, %next : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  }}
  return %r#1, %r#2 : tensor<4xf32>, tensor<6x4xf32>
}}
func.func private @sum(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {{
  %y = stablehlo.add %a, %b : tensor<4xf32>
  return %y : tensor<4xf32>
}}
"""

BELOW = """%end = stablehlo.constant dense<{}> : tensor<i32>
    %on = stablehlo.compare LT, %i, %end, SIGNED
        : (tensor<i32>, tensor<i32>) -> tensor<i1>"""

POSITIVE = """%one = stablehlo.slice %a [0:1] : (tensor<4xf32>) -> tensor<1xf32>
    %first = stablehlo.reshape %one : (tensor<1xf32>) -> tensor<f32>
    %end = stablehlo.constant dense<5.0> : tensor<f32>
    %on = stablehlo.compare LT, %first, %end
        : (tensor<f32>, tensor<f32>) -> tensor<i1>"""


def test_a_scan_is_written_out() -> None:
    model = morello.from_mlir(WHILE.format(BELOW.format(6)))
    rng = np.random.default_rng(0)
    x, rows = (rng.standard_normal(s, np.float32) for s in ((4,), (6, 4)))
    last, sums = model.compile(threads=1, time_limit=1)(x, rows)
    wanted = np.add.accumulate(np.concatenate([x[None], rows]), axis=0)[1:]
    assert np.array_equal(sums, wanted)
    assert np.array_equal(last, wanted[-1])


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (WHILE.format(BELOW.format(40)), "a loop of 40 trips is not unrolled: at most"),
        (WHILE.format(BELOW.format(10**9)), "a loop of more than 1000 trips is not"),
        (WHILE.format(POSITIVE), "how often the loop runs depends on data"),
        (FOR.format(0, 50, 1), "scf.for: a loop of 50 trips is not unrolled"),
        (FOR.format(0, 50, 0), "scf.for: how often the loop runs depends on data"),
    ],
)
def test_other_loops_are_refused_by_why(text: str, reason: str) -> None:
    with pytest.raises(morello.MorelloError, match=reason):
        morello.from_mlir(text)


def test_a_bound_that_many_ops_compute_is_known() -> None:
    lines = ["%v0 = arith.constant 0 : index", "%one = arith.constant 1 : index"]
    lines += [f"%v{i + 1} = arith.addi %v{i}, %v{i} : index" for i in range(3000)]
    text = FOR.format(0, 1, 1).replace("to %high", "to %v3000")
    text = text.replace("%low =", "\n".join(lines) + "\n%low =")
    x = np.arange(4, dtype=np.float32)
    assert np.array_equal(morello.from_mlir(text).evaluate(x), x)


CHOICE = """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %low = arith.constant 0 : index
  %high = arith.constant 3 : index
  %step = arith.constant 1 : index
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<4xf32>
  cond {{
    %end = stablehlo.constant dense<3> : tensor<i32>
    %on = stablehlo.compare LT, %i, %end, SIGNED
        : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %on : tensor<i1>
  }} do {{
    %one = stablehlo.constant dense<1> : tensor<i32>
    {}
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %y : tensor<i32>, tensor<4xf32>
  }}
  return %r#1 : tensor<4xf32>
}}
"""

BRANCHES = """
      %s = stablehlo.add %a, %x : tensor<4xf32>
      stablehlo.return %s : tensor<4xf32>
    }, {
      %p = stablehlo.multiply %a, %x : tensor<4xf32>
      stablehlo.return %p : tensor<4xf32>
    }) """

CASE = f"""%y = "stablehlo.case"(%i) ({{{BRANCHES} : (tensor<i32>) -> tensor<4xf32>"""
IF = f"""%is = stablehlo.compare EQ, %i, %one, SIGNED
        : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %y = "stablehlo.if"(%is) ({{{BRANCHES} : (tensor<i1>) -> tensor<4xf32>"""


def test_what_is_chosen_in_each_trip_is_known() -> None:
    x = np.arange(4, dtype=np.float32)
    by_case = morello.from_mlir(CHOICE.format(CASE)).evaluate(x)
    assert np.array_equal(by_case, (x + x) * x * x)
    by_if = morello.from_mlir(CHOICE.format(IF)).evaluate(x)
    assert np.array_equal(by_if, (x * x + x) * x)
