"""The max kernels: IEEE 754 ``maximum`` on NaN, infinities and zeros."""

import numpy as np
import pytest

from morello.spec import Spec
from morello.spec.kind import Array
from tests.guarded import check_in_child
from tests.kernels.harness import (
    Case,
    check,
    compiled,
    isa_of,
    skip_where_it_cannot_run,
    spec,
)
from tests.named_kinds import named

MAX = named("max_accum")


def maximum(sizes: tuple[int, int], dtype: str, src: str, out: str = "[0]") -> Spec:
    return spec(MAX, sizes, f"{dtype}@L1{src}", f"{dtype}@L1{out}")


SPECIAL = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-45, -1e-45, 3.4e38, -3.4e38, 1.0],
    np.float32,
)


def special(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Few kinds of values at a time, so that zeros and NaN do decide rows."""
    chosen = rng.choice(SPECIAL, rng.integers(1, 4))
    return rng.choice(chosen, shape)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("rows", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["reduce_rows", "reduce_rows_512"])
def test_a_nan_anywhere_in_a_row_is_found(name: str, rows: int) -> None:
    """And in no other row: NaN of several vectors of a row are kept together."""
    case = Case(name, maximum((rows, 300), "f32", "[0,1]"))
    skip_where_it_cannot_run(isa_of([case]))
    engine = compiled([case])
    rng = np.random.default_rng(2)

    def everything() -> None:
        for column in range(0, 300, 7):
            src = rng.standard_normal((rows, 300)).astype(np.float32)
            src[column % rows, column] = np.nan
            check(case, engine.address("f0"), (src, np.zeros(rows, np.float32)))

    check_in_child(everything)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("reduce_rows", "[0,1]"),
        ("reduce_rows_512", "[0,1]"),
        ("reduce_columns", "[1,0]"),
        ("reduce_columns_512", "[1,0]"),
    ],
)
def test_special_values(name: str, layout: str) -> None:
    sizes = [(1, 1), (3, 5), (4, 8), (2, 13), (1, 100), (3, 70), (1, 600), (4, 115)]
    cases = [Case(name, maximum(s, "f32", layout)) for s in sizes]
    skip_where_it_cannot_run(isa_of(cases))
    engine = compiled(cases)

    def everything() -> None:
        rng = np.random.default_rng(1)
        for i, case in enumerate(cases):
            for _ in range(40):
                m, n = case.spec.sizes
                arrays = special(rng, (m, n)), special(rng, (m,))
                check(case, engine.address(f"f{i}"), arrays)

    check_in_child(everything)
