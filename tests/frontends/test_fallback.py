"""What is no Spec is computed by plain lowering: heavy ops where that is asked."""

import pickle
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import morello
from morello.frontends.model import Model
from morello.frontends.refusals import ModelError
from morello.runtime.object_file import undefined_symbols
from tests.frontends.maps import elementwise

pytestmark = pytest.mark.usefixtures("one_database")


LOOKUP = """
func.func @lookup(%table: tensor<5x4xf32>, %w: tensor<4x4xf32>, %i: tensor<3xi32>)
    -> tensor<3x4xf32> {
  %t = stablehlo.dot_general %table, %w, contracting_dims = [1] x [0]
      : (tensor<5x4xf32>, tensor<4x4xf32>) -> tensor<5x4xf32>
  %c = stablehlo.reshape %i : (tensor<3xi32>) -> tensor<3x1xi32>
  %g = "stablehlo.gather"(%t, %c) <{dimension_numbers = #stablehlo.gather<
      offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],
      index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}>
      : (tensor<5x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  %r = stablehlo.abs %g : tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}
"""


def drawn(*shape: int) -> np.ndarray:
    """Small integers, whose sums of products are exact."""
    rng = np.random.default_rng(sum(shape))
    return rng.integers(-4, 5, shape).astype(np.float32)


def read(text: str) -> Model:
    return morello.from_mlir(text, source="mine.mlir", fallback=True)


@pytest.mark.quick
def test_a_gather_between_specs_is_one_call_and_said() -> None:
    model = morello.from_mlir(LOOKUP, source="mine.mlir")
    assert [r.op for r in model.fallback] == ["stablehlo.gather"]
    assert model.fallback[0].place.startswith("mine.mlir:7:")
    assert "fallback: t" in str(model)
    assert "= stablehlo.gather of" in str(model)
    compiled = model.compile()
    assert compiled.fallback == model.fallback
    assert "2 parts, 1 op by plain lowering" in repr(compiled)
    table, w, places = drawn(5, 4), drawn(4, 4), np.array([4, 0, 2], np.int32)
    wanted = np.abs((table @ w)[places])
    np.testing.assert_array_equal(compiled(table, w, places), wanted)
    np.testing.assert_array_equal(model.evaluate(table, w, places), wanted)
    again = pickle.loads(pickle.dumps(compiled))
    np.testing.assert_array_equal(again(table, w, places), wanted)
    assert again.fallback == model.fallback
    far = np.array([5, -1, 2**31 - 1], np.int32)  # as StableHLO has it: the nearest
    nearest = np.abs((table @ w)[[4, 0, 4]])
    np.testing.assert_array_equal(compiled(table, w, far), nearest)


UNCHECKED = """
func.func @f(%x: tensor<4x2xf32>, %i: tensor<3xi64>, %n: tensor<3xi32>)
    -> (tensor<3x2xf32>, tensor<3xi32>, tensor<3xi64>) {
  %e = tensor.empty() : tensor<3x2xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>,
      affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<3xi64>) outs(%e : tensor<3x2xf32>) {
    ^bb0(%k: i64, %o: f32):
      %row = arith.index_cast %k : i64 to index
      %column = linalg.index 1 : index
      %v = tensor.extract %x[%row, %column] : tensor<4x2xf32>
      linalg.yield %v : f32
  } -> tensor<3x2xf32>
  %f = tensor.empty() : tensor<3xi32>
  %q = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>,
      affine_map<(a) -> (a)>], iterator_types = ["parallel"]}
      ins(%n : tensor<3xi32>) outs(%f : tensor<3xi32>) {
    ^bb0(%d: i32, %o: i32):
      %c = arith.constant -2147483648 : i32
      %v = arith.divsi %c, %d : i32
      linalg.yield %v : i32
  } -> tensor<3xi32>
  return %y, %q, %i : tensor<3x2xf32>, tensor<3xi32>, tensor<3xi64>
}
"""


def test_places_and_divisors_that_are_data_do_no_harm() -> None:
    """They may be a stranger's: nothing is read outside, and nothing traps."""
    compiled = read(UNCHECKED).compile()
    x, far = drawn(4, 2), np.array([2**40, -(2**40), 1])
    y, quotients, same = compiled(x, far, np.array([0, -1, 2], np.int32))
    np.testing.assert_array_equal(y, x[[3, 0, 1]])
    np.testing.assert_array_equal(quotients, [-(2**31), -(2**31), -(2**30)])
    np.testing.assert_array_equal(same, far)
    assert not np.shares_memory(same, far)


