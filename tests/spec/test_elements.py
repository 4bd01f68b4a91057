"""What a kind computes of one element is what it defines for arrays of one element."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from morello.spec import Array, Dtype, Kind, Move
from morello.spec.kinds import instances

pytestmark = pytest.mark.quick


@dataclasses.dataclass(frozen=True)
class Numbers:
    """`Elements` in NumPy, on arrays of rank 0."""

    arrays: list[Array]
    """The elements of each operand that is read, in the order of the steps."""
    steps: int

    def read(self, operand: int, step: int = 0) -> Array:
        return self.arrays[operand].reshape(-1)[step]

    def constant(self, dtype: Dtype, number: float | int) -> Array:
        return np.asarray(number, dtype.numpy)

    def convert(self, value: Array, source: Dtype, dest: Dtype) -> Array:
        cast = Move(1).evaluate((1,), (source, dest), (np.atleast_1d(value),))
        return cast[0]

    def add(self, a: Any, b: Any) -> Any:
        return a + b

    def multiply_add(self, a: Any, b: Any, c: Any) -> Any:
        return a * b + c

    def maximum(self, dtype: Dtype, a: Any, b: Any) -> Any:
        return np.maximum(a, b)

    def minimum(self, dtype: Dtype, a: Any, b: Any) -> Any:
        return np.minimum(a, b)


def cases() -> Iterator[tuple[Kind, tuple[Dtype, ...], tuple[int, ...]]]:
    """Every kind that has an element, in its dtypes, of one group."""
    for kind in instances():
        if kind.accumulates or not kind.reductions:
            for dtypes in kind.legal_dtypes():
                yield kind, dtypes, tuple(map(kind.grain, range(len(kind.dims))))


@pytest.mark.parametrize(("kind", "dtypes", "sizes"), [*cases()], ids=str)
def test_an_element_is_that_of_the_definition(
    kind: Kind, dtypes: tuple[Dtype, ...], sizes: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(0)
    shapes = tuple(operand.sizes(sizes) for operand in kind.operands)
    for _ in range(20):
        arrays = kind.random(rng, dtypes, shapes)
        defined = np.asarray(kind.evaluate(sizes, dtypes, arrays)).reshape(-1)[0]
        with np.errstate(all="ignore"):
            found = kind.element(Numbers(list(arrays), max(sizes)), dtypes)
        assert np.asarray(found).tobytes() == defined.tobytes()
