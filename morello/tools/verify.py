"""Whether what a kernel has computed is what its Spec says.

`judge` is the entry point. Exact inputs demand the definition's output, bit for bit.
For inputs of any kind the output of a float matmul may differ from the definition in
f64 by a bound on the rounding errors of any order of summation; no other kind rounds.
"""

import dataclasses

import numpy as np

from morello.spec import Array, Dtype, Matmul, Move, Spec

UNIT_ROUNDOFF = 2.0**-24
"""u of f32: the relative error of one rounding is at most this."""

_UNDERFLOW = 2.0**-150
"""The absolute error of one rounding below the normal numbers is at most this."""

_LARGEST = float(np.finfo(np.float32).max)


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What a comparison with the definition has found."""

    elements: int
    differing: int
    """Elements whose bits are not the definition's (all NaNs count as one)."""
    example: str = ""
    """The first of them."""
    max_error: float | None = None
    """The greatest distance to the definition in f64; None where none is allowed."""
    of_bound: float | None = None
    """The greatest part of its bound that an element uses; more than 1 is wrong."""

    @property
    def is_exact(self) -> bool:
        """Whether every element is the definition's."""
        return self.differing == 0

    @property
    def holds(self) -> bool:
        """Whether the output is right."""
        return self.is_exact or (self.of_bound is not None and self.of_bound <= 1)

    def __str__(self) -> str:
        if self.is_exact:
            count = (
                f"all {self.elements} elements are" if self.elements > 1 else "it is"
            )
            return f"exact: {count} the definition's, bit for bit"
        count = f"{self.differing} of {self.elements} elements"
        if self.of_bound is None:
            return f"{count} are not the definition's; {self.example}"
        place = f"; {self.example}" if not self.holds else ""
        return (
            f"max error {self.max_error:.3g} against the definition in f64, "
            f"{self.of_bound:.3g} of the bound g*|A||B|{place}"
        )


def judge(spec: Spec, inputs: tuple[Array, ...], got: Array, exact: bool) -> Verdict:
    """Compare an output with the definition.

    Args:
        inputs: every operand that is read, in logical order, as before the call.
        got: the output, in logical order.
        exact: the inputs are such that nothing is ever rounded.
    """
    expected = spec.evaluate(*inputs)
    wrong = _differs(spec, expected, got)
    count = int(np.count_nonzero(wrong))
    if not count:
        return Verdict(got.size, 0)
    if exact or not rounds(spec):
        return Verdict(got.size, count, _example(spec, wrong, expected, got))
    reference, bound = _reference(spec, inputs)
    error, used = _errors(reference, bound, got)
    worst = used == used.max()
    return Verdict(
        got.size,
        count,
        _example(spec, worst, expected, got),
        float(error.max()),
        float(used.max()),
    )


def rounds(spec: Spec) -> bool:
    """Whether a right output may differ from the definition's in its last bits."""
    return isinstance(spec.kind, Matmul) and spec.dtypes[-1] is Dtype.F32


def _differs(spec: Spec, expected: Array, got: Array) -> Array:
    bits = np.dtype(f"u{expected.dtype.itemsize}")
    wrong: Array = expected.view(bits) != np.ascontiguousarray(got).view(bits)
    if spec.dtypes[-1].is_float and not isinstance(spec.kind, Move):
        wrong &= ~(np.isnan(expected) & np.isnan(got))
    return wrong


def _example(spec: Spec, wrong: Array, expected: Array, got: Array) -> str:
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    name = spec.kind.operands[-1].name
    return (
        f"{name}[{', '.join(map(str, at))}] is {got[at]}, the definition has "
        f"{expected[at]}"
    )


def _reference(spec: Spec, inputs: tuple[Array, ...]) -> tuple[Array, Array]:
    """The output of a matmul in f64, and how far from it a right one may be.

    Adding to an initial output is one more term of the sum.
    """
    wide = [array.astype(np.float64) for array in inputs]
    terms = spec.sizes[2] + len(inputs) - 2
    growth = terms * UNIT_ROUNDOFF / (1 - terms * UNIT_ROUNDOFF)
    with np.errstate(all="ignore"):
        reference = np.matmul(wide[0], wide[1])
        size = np.matmul(np.abs(wide[0]), np.abs(wide[1]))
        for initial in wide[2:]:
            reference = reference + initial
            size = size + np.abs(initial)
        bound = growth * size + terms * _UNDERFLOW
    # A sum that may leave the range of f32 on its way has no bound.
    return reference, np.where(size > _LARGEST, np.inf, bound)


def _errors(reference: Array, bound: Array, got: Array) -> tuple[Array, Array]:
    """The error of each element, and what part of its bound that is.

    An element that the definition has infinite or NaN must be the same.
    """
    with np.errstate(all="ignore"):
        error = np.abs(got.astype(np.float64) - reference)
        used = np.where(error == 0, 0.0, error / bound)
    same = (got == reference) | (np.isnan(got) & np.isnan(reference))
    finite = np.isfinite(reference)
    unbounded = finite & np.isinf(bound)
    error = np.where(same | unbounded, 0.0, np.where(np.isnan(error), np.inf, error))
    judged = np.where(finite, np.where(np.isnan(used), np.inf, used), np.inf)
    return error, np.where(same | unbounded, 0.0, judged)
