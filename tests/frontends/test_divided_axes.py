"""Programs of linalg that read an axis at a dimension divided: ``k floordiv 32``."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morello
from morello.frontends.refusals import ModelError

Array = np.ndarray[Any, np.dtype[Any]]

MAPS = """
#a = affine_map<(m, n, k) -> (m, k)>
#s = affine_map<(m, n, k) -> (k floordiv 4, n)>
#b = affine_map<(m, n, k) -> (k, n)>
#y = affine_map<(m, n, k) -> (m, n)>
#i = affine_map<(k, n) -> (k, n)>
#t = affine_map<(k, n) -> (n, k)>
#r = affine_map<(k, n) -> (k floordiv 4, n)>
"""

SCALED = """
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x5xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<3x5xf32>) -> tensor<3x5xf32>
  %y = linalg.generic {indexing_maps = [#a, #s, #b, #y],
      iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %w, %b : tensor<3x10xf32>, tensor<3x5xf32>, tensor<10x5xf32>)
    outs(%i : tensor<3x5xf32>) {
  ^bb0(%x: f32, %v: f32, %q: f32, %o: f32):
    %p = arith.mulf %x, %v : f32
    %r = arith.mulf %p, %q : f32
    %t = arith.addf %o, %r : f32
    linalg.yield %t : f32
  } -> tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
"""


def _map(shapes: tuple[str, str], maps: str, body: str) -> str:
    """The map ``w`` of ``s``."""
    old, new = (f"tensor<{shape}xf32>" for shape in shapes)
    return f"""
  %we = tensor.empty() : {new}
  %w = linalg.generic {{indexing_maps = [{maps}, #i],
      iterator_types = ["parallel", "parallel"]}}
    ins(%s : {old}) outs(%we : {new}) {{
  ^bb0(%x: f32, %o: f32):
    {body}
  }} -> {new}
"""


_HEAD = (
    "func.func @f(%a: tensor<3x10xf32>, %s: tensor<{}xf32>, %b: tensor<10x5xf32>)"
    " -> tensor<{}xf32> {{"
)
_COPY = "linalg.yield %x : f32"
_DOUBLE = "%d = arith.addf %x, %x : f32\n    linalg.yield %d : f32"


def _repeated(s: Array) -> Array:
    return np.repeat(s, 4, axis=0)[:10]


PROGRAMS: dict[str, tuple[str, tuple[int, int], Callable[..., Array]]] = {
    "an argument": (
        _HEAD.format("3x5", "3x5") + SCALED.replace("%w", "%s"),
        (3, 5),
        lambda a, s, b: a @ (_repeated(s) * b),
    ),
    "what is transposed": (
        _HEAD.format("5x3", "3x5") + _map(("5x3", "3x5"), "#t", _COPY) + SCALED,
        (5, 3),
        lambda a, s, b: a @ (_repeated(s.T) * b),
    ),
    "what is computed": (
        _HEAD.format("3x5", "3x5") + _map(("3x5", "3x5"), "#i", _DOUBLE) + SCALED,
        (3, 5),
        lambda a, s, b: a @ (_repeated(2 * s) * b),
    ),
    "what is repeated": (
        _HEAD.format("3x5", "10x5")
        + _map(("3x5", "10x5"), "#r", _COPY)
        + "  %y = arith.addf %w, %b : tensor<10x5xf32>\n"
        + "  return %y : tensor<10x5xf32>\n}",
        (3, 5),
        lambda a, s, b: _repeated(s) + b,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_right(name: str) -> None:
    text, shape, meant = PROGRAMS[name]
    model = morello.from_mlir(MAPS + text).compile(threads=1)
    rng = np.random.default_rng(0)
    shapes = (3, 10), shape, (10, 5)
    a, s, b = (rng.integers(-4, 5, n).astype(np.float32) for n in shapes)
    np.testing.assert_array_equal(model(a, s, b), meant(a, s, b))


def test_nothing_is_copied_for_an_argument() -> None:
    (part,) = morello.from_mlir(MAPS + PROGRAMS["an argument"][0]).parts
    assert "d2//4" in part.kind.text


def test_a_part_of_what_is_divided_is_refused() -> None:
    text = PROGRAMS["an argument"][0]
    text = text.replace("3x5xf32>, tensor<10", "7x5xf32>, tensor<10")
    text = text.replace("%s: tensor<3x5", "%s: tensor<7x5")
    with pytest.raises(ModelError, match="some are not read at d2 floordiv 4"):
        morello.from_mlir(MAPS + text)
