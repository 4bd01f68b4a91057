"""Whether the output of a kernel is the output that its Spec defines.

`judge` is the entry point. Exact inputs demand the definition's output, bit for bit.
For other inputs a float output of a kind that rounds (`rounded_terms`) may differ
from the definition in f64 by a bound on the rounding errors of any order of summation.
"""

import dataclasses

import numpy as np

from morello.spec import Array, Spec
from morello.spec.checking import reference, rounded_terms
from morello.spec.elements.casts import stored_error
from morello.spec.kind import each


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The result of a comparison with the definition."""

    elements: int
    differing: int
    """Elements whose bits are not the definition's (all NaNs count as one)."""
    example: str = ""
    """The first wrong element, as text."""
    max_error: float | None = None
    """The greatest distance to the definition in f64; None where none is allowed."""
    of_bound: float | None = None
    """The largest error of an element relative to its bound; more than 1 is wrong."""

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


def judge(
    spec: Spec, inputs: tuple[Array, ...], got: Array | tuple[Array, ...], exact: bool
) -> Verdict:
    """Compare the outputs with the definition.

    Args:
        inputs: every operand that is read, in logical order, as before the call.
        got: the output, in logical order; or a tuple of several.
        exact: the inputs are such that nothing is ever rounded.
    """
    expected = spec.outputs(*inputs)
    verdicts = [
        _judge(_Output(spec, place, inputs), wanted, array, exact)
        for place, (wanted, array) in enumerate(zip(expected, each(got), strict=True))
    ]
    wrong = next((verdict for verdict in verdicts if not verdict.holds), None)
    return wrong or _together(verdicts)


class Definition:
    """Right values of the outputs for some inputs, computed once for many kernels.

    Where a right output may be rounded otherwise, that is the definition in f64 with
    its bound: what it has bit for bit takes several times as long, and decides nothing
    as long as the bound is kept.

    Args:
        spec: what is computed.
        inputs: every operand that is read, in logical order.
        exact: the inputs are such that nothing is ever rounded.
    """

    def __init__(self, spec: Spec, inputs: tuple[Array, ...], exact: bool) -> None:
        self._outputs = [
            _Output(spec, place, inputs) for place in range(len(spec.kind.written))
        ]
        self._are_bounded = [
            out.is_float and not exact and rounds(spec) for out in self._outputs
        ]
        self._references = (
            reference(spec.kind, spec.sizes, _wide(inputs))
            if any(self._are_bounded)
            else ()
        )
        self._expected = () if all(self._are_bounded) else spec.outputs(*inputs)

    def holds(self, got: tuple[Array, ...]) -> bool:
        """Whether outputs are right. False may be too strict: `judge` decides then."""
        return all(map(self._holds, range(len(got)), got))

    def _holds(self, place: int, got: Array) -> bool:
        output = self._outputs[place]
        if not self._are_bounded[place]:
            return not _differs(output, self._expected[place], got).any()
        number, bound = output.widened(*self._references[place])
        _, used = _errors(number, bound, got)
        return bool((used <= 1).all())


def rounds(spec: Spec) -> bool:
    """Whether the definition rounds, so that right outputs may differ in their last
    bits."""
    floats = any(spec.dtypes[out].is_float for out in spec.kind.written)
    return floats and rounded_terms(spec.kind, spec.sizes) > 0


@dataclasses.dataclass(frozen=True)
class _Output:
    """One output of a Spec; ``place`` counts the outputs."""

    spec: Spec
    place: int
    inputs: tuple[Array, ...]

    @property
    def operand(self) -> int:
        """Index of the output among the operands."""
        return self.spec.kind.written[self.place]

    @property
    def is_float(self) -> bool:
        """Whether its elements are floats."""
        return self.spec.dtypes[self.operand].is_float

    def example(self, wrong: Array, expected: Array, got: Array) -> str:
        """A sentence on the first wrong element."""
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        name = self.spec.kind.operands[self.operand].name
        return (
            f"{name}[{', '.join(map(str, at))}] is {got[at]}, the definition has "
            f"{expected[at]}"
        )

    def reference(self) -> tuple[Array, Array]:
        """The output in f64, and how far from it a right one may be."""
        outputs = reference(self.spec.kind, self.spec.sizes, _wide(self.inputs))
        return self.widened(*outputs[self.place])

    def widened(self, number: Array, bound: Array) -> tuple[Array, Array]:
        """The output in f64 and its error bound, widened by the rounding of a store in
        a narrower dtype."""
        return number, stored_error(number, bound, self.spec.dtypes[self.operand])


def _wide(arrays: tuple[Array, ...]) -> tuple[Array, ...]:
    return tuple(array.astype(np.float64) for array in arrays)


def _judge(output: _Output, expected: Array, got: Array, exact: bool) -> Verdict:
    wrong = _differs(output, expected, got)
    count = int(np.count_nonzero(wrong))
    if not count:
        return Verdict(got.size, 0)
    if exact or not (output.is_float and rounds(output.spec)):
        return Verdict(got.size, count, output.example(wrong, expected, got))
    reference, bound = output.reference()
    error, used = _errors(reference, bound, got)
    # Where f32 overflows, f64 may not: an infinity of the definition is right.
    counts = wrong | np.isfinite(error)
    error, used = np.where(counts, error, 0.0), np.where(counts, used, 0.0)
    return Verdict(
        got.size,
        count,
        output.example(used == used.max(), expected, got),
        float(error.max()),
        float(used.max()),
    )


def _together(verdicts: list[Verdict]) -> Verdict:
    """The result for several outputs that are all right."""
    if len(verdicts) == 1:
        return verdicts[0]
    bounded = [v for v in verdicts if v.max_error is not None]
    return Verdict(
        sum(verdict.elements for verdict in verdicts),
        sum(verdict.differing for verdict in verdicts),
        max_error=max((v.max_error or 0.0 for v in bounded), default=None),
        of_bound=max((v.of_bound or 0.0 for v in bounded), default=None),
    )


def _differs(output: _Output, expected: Array, got: Array) -> Array:
    bits = np.dtype(f"u{expected.dtype.itemsize}")
    wrong: Array = expected.view(bits) != np.ascontiguousarray(got).view(bits)
    if output.is_float and not output.spec.kind.copies:
        wrong &= ~(np.isnan(expected) & np.isnan(got))
    return wrong


def _errors(reference: Array, bound: Array, got: Array) -> tuple[Array, Array]:
    """Error of each element, and its ratio to the bound of that element.

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
