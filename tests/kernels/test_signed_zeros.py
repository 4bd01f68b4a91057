"""A sum that begins at -0 stays -0 where all that is added to it is -0."""

import numpy as np
import pytest

from morello.spec import Matmul
from tests.guarded import check_in_child
from tests.kernels.harness import (
    Case,
    bits,
    compiled,
    isa_of,
    run,
    skip_where_it_cannot_run,
    spec,
)
from tests.named_kinds import named

ROW = (1, 3, 7, 8, 9, 15, 16, 17, 63, 100)


def _stays(cases: list[Case], *others: float) -> None:
    """Check sums to which -0, or -0 times other numbers, is added."""
    skip_where_it_cannot_run(isa_of(cases))
    engine = compiled(cases)

    def everything() -> None:
        for i, case in enumerate(cases):
            shapes = map(case.spec.shape, range(len(case.spec.tensors)))
            numbers = (-0.0, *others, -0.0)
            pairs = zip(shapes, numbers, strict=True)
            arrays = [np.full(shape, number, np.float32) for shape, number in pairs]
            result, _ = run(case, engine.address(f"f{i}"), arrays, "end")
            zeros = np.full_like(result, -0.0)
            assert np.array_equal(bits(result), bits(zeros)), str(case)

    check_in_child(everything)


@pytest.mark.parametrize("name", ["reduce_rows", "reduce_rows_512"])
def test_sums_of_rows(name: str) -> None:
    forms = "f32@L1[0,1]", "f32@L1[0]"
    _stays(
        [
            Case(name, spec(named("sum_accum"), (m, n), *forms))
            for m in (1, 3)
            for n in ROW
        ]
    )


@pytest.mark.parametrize("name", ["gemm_tile", "gemm_tile_512"])
def test_products_of_tiles(name: str) -> None:
    forms = ("f32@L1[0,1,2]",) * 3
    sizes = [(1, m, k, n) for m in (1, 4) for k in (1, 5) for n in (1, 3, 8, 16)]
    _stays([Case(name, spec(Matmul(True), each, *forms)) for each in sizes], 1.0)
