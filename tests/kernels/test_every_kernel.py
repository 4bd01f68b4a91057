"""What every kernel is held to, whatever it is: found by its name alone.

Tests of the single kernels go further; these are for none to be left out.
"""

import re

import numpy as np
import pytest

from morello.kernels import KERNELS
from morello.spec import Matmul, Spec, SpecKey
from morello.spec.kind import Array
from tests.guarded import check_in_child
from tests.kernels.accepted import accepted, drawn
from tests.kernels.harness import (
    Case,
    bits,
    check,
    compiled,
    run,
    skip_where_it_cannot_run,
)


def real_inputs(spec: Spec, rng: np.random.Generator) -> list[Array]:
    """N(0, 1) where that is a number of the dtype: rounding shows any other order."""
    return [
        rng.standard_normal(a.shape, np.float32) if a.dtype == np.float32 else a
        for a in spec.random(rng)
    ]


def adds_floats(key: SpecKey) -> bool:
    """Whether it is a product, which may be -0, that is added to out in floats."""
    if not isinstance(key.kind, Matmul) or not key.kind.accum:
        return False
    lhs, rhs, out = key.dtypes
    return out.is_float and (lhs.is_float or rhs.is_float or rhs.is_signed)


def cases_of(name: str) -> list[Case]:
    """What is drawn; products of floats that are added are among it, if it has any."""
    specs = drawn(name)
    if not any(adds_floats(spec.key) for spec in specs):
        specs += drawn(name, adds_floats)
    return [Case(name, spec) for spec in specs]


def check_zeros(case: Case, address: int) -> None:
    """-0 + 0 · -1 + … is -0: docs/internals/quality.md, special values."""
    arrays = case.spec.random(np.random.default_rng(0))
    lhs, rhs, out = map(np.zeros_like, arrays)
    has_sign = case.spec.dtypes[1].is_float or case.spec.dtypes[1].is_signed
    lhs = lhs if has_sign else -lhs  # times 255
    results, _ = run(case, address, [lhs, rhs - 1, -out], "end")
    assert np.all(np.signbit(results)), case
    assert not np.any(results), case


@pytest.mark.sampled(15)
@pytest.mark.parametrize("name", KERNELS)
def test_it_is_exact_stays_within_bounds_and_repeats_itself(name: str) -> None:
    """A3, B1, B3, B8, A10: edge sizes, forbidden pages on either side, canaries."""
    skip_where_it_cannot_run(KERNELS[name].isa)
    cases = cases_of(name)
    assert cases
    engine = compiled(cases)
    # LLVM leaves open what a constant has in lanes that nobody reads.
    llvm = re.sub(r"<(?:i\d+ (?:-?\d+|undef)(?:, )?)+>", "", engine.llvm)
    assert not re.search(r"\b(inttoptr|ptrtoint|undef)\b", llvm)

    def everything() -> int:
        rng = np.random.default_rng(0)
        for i, case in enumerate(cases):
            address = engine.address(f"f{i}")
            check(case, address, case.spec.random(rng))
            inputs = real_inputs(case.spec, rng)
            first, _ = run(case, address, inputs, "end")
            again, _ = run(case, address, inputs, "start")
            assert np.array_equal(bits(first), bits(again)), case
            if adds_floats(case.spec.key) and not case.spec.kind.flushing:
                check_zeros(case, address)
        return len(cases)

    assert check_in_child(everything) == len(cases)


def test_every_kernel_is_found() -> None:
    assert set(accepted()) == set(KERNELS)