DIVISIONS: dict[str, Callable[[int, int], int]] = {
    "divsi": lambda a, b: int(Fraction(a, b)),
    "floordivsi": lambda a, b: a // b,
    "ceildivsi": lambda a, b: -(-a // b),
    "remsi": lambda a, b: a - b * int(Fraction(a, b)),
    "divui": lambda a, b: a // b,
    "ceildivui": lambda a, b: -(-a // b),
    "remui": lambda a, b: a % b,
}


@pytest.mark.parametrize("op", DIVISIONS)
def test_divisions_are_exact_but_where_a_processor_would_stop(op: str) -> None:
    """By 0, and of the least number by -1, it is by 1."""
    a = np.array([7, -7, 7, -7, -(2**31), -(2**31), 5, -1, 2**31 - 1], np.int32)
    b = np.array([2, 2, -2, -2, -1, 1, 0, -(2**31), -1], np.int32)
    is_signed = op.endswith("si")
    kind = np.int32 if is_signed else np.uint32
    wanted = []
    for x, y in zip(a.view(kind).tolist(), b.view(kind).tolist(), strict=True):
        stops = y == 0 or (is_signed and (x, y) == (-(2**31), -1))
        wanted.append(DIVISIONS[op](x, 1 if stops else y))
    divided = elementwise(f"%r = arith.{op} %a, %b : i32", "9xi32", "9xi32")
    result = read(divided).evaluate(a, b)
    np.testing.assert_array_equal(result, np.array(wanted, kind).view(np.int32))


PLACE = """
  %c0 = arith.constant 0 : index
  %k = tensor.extract %i[%c0] : tensor<1xi64>
  %o = arith.index_cast %k : i64 to index
"""

TAKEN = f"""
func.func @f(%x: tensor<9x2xf32>, %i: tensor<1xi64>) -> tensor<3x2xf32> {{{PLACE}
  %y = tensor.extract_slice %x[%o, 0] [3, 2] [STEP, 1]
      : tensor<9x2xf32> to tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}}
"""

PUT = f"""
func.func @f(%x: tensor<9x2xf32>, %y: tensor<3x2xf32>, %i: tensor<1xi64>)
    -> tensor<9x2xf32> {{{PLACE}
  %z = tensor.insert_slice %y into %x[%o, 0] [3, 2] [STEP, 1]
      : tensor<3x2xf32> into tensor<9x2xf32>
  return %z : tensor<9x2xf32>
}}
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("step", "last"), [(1, 6), (2, 4), (4, 0)])
def test_slices_at_places_that_are_data_are_within_their_tensor(
    step: int, last: int
) -> None:
    """The last place is that from where all of a slice is within."""
    assert last + 2 * step <= 8 < last + 1 + 2 * step
    take, put = (
        read(TAKEN.replace("STEP", f"{step}")),
        read(PUT.replace("STEP", f"{step}")),
    )
    x, y = drawn(9, 2), drawn(3, 2)
    for place in (-(2**40), -1, 0, last, last + 1, 2**40):
        rows = min(max(place, 0), last) + step * np.arange(3)
        at = np.array([place])
        np.testing.assert_array_equal(take.evaluate(x, at), x[rows])
        wanted = x.copy()
        wanted[rows] = y
        np.testing.assert_array_equal(put.evaluate(x, y, at), wanted)


EXTREME = """
func.func @f(%x: tensor<3x5xf32>) -> tensor<3xi64> {
  %first = arith.constant INIT : f32
  %zero = arith.constant 0 : i64
  %e = tensor.empty() : tensor<3xf32>
  %v0 = linalg.fill ins(%first : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %f = tensor.empty() : tensor<3xi64>
  %p0 = linalg.fill ins(%zero : i64) outs(%f : tensor<3xi64>) -> tensor<3xi64>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>,
      affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x5xf32>) outs(%v0, %p0 : tensor<3xf32>, tensor<3xi64>) {
    ^bb0(%a: f32, %v: f32, %p: i64):
      %n = linalg.index 1 : index
      %here = arith.index_cast %n : index to i64
      %m = arith.OP %a, %v : f32
      %c = arith.cmpf PREDICATE, %a, %v : f32
      %q = arith.select %c, %here, %p : i64
      linalg.yield %m, %q : f32, i64
  } -> (tensor<3xf32>, tensor<3xi64>)
  return %r#1 : tensor<3xi64>
}
"""


@pytest.mark.parametrize(
    ("predicate", "wanted"),
    [("ogt", [1, 0, 1]), ("oge", [3, 1, 2]), ("olt", [1, 0, 3]), ("ole", [3, 1, 4])],
)
def test_the_place_of_nan_is_the_first_or_the_last_as_that_of_others(
    predicate: str, wanted: list[int]
) -> None:
    is_most = predicate.startswith("og")
    text = (
        EXTREME.replace("OP", "maximumf" if is_most else "minimumf")
        .replace("INIT", "0xFF800000" if is_most else "0x7F800000")
        .replace("PREDICATE", predicate)
    )
    nan = np.nan
    rows = [[1, nan, 3, nan, 0], [nan, nan, 1, 9, -9], [2, 7, 7, -4, -4]]
    assert read(text).evaluate(np.array(rows, np.float32)).tolist() == wanted


TURNED = """
func.func @f(%x: tensor<8x64xf32>, %m: tensor<8x64xi1>) -> tensor<8x64xf32> {
  %r = stablehlo.reverse %x, dims = [1] : tensor<8x64xf32>
  %b = stablehlo.select %m, %r, %x : tensor<8x64xi1>, tensor<8x64xf32>
  return %b : tensor<8x64xf32>
}
"""


def test_loops_of_plain_code_are_vectors_beside_truth_values_too() -> None:
    compiled = read(TURNED).compile()
    assert re.search(r"vperm\w+\s.*%ymm", compiled.asm)  # turned in a register
    assert not re.search(r"movss|cmov", compiled.asm)
    x, mask = drawn(8, 64), drawn(8, 64) > 0
    np.testing.assert_array_equal(compiled(x, mask), np.where(mask, x[:, ::-1], x))


@pytest.mark.parametrize(("rows", "is_vector"), [(8, True), (600, False)])
def test_elements_of_a_large_table_are_looked_up_one_by_one(
    rows: int, is_vector: bool
) -> None:
    text = f"""
func.func @f(%x: tensor<{rows}x512xf32>, %i: tensor<{rows}x32xi64>)
    -> tensor<{rows}x32xf32> {{
  %e = tensor.empty() : tensor<{rows}x32xf32>
  %y = linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>,
      affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}}
      ins(%i : tensor<{rows}x32xi64>) outs(%e : tensor<{rows}x32xf32>) {{
    ^bb0(%k: i64, %o: f32):
      %row = linalg.index 0 : index
      %column = arith.index_cast %k : i64 to index
      %v = tensor.extract %x[%row, %column] : tensor<{rows}x512xf32>
      linalg.yield %v : f32
  }} -> tensor<{rows}x32xf32>
  return %y : tensor<{rows}x32xf32>
}}
"""
    compiled = morello.from_mlir(text, fallback=True).compile(threads=1)
    # One loop at least is left to LLVM, which vectorises it or does not.
    assert compiled.mlir.count("{loop_annotation") == 1 + is_vector
    x = np.arange(rows * 512, dtype=np.float32).reshape(rows, 512)
    places = np.arange(rows * 32).reshape(rows, 32) * 37 % 512
    expected = np.take_along_axis(x, places, axis=1)
    np.testing.assert_array_equal(compiled(x, places), expected)


FUNCTIONS = """
func.func @f(%x: tensor<2x20xf32>, %m: tensor<2x20xi1>)
    -> (tensor<2x20xf32>, tensor<2xf16>) {
  %s = stablehlo.cbrt %x : tensor<2x20xf32>
  %a = stablehlo.atan2 %s, %x : tensor<2x20xf32>
  %b = stablehlo.select %m, %a, %x : tensor<2x20xi1>, tensor<2x20xf32>
  %r = stablehlo.reverse %b, dims = [1] : tensor<2x20xf32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %p = stablehlo.reduce(%r init: %one) applies stablehlo.multiply
      across dimensions = [1] : (tensor<2x20xf32>, tensor<f32>) -> tensor<2xf32>
  %h = stablehlo.convert %p : (tensor<2xf32>) -> tensor<2xf16>
  return %r, %h : tensor<2x20xf32>, tensor<2xf16>
}
"""


@pytest.mark.parametrize("extent", [16, 40, 64])
def test_rows_that_are_looked_up_are_copied_as_vectors(extent: int) -> None:
    shape = f"tensor<5x{extent}xf32>"
    text = f"""
