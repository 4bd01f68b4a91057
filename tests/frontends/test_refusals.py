"""Ops without a Spec: each is named with its place, its reason and a way on."""

import pytest

import morello
from morello.errors import MorelloError
from morello.frontends.refusals import ModelError, Refusal

DYNAMIC = """module {
func.func @f(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  return %x : tensor<?x4xf32>
}
}
"""
HEAVY = """module {
func.func @f(%x: tensor<3x4xi64>, %w: tensor<4x2xi64>) -> tensor<3x2xi64> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<3x4xi64>, tensor<4x2xi64>) -> tensor<3x2xi64>
  return %y : tensor<3x2xi64>
}
}
"""
CUSTOM = """module {
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = stablehlo.custom_call @mine(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
}
"""
CONTROL = """module {
func.func @f(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %b = tensor.extract %c[] : tensor<i1>
  %y = scf.if %b -> tensor<4xf32> {
    %n = math.exp %x : tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}
}
"""
OTHER = """module {
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = mine.scan ins(%x : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
}
"""
TWO = """module {
func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y = stablehlo.custom_call @mine(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = stablehlo.custom_call @yours(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y, %z : tensor<4xf32>, tensor<4xf32>
}
}
"""


def refused(text: str) -> ModelError:
    with pytest.raises(ModelError) as caught:
        morello.from_mlir(text, source="mine.mlir")
    return caught.value


@pytest.mark.parametrize(
    ("text", "op", "line"),
    [
        (DYNAMIC, "func.func", 2),
        (HEAVY, "stablehlo.dot_general", 3),
        (CUSTOM, "stablehlo.custom_call", 3),
        (CONTROL, "scf.if", 4),
        (OTHER, "mine.scan", 3),
    ],
    ids=[
        "dynamic",
        "product of integers",
        "custom call",
        "control flow",
        "another dialect",
    ],
)
def test_a_refusal_has_op_place_and_way_on(text: str, op: str, line: int) -> None:
    error = refused(text)
    refusal = next(r for r in error.refusals if r.op == op)
    assert refusal.place.startswith(f"mine.mlir:{line}:")
    assert refusal.reason
    assert refusal.remedy
    assert f"{refusal.place}: {op}: {refusal.reason}; {refusal.remedy}" in str(error)


def test_all_are_listed_at_once() -> None:
    error = refused(TWO)
    assert [r.place.split(":")[1] for r in error.refusals] == ["3", "4"]
    first, *lines = str(error).splitlines()
    assert first.startswith("2 ops have no Spec")
    assert len(lines) == 2


def test_half_a_character_is_refused() -> None:
    with pytest.raises(MorelloError, match="surrogates not allowed"):
        morello.from_mlir("\ud800" + DYNAMIC)


def test_what_crashes_a_parser_of_mlir_is_refused(tried_first: None) -> None:
    """The parser of transpositions goes on after an error, with nothing in hand."""
    text = """module {
  func.func @f(%a: tensor<16x12xf32>, %b: tensor<12x16xf32>) -> tensor<12x16xf32> {
    %t = linalg.transpose ins(%a : tensor<16x12xf32>) outs(%b : tensor<12x16xf32>)
      permutation = [[1, 0]
    return %t : tensor<12x16xf32>
  }
}"""
    with pytest.raises(MorelloError, match=r"end the process .* \(SIGSEGV\)"):
        morello.from_mlir(text)


def test_a_custom_call_that_is_sharded_is_refused_by_its_place() -> None:
    """As JAX writes the functions of LAPACK; nobody knows the dialect of the rule."""
    text = """func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %y = stablehlo.custom_call @lapack_spotrf_ffi(%x) {rule = #sdy.rule<"i">}
      : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}"""
    message = "model:2:8: stablehlo.custom_call: it calls a function that only its"
    with pytest.raises(ModelError, match=message):
        morello.from_mlir(text)


@pytest.mark.parametrize("fallback", [False, True])
@pytest.mark.parametrize(
    ("kind", "elements", "said"),
    [
        (
            "complex<f32>",
            "dense<[(0.0, 1.0), (2.0, 3.0)]>",
            "complex<f32>, and a graph",
        ),
        ("i4", "dense<[1, 2]>", "elements of i4"),
        ("i4", "dense_resource<r>", "elements of i4"),
        ("f8E4M3FN", "dense_resource<r>", "elements of f8E4M3FN"),
        ("f32", "dense_resource<r>", "it has 2 bytes of elements, not those of"),
    ],
)
def test_constants_that_no_array_has_are_refused_by_their_place(
    kind: str, elements: str, said: str, fallback: bool
) -> None:
    type_ = f"tensor<2x{kind}>"
    with pytest.raises(ModelError, match="model:2:") as raised:
        morello.from_mlir(
            f"func.func @f() -> {type_} {{\n"
            f"  %c = arith.constant {elements} : {type_}\n"
            f"  return %c : {type_}\n}}\n"
            '{-# dialect_resources: { builtin: { r: "0x010000000102" } } #-}',
            fallback=fallback,
        )
    assert said in str(raised.value)


def test_an_op_that_became_several_is_refused_once() -> None:
    refusals = [Refusal("a.b", place, "no rule", "none") for place in ("x", "y", "x")]
    error = ModelError(tuple(refusals))
    assert str(error).splitlines() == [
        "2 ops have no Spec:",
        "  x: a.b: no rule; none",
        "  y: a.b: no rule; none",
    ]
    assert len(error.refusals) == 3
