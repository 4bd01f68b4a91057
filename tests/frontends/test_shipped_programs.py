"""Programs that are shipped with a model: it is compiled without a search."""

from pathlib import Path

import numpy as np
import pytest

from morello.frontends.model import trusted_model
from morello.search.storage.database import Database
from morello.tools.morello import main

LAYERS = """
func.func @layers(%x: tensor<6x32xf32>, %w: tensor<32x48xf32>, %v: tensor<48x8xf32>)
    -> tensor<6x8xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<6x32xf32>, tensor<32x48xf32>) -> tensor<6x48xf32>
  %r = stablehlo.abs %y : tensor<6x48xf32>
  %z = stablehlo.dot_general %r, %v, contracting_dims = [1] x [0]
      : (tensor<6x48xf32>, tensor<48x8xf32>) -> tensor<6x8xf32>
  return %z : tensor<6x8xf32>
}
"""


@pytest.mark.quick
def test_a_shipped_file_of_programs_has_all_that_a_model_needs(tmp_path: Path) -> None:
    searched, shipped = (tmp_path / f"{name}.db" for name in ("found", "shipped"))
    rng = np.random.default_rng(0)
    shapes = (6, 32), (32, 48), (48, 8)
    x, w, v = (rng.integers(-4, 5, s).astype(np.float32) for s in shapes)
    first = trusted_model(LAYERS).compile(target="avx2", threads=1, db=searched)
    assert (
        main(["db", "export", str(shipped), "--programs", "--db", str(searched)]) == 0
    )
    assert any(Database(searched).rows())
    again = trusted_model(LAYERS).compile(target="avx2", threads=1, db=shipped)
    assert not any(Database(shipped).rows()), "something was searched"
    assert not Database(shipped).searches()
    for compiled in (first, again):
        np.testing.assert_array_equal(compiled(x, w, v), np.abs(x @ w) @ v)
