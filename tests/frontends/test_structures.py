"""Programs of StableHLO that are no layers: joined, cut, powers, windows."""

import importlib
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morello
from morello.errors import MorelloError
from morello.frontends.nodes.tensors import Source
from morello.mlir import BACKEND
from tests.tables import rows

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("one_database")]

X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
Y = np.random.default_rng(1).standard_normal((3, 5)).astype(np.float32)


def rolled(body: str, result: str) -> str:
    return f"""func.func @f(%x: tensor<3x4xf32>, %y: tensor<3x5xf32>) -> {result} {{
{body}
return %r : {result}
}}"""


def spread(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    wide = np.zeros((5, 7), np.float32)
    wide[::2, ::2] = x
    return wide


PROGRAMS = {name: line for name, *line in rows(__file__, "structures")}
"""The result's type, the lines of the program, and what NumPy computes."""


def program(name: str) -> tuple[str, np.ndarray]:
    """The text of a program, and the right result."""
    kind, body, wanted = PROGRAMS[name]
    text = rolled(body.replace("; ", "\n"), f"tensor<{kind}>")
    return text, eval(wanted, globals(), {"x": X, "y": Y})


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_structure_is_computed(name: str) -> None:
    text, right = program(name)
    model = morello.from_mlir(text)
    for result in (
        model.evaluate(X, Y),
        model.compile(threads=1, time_limit=0.5)(X, Y),
    ):
        np.testing.assert_allclose(result, right, rtol=2e-5, atol=1e-6)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("axis", [0, 1])
def test_a_long_running_sum_takes_steps_that_double(axis: int) -> None:
    shape = (35, 3) if axis == 0 else (3, 35)
    window = [35 if place == axis else 1 for place in (0, 1)]
    before = [[n - 1, 0] for n in window]
    kind = "x".join(map(str, shape))
    model = morello.from_mlir(f"""
func.func @f(%x: tensor<{kind}xf32>) -> tensor<{kind}xf32> {{
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %z) <{{
    window_dimensions = array<i64: {window[0]}, {window[1]}>,
    padding = dense<{before}> : tensor<2x2xi64>}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }}) : (tensor<{kind}xf32>, tensor<f32>) -> tensor<{kind}xf32>
  return %r : tensor<{kind}xf32>
}}
""")
    assert len(model.parts) == 6
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    sums = model.compile(threads=1, time_limit=0.5)(x)
    np.testing.assert_allclose(sums, np.cumsum(x, axis), rtol=2e-5, atol=1e-5)


def test_equal_parts_share_code() -> None:
    layer = "dot_general {}, %w, contracting_dims = [1] x [0]"
    types = "(tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>"
    lines = [
        f"%{to} = stablehlo.{layer.format(of)} : {types}"
        for of, to in (("%x", "a"), ("%a", "b"), ("%b", "c"))
    ]
    text = (
        "func.func @f(%x: tensor<3x4xf32>, %w: tensor<4x4xf32>) -> tensor<3x4xf32> {\n"
        + "\n".join(lines)
        + "\nreturn %c : tensor<3x4xf32>\n}"
    )
    w = np.random.default_rng(2).standard_normal((4, 4), np.float32)
    compiled = morello.from_mlir(text).compile(threads=1, time_limit=0.5)
    np.testing.assert_allclose(compiled(X, w), X @ w @ w @ w, rtol=2e-5, atol=1e-6)
    assert len(compiled.specs) == 3
    assert compiled.mlir.count("call @model_f_part0") == 3
    assert compiled.mlir.count("func.func") == 2


def test_equal_arrays_that_are_computed_beforehand_are_one() -> None:
    computed = (
        ("sqrt %c0", "[4.0, 9.0, 16.0, 25.0]"),
        ("negate %c1", "[-2.0, -3.0, -4.0, -5.0]"),
        ("sqrt %c2", "[4.0, 9.0, 16.0, 1.0]"),
    )
    rows = [
        f"%c{i} = stablehlo.constant dense<{numbers}> : tensor<4xf32>\n"
        f"%s{i} = stablehlo.{op} : tensor<4xf32>\n"
        f"%w{i} = stablehlo.broadcast_in_dim %s{i}, dims = [1] : "
        "(tensor<4xf32>) -> tensor<3x4xf32>"
        for i, (op, numbers) in enumerate(computed)
    ]
    sums = [
        f"%{to} = stablehlo.add %{of}, %w{i} : tensor<3x4xf32>"
        for i, (of, to) in enumerate(("xa", "ab", "br"))
    ]
    model = morello.from_mlir(rolled("\n".join((*rows, *sums)), "tensor<3x4xf32>"))
    kernel = model.compile(threads=1)
    assert kernel(X, Y) == pytest.approx(X + np.array([6, 9, 12, 11]))
    assert len(kernel.held.constants) == 2


@pytest.mark.parametrize(
    ("rows", "wanted", "constants"),
    [
        ("%r = stablehlo.exponential %a", np.exp, 0),
        ("%b = stablehlo.negate %a : {0}\n%r = stablehlo.abs %b", np.abs, 0),
        ("%r = stablehlo.negate %a", np.negative, 1),
        (
            "%b = stablehlo.abs %a : {0}\n%r = stablehlo.divide %b, %a",
            lambda a: np.abs(a) / a,
            1,
        ),
    ],
)
def test_zeros_are_added_where_the_sign_of_a_zero_shows(
    rows: str, wanted: Callable[[np.ndarray], np.ndarray], constants: int
) -> None:
    matrix, row = "tensor<3x4xf32>", "tensor<4xf32>"
    body = (
        f"%c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : {row}\n"
        f"%n = stablehlo.constant dense<0.0> : {row}\n"
        f"%z = stablehlo.multiply %c, %n : {row}\n"
        f"%w = stablehlo.broadcast_in_dim %z, dims = [1] : ({row}) -> {matrix}\n"
        f"%a = stablehlo.add %x, %w : {matrix}\n{rows.format(matrix)} : {matrix}"
    )
    model = morello.from_mlir(rolled(body, matrix))
    arrays = [t.array for t in model.tensors.all if isinstance(t, Source)]
    assert sum(array is not None for array in arrays) == constants
    x = np.where(X > 0, X, np.float32(-0.0))
    with np.errstate(all="ignore"):
        expected = wanted(x + np.float32(0))
    result = model.evaluate(x, Y)
    np.testing.assert_allclose(result, expected, rtol=1e-5)
    assert (np.signbit(result) == np.signbit(expected)).all()


def test_parts_that_begin_elsewhere_in_a_tensor_share_code() -> None:
    rows = 4
    names = {"tensor": "tensor<4x8xf32>", "row": "tensor<1x8xf32>"}
    lines = []
    for n in range(rows):
        lines += [
            f"%s{n} = stablehlo.slice %x [{n}:{n + 1}, 0:8] : "
            f"({names['tensor']}) -> {names['row']}",
            f"%p{n} = stablehlo.dot_general %{f'q{n - 1}' if n else 's0'}, %w, "
            "contracting_dims = [1] x [0] : "
            f"({names['row']}, tensor<8x8xf32>) -> {names['row']}",
            f"%q{n} = stablehlo.add %p{n}, %s{n} : {names['row']}",
        ]
    results = ", ".join(f"%q{n}" for n in range(rows))
    types = ", ".join([names["row"]] * rows)
    text = (
        f"func.func @f(%x: {names['tensor']}, %w: tensor<8x8xf32>) -> {names['tensor']}"
        " {\n"
        + "\n".join(lines)
        + f"\n%all = stablehlo.concatenate {results}, dim = 0 : ({types}) -> "
        f"{names['tensor']}\nreturn %all : {names['tensor']}\n}}"
    )
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((rows, 8), np.float32), rng.standard_normal((8, 8))
    w = (0.3 * w).astype(np.float32)
    compiled = morello.from_mlir(text).compile(threads=1, time_limit=0.5)
    wanted = [x[0] @ w + x[0]]
    for row in x[1:]:
        wanted.append(wanted[-1] @ w + row)
    np.testing.assert_allclose(compiled(x, w), wanted, rtol=2e-5, atol=1e-6)
    assert compiled.mlir.count("func.func") < rows


SKIP = """func.func @f(%x: tensor<3x4xf32>, %y: tensor<3x5xf32>) -> ({types}) {{
  %v = stablehlo.constant {v} : tensor<4x6xf32>
  %w = stablehlo.constant {w} : tensor<5x6xf32>
  %u = stablehlo.constant {u} : tensor<{columns}x2xf32>
  %t = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] :
    (tensor<3x4xf32>, tensor<4x6xf32>) -> tensor<3x6xf32>
  %e = stablehlo.exponential %t : tensor<3x6xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
  %d = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] :
    (tensor<3x5xf32>, tensor<5x6xf32>) -> tensor<3x6xf32>
  %c = stablehlo.concatenate {joined}, dim = 1 : ({pieces}) -> tensor<3x{columns}xf32>
  %r = stablehlo.dot_general %c, %u, contracting_dims = [1] x [0] :
    (tensor<3x{columns}xf32>, tensor<{columns}x2xf32>) -> tensor<3x2xf32>
  return {results} : {types}
}}"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("joined", "results", "copies"),
    [
        ("td", "rs", 0),
        ("dt", "re", 0),
        ("dtd", "rs", 1),  # a tensor is in one place
        ("td", "rt", 1),  # a result is an array of its own
        ("td", "cs", 0),
        ("xtd", "rs", 1),  # an argument is where it is
    ],
)
def test_what_is_joined_with_others_later_is_computed_in_its_place(
    joined: str, results: str, copies: int
) -> None:
    rng = np.random.default_rng(5)
    columns = sum(4 if name == "x" else 6 for name in joined)
    v, w, u = (
        rng.standard_normal(shape).astype(np.float32)
        for shape in ((4, 6), (5, 6), (columns, 2))
    )
    types = {"x": "3x4", "t": "3x6", "d": "3x6", "e": "3x6", "s": "3", "r": "3x2"}
    types["c"] = f"3x{columns}"
    pieces, returned = (
        ", ".join(f"tensor<{types[name]}xf32>" for name in names)
        for names in (joined, results)
    )
    text = SKIP.format(
        **{n: f"dense<{a.tolist()}>" for n, a in {"v": v, "w": w, "u": u}.items()},
        joined=", ".join(f"%{name}" for name in joined),
        results=", ".join(f"%{name}" for name in results),
        columns=columns,
        pieces=pieces,
        types=returned,
    )
    values = {"x": X, "t": X @ v, "d": Y @ w}
    values |= {"e": np.exp(values["t"]), "s": values["t"].sum(1)}
    values["c"] = np.concatenate([values[name] for name in joined], 1)
    values["r"] = values["c"] @ u
    model = morello.from_mlir(text)
    assert sum("copy(" in spec or "move:" in spec for spec in model.specs()) == copies
    for arrays in (
        model.evaluate(X, Y),
        model.compile(threads=1, time_limit=0.5)(X, Y),
    ):
        for name, array in zip(results, arrays, strict=True):
            np.testing.assert_allclose(array, values[name], rtol=1e-5, atol=1e-5)


def test_a_portable_artifact_is_the_same_program() -> None:
    text, right = program("joined")
    stablehlo: Any = importlib.import_module(f"{BACKEND}._mlir_libs._stablehlo")
    oldest = stablehlo.get_minimum_version()
    artifact = stablehlo.serialize_portable_artifact_str(text, oldest)
    result = morello.from_mlir(artifact).evaluate(X, Y)
    np.testing.assert_allclose(result, right, rtol=2e-5)


def test_other_bytes_are_no_program() -> None:
    with pytest.raises(MorelloError, match="neither text nor bytecode of MLIR"):
        morello.from_mlir(b"\x10\xf8\xff")


def test_the_error_function_is_one_op_and_erfc_is_that_in_gelu_alone() -> None:
    x = np.linspace(-6, 6, 12, dtype=np.float32).reshape(3, 4)
    scale = "%k = stablehlo.constant dense<0.707106769> : tensor<3x4xf32>\n"
    scaled = (
        "%n = stablehlo.negate %x : tensor<3x4xf32>\n"
        "%s = stablehlo.multiply %n, %k : tensor<3x4xf32>\n"
        "%c = chlo.erfc %s : tensor<3x4xf32> -> tensor<3x4xf32>\n"
    )
    gelu = f"{scale}{scaled}%r = stablehlo.multiply %x, %c : tensor<3x4xf32>"
    alone = f"{scale}{scaled}%r = stablehlo.add %c, %c : tensor<3x4xf32>"
    error = "%r = chlo.erf %x : tensor<3x4xf32> -> tensor<3x4xf32>"
    erfc = np.vectorize(math.erfc)(-x.astype(np.float64) * math.sqrt(0.5))
    for body, wanted, has_erf, atol in (
        (gelu, x * erfc, True, 1e-6),
        (alone, 2 * erfc, False, 0),
        (error, np.vectorize(math.erf)(x), True, 1e-7),
    ):
        model = morello.from_mlir(rolled(body, "tensor<3x4xf32>"))
        assert bool(re.search(r"\berf\b", str(model))) == has_erf
        result = model.evaluate(x, Y)
        np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=atol)


@pytest.mark.parametrize(
    ("body", "results", "wanted"),
    [
        ("", ["x", "x", "x"], [X, X, X]),
        (
            "%a = stablehlo.exponential %x : tensor<3x4xf32>\n"
            "%b = stablehlo.exponential %x : tensor<3x4xf32>\n",
            ["a", "b", "a"],
            [np.exp(X)] * 3,
        ),
        (
            "%a = stablehlo.constant dense<2.0> : tensor<3x4xf32>\n",
            ["a", "x", "a"],
            [np.full_like(X, 2), X, np.full_like(X, 2)],
        ),
    ],
    ids=["argument", "equal ops", "constant"],
)
def test_a_value_that_is_returned_twice_is_two_arrays(
    body: str, results: list[str], wanted: list[np.ndarray]
) -> None:
    types = ", ".join(["tensor<3x4xf32>"] * len(results))
    returned = ", ".join(f"%{name}" for name in results)
    model = morello.from_mlir(
        f"func.func @f(%x: tensor<3x4xf32>) -> ({types}) {{\n"
        f"{body}return {returned} : {types}\n}}"
    )
    arrays = model.compile()(X)
    for other, array in zip(wanted, arrays, strict=True):
        np.testing.assert_allclose(array, other, rtol=1e-5)
    assert not any(np.shares_memory(arrays[0], array) for array in arrays[1:])


SQUARE = np.arange(96, dtype=np.float32).reshape(4, 4, 6)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("read", "written", "loops", "wanted"),
    [
        ("(i, i, 2)", "(i)", "i", SQUARE[range(4), range(4), 2]),
        ("(i, 1, i + 2)", "(i)", "i", SQUARE[range(4), 1, range(2, 6)]),
        (
            "(i, j, i + 2)",
            "(j, i)",
            "i, j",
            np.stack([SQUARE[i, :, i + 2] for i in range(4)], 1),
        ),
        (
            "(2, i, i + j)",
            "(i, j)",
            "i, j",
            np.stack([SQUARE[2, i, i : i + 3] for i in range(4)]),
        ),
    ],
)
@pytest.mark.parametrize("function", ["", "math.absf"])
def test_a_diagonal_is_read_where_it_lies(
    read: str, written: str, loops: str, wanted: np.ndarray, function: str
) -> None:
    kind = f"tensor<{'x'.join(map(str, wanted.shape))}xf32>"
    iterators = ", ".join(['"parallel"'] * wanted.ndim)
    body = f"%v = {function} %a : f32\n" if function else ""
    model = morello.from_mlir(
        f"""
        #read = affine_map<({loops}) -> {read}>
        #written = affine_map<({loops}) -> {written}>
        func.func @f(%x: tensor<4x4x6xf32>) -> {kind} {{
          %e = tensor.empty() : {kind}
          %r = linalg.generic {{indexing_maps = [#read, #written],
              iterator_types = [{iterators}]}} ins(%x : tensor<4x4x6xf32>)
              outs(%e : {kind}) {{
          ^bb0(%a: f32, %b: f32):
            {body}linalg.yield {"%v" if function else "%a"} : f32
          }} -> {kind}
          return %r : {kind}
        }}"""
    )
    np.testing.assert_array_equal(model.compile()(SQUARE), wanted)


def test_functions_without_a_module_around_them_are_one() -> None:
    model = morello.from_mlir(
        "func.func private @g(%x: tensor<3xf32>) -> tensor<3xf32> {\n"
        "  %y = math.absf %x : tensor<3xf32>\n"
        "  return %y : tensor<3xf32>\n}\n"
        "func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {\n"
        "  %y = call @g(%x) : (tensor<3xf32>) -> tensor<3xf32>\n"
        "  return %y : tensor<3xf32>\n}",
        name="f",
    )
    x = np.array([-1, 2, -3], np.float32)
    np.testing.assert_array_equal(model.evaluate(x), np.abs(x))


COLLAPSED_BEFORE = """
%bb = stablehlo.broadcast_in_dim %c, dims = [1, 2] : (tensor<3x4xf32>)
    -> tensor<2x3x4xf32>
%y = stablehlo.add %x, %bb : tensor<2x3x4xf32>
%r = stablehlo.reshape %y : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
%z = stablehlo.exponential %r : tensor<6x4xf32>
return %z : tensor<6x4xf32>"""


def test_a_node_behind_a_collapsed_axis_is_one_with_those_before() -> None:
    """Its axis of 6 is taken as 2 times 3, in this order."""
    head = "func.func @f(%x: tensor<2x3x4xf32>, %c: tensor<3x4xf32>) -> tensor<6x4xf32>"
    model = morello.from_mlir(f"{head} {{{COLLAPSED_BEFORE}}}")
    assert len(str(model).splitlines()) == 2, model
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 3, 4)
    c = np.linspace(-2, 3, 12, dtype=np.float32).reshape(3, 4)
    result = model.compile(threads=1)(x, c)
    np.testing.assert_allclose(result, np.exp(x + c).reshape(6, 4), rtol=1e-6)


def test_a_reduction_of_many_tensors_is_cut() -> None:
    kind = "tensor<3x4xf32>"
    names = [f"%a{i}" for i in range(7)]
    lines = [f"%s{i + 1} = arith.addf %s{i}, %b{i + 1} : f32" for i in range(6)]
    maps = ", ".join(["affine_map<(a, b) -> (a, b)>"] * 7)
    body = "\n".join(lines).replace("%s0", "%b0")
    takes = ", ".join(f"{name}: {kind}" for name in names)
    text = f"""func.func @f({takes}) -> tensor<3xf32> {{
%z = arith.constant 0.0 : f32
%e0 = tensor.empty() : tensor<3xf32>
%e = linalg.fill ins(%z : f32) outs(%e0 : tensor<3xf32>) -> tensor<3xf32>
%r = linalg.generic {{indexing_maps = [{maps}, affine_map<(a, b) -> (a)>],
    iterator_types = ["parallel", "reduction"]}}
    ins({", ".join(names)} : {", ".join([kind] * 7)}) outs(%e : tensor<3xf32>) {{
  ^bb0({", ".join(f"%b{i}: f32" for i in range(7))}, %o: f32):
    {body}
    %t = arith.mulf %s6, %b0 : f32
    %y = arith.addf %t, %o : f32
    linalg.yield %y : f32
}} -> tensor<3xf32>
return %r : tensor<3xf32>
}}"""
    rng = np.random.default_rng(3)
    arrays = rng.standard_normal((7, 3, 4)).astype(np.float32)
    model = morello.from_mlir(text)
    assert all(len(part.operands) <= 5 for part in model.parts)
    result = model.compile(threads=1, time_limit=2)(*arrays)
    wanted = (arrays.sum(0) * arrays[0]).sum(1)
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("rows", "is_filled"), [(1, False), (2, True)])
def test_a_border_that_no_window_reads_is_not_filled(
    rows: int, is_filled: bool
) -> None:
    """A pool by 3 rows in steps of 2 reads rows 0 to 2, or 0 to 4."""
    result = f"tensor<{rows}x2xf32>"
    text = rolled(
        f"""
        %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %p = stablehlo.pad %x, %n, low = [0, 0], high = [{rows}, 0],
            interior = [0, 0] : (tensor<3x4xf32>, tensor<f32>)
            -> tensor<{3 + rows}x4xf32>
        %r = "stablehlo.reduce_window"(%p, %n) <{{
            window_dimensions = array<i64: 3, 2>, window_strides = array<i64: 2, 2>
        }}> ({{
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %m = stablehlo.maximum %a, %b : tensor<f32>
          stablehlo.return %m : tensor<f32>
        }}) : (tensor<{3 + rows}x4xf32>, tensor<f32>) -> {result}""",
        result,
    )
    model = morello.from_mlir(text)
    wanted = [[X[i : i + 3, j : j + 2].max() for j in (0, 2)] for i in (0, 2)[:rows]]
    np.testing.assert_array_equal(model.evaluate(X, Y), wanted)
    assert ("fill" in str(model)) == is_filled
