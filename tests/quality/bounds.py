"""The oracle for real data: the rounding error allowed to a matmul in f32."""

import numpy as np

from morello.spec import Dtype, Spec
from morello.spec.kind import Array
from tests.named_kinds import reuses_inputs
from tests.quality.execution import RUNS, run
from tests.quality.programs import Program

UNIT = 2.0**-24
"""The unit roundoff u of f32."""

EPSILON = 2.0**-23
"""The distance from 1 to the next f32: the unit of the reference BLAS tester."""

TESTER_RATIO = 16


def is_bounded(spec: Spec) -> bool:
    """Whether the bound is for this Spec."""
    one = spec.kind.has_element and reuses_inputs(spec.kind)
    return one and set(spec.dtypes) == {Dtype.F32}


def normal_inputs(spec: Spec, rng: np.random.Generator) -> list[Array]:
    """Inputs from N(0, 1)."""
    return [
        rng.standard_normal(spec.shape(i), np.float32)
        for i, operand in enumerate(spec.kind.operands)
        if operand.is_read
    ]


def check_bound(program: Program, rng: np.random.Generator) -> None:
    """Within gamma_K |A||B| of the product in f64, and of the tester's ratio.

    Raises:
        AssertionError: says which bound, and by how much.
    """
    spec = program.spec
    inputs = normal_inputs(spec, rng)
    side, byte = RUNS[0]
    (result,) = run(program, inputs, side, byte)
    check_product(spec, inputs, result)


def check_product(spec: Spec, inputs: list[Array], result: Array) -> None:
    """Check a product that was computed before."""
    wide = [array.astype(np.float64) for array in inputs]
    exact = np.matmul(wide[0], wide[1])
    size = np.matmul(np.abs(wide[0]), np.abs(wide[1]))
    terms = spec.sizes[2]
    if len(wide) == 3:
        exact, size, terms = exact + wide[2], size + np.abs(wide[2]), terms + 1
    error = np.abs(result - exact)
    gamma = terms * UNIT / (1 - terms * UNIT)
    worst = float(np.max(error / (gamma * size)))
    assert worst <= 1, f"an error of {worst:.3g} times gamma_K |A||B|"
    ratio = float(np.max(error / (EPSILON * size)))
    assert ratio < TESTER_RATIO, f"the tester's ratio is {ratio:.3g}"