func.func @f(%x: {shape}, %i: tensor<7xi64>) -> tensor<7x{extent}xf32> {{
  %e = tensor.empty() : tensor<7x{extent}xf32>
  %y = linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m)>,
      affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}}
      ins(%i : tensor<7xi64>) outs(%e : tensor<7x{extent}xf32>) {{
    ^bb0(%k: i64, %o: f32):
      %row = arith.index_cast %k : i64 to index
      %column = linalg.index 1 : index
      %v = tensor.extract %x[%row, %column] : {shape}
      linalg.yield %v : f32
  }} -> tensor<7x{extent}xf32>
  return %y : tensor<7x{extent}xf32>
}}
"""
    compiled = morello.from_mlir(text, fallback=True).compile(threads=1)
    assert compiled.mlir.count("arith.maxsi") == 1  # of the row alone
    assert "vmovups" in compiled.asm
    x = np.arange(5 * extent, dtype=np.float32).reshape(5, extent)
    places = np.array([4, 0, 0, -3, 3, 9, 4])
    np.testing.assert_array_equal(compiled(x, places), x[places.clip(0, 4)])


def test_functions_of_libm_truth_values_and_halves(tmp_path: Path) -> None:
    model = read(FUNCTIONS)
    assert len(model.parts) == 2  # the functions, and the cast
    compiled = model.compile()
    rng = np.random.default_rng(0)
    x, mask = rng.standard_normal((2, 20), np.float32), rng.random((2, 20)) < 0.5
    r, h = compiled(x, mask)
    wanted = np.where(mask, np.arctan2(np.cbrt(x), x), x)[:, ::-1]
    np.testing.assert_allclose(r, wanted, rtol=1e-6)
    assert h.dtype == np.float16
    np.testing.assert_allclose(h, wanted.prod(1), rtol=2e-3)
    for ending in ("h", "o"):
        compiled.save(tmp_path / f"f.{ending}", "f")
    assert "typedef uint8_t f_m_t;" in (tmp_path / "f.h").read_text()


def test_functions_of_bf16_are_those_of_f32() -> None:
    body = "%s = arith.sitofp %a : i64 to bf16\n%r = math.sqrt %s : bf16"
    text = elementwise(body, "4xi64", result="4xbf16")
    x = np.array([1, 2, 3, 2**40])
    y = morello.from_mlir(text).compile(threads=1)(x)
    np.testing.assert_array_equal(y, np.sqrt(x).astype(y.dtype))


def test_doubles_call_libm(tmp_path: Path) -> None:
    text = "func.func @f(%x: tensor<5xf64>) -> tensor<5xf64> {\n"
    text += "  %y = math.cbrt %x : tensor<5xf64>\n  return %y : tensor<5xf64>\n}"
    compiled = read(text).compile()
    x = np.array([-8.0, -0.0, 1.0, 27.0, np.inf])
    np.testing.assert_allclose(compiled(x), np.cbrt(x), rtol=1e-15)
    compiled.save(tmp_path / "f.o", "f")
    assert "cbrt" in undefined_symbols((tmp_path / "f.o").read_bytes())


CALL = "%y = stablehlo.custom_call @theirs(%x) : (tensor<4xf32>) -> tensor<4xf32>"
BRANCH = """%y = scf.if %b -> tensor<4xf32> {
  %n = math.exp %x : tensor<4xf32>
  scf.yield %n : tensor<4xf32>
} else {
  scf.yield %x : tensor<4xf32>
}"""
GROWING = """%z = stablehlo.add %d, %d : tensor<?xf32>
%y = stablehlo.abs %x : tensor<4xf32>"""


@pytest.mark.parametrize(
    ("op", "name", "reason"),
    [
        (CALL, "stablehlo.custom_call", "only its framework has"),
        (BRANCH, "scf.if", "control flow depends on data, and upstream"),
        (GROWING, "stablehlo.add", "has a dynamic shape"),
    ],
    ids=["custom call", "branch", "dynamic"],
)
def test_what_even_that_cannot_do_is_refused(op: str, name: str, reason: str) -> None:
    text = f"""func.func @f(%x: tensor<4xf32>, %d: tensor<?xf32>, %c: tensor<i1>)
  -> tensor<4xf32> {{
%b = tensor.extract %c[] : tensor<i1>
{op}
return %y : tensor<4xf32>
}}"""
    with pytest.raises(ModelError) as caught:
        read(text)
    refusal = next(r for r in caught.value.refusals if r.op == name)
    assert refusal.place.startswith("mine.mlir:4:")
    assert reason in refusal.reason
    assert refusal.remedy


def test_integers_that_are_returned_twice_are_two_arrays() -> None:
    kind = "tensor<3xi32>"
    model = morello.from_mlir(
        f"func.func @f(%i: {kind}) -> ({kind}, {kind}, {kind}) {{\n"
        f"  return %i, %i, %i : {kind}, {kind}, {kind}\n}}",
        fallback=True,
    )
    places = np.array([3, 1, 2], np.int32)
    for result in model.compile(threads=1)(places):
        np.testing.assert_array_equal(result, places)


def test_quotients_by_way_of_f64_round_as_f64_does() -> None:
    """They are torch-mlir's for exact ones, but they mean this in text."""
    body = """%three = arith.constant 3.0 : f64
      %f = arith.sitofp %a : i64 to f64
      %d = arith.divf %f, %three : f64
      %v = math.floor %d : f64
      %r = arith.fptosi %v : f64 to i64"""
    compiled = read(elementwise(body, "4xi64")).compile()
    x = np.array([2**60 + 1, -(2**60) - 1, 7, -7])
    wanted = np.floor(x.astype(np.float64) / 3).astype(np.int64)
    assert wanted[0] != x[0] // 3
    np.testing.assert_array_equal(compiled(x), wanted)
