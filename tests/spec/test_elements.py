"""What a kind computes of one element is what it defines for arrays of one element."""

from collections.abc import Iterator

import numpy as np
import pytest

from morello.spec import Array, Kind
from morello.spec.checking import random_inputs
from morello.spec.elements.arrays import ArrayElements
from morello.spec.kinds import instances
from morello.spec.mixes import legal_mixes

pytestmark = pytest.mark.quick


class Numbers(ArrayElements):
    """The elements of one group: arrays of rank 0."""

    def read(self, operand: int, step: int = 0) -> Array:
        return np.asarray(self.arrays[operand].reshape(-1)[step])


def kinds() -> Iterator[Kind]:
    """Every kind that has an element."""
    for kind in instances():
        if kind.is_map or (kind.has_element and kind.accumulates):
            yield kind


@pytest.mark.parametrize("kind", [*kinds()], ids=str)
def test_an_element_is_that_of_the_definition(kind: Kind) -> None:
    """In all its dtypes, of one group."""
    sizes = tuple(map(kind.grain, range(len(kind.dims))))
    shapes = tuple(operand.sizes(sizes) for operand in kind.operands)
    for dtypes in legal_mixes(kind):
        rng = np.random.default_rng(0)
        for _ in range(20):
            arrays = random_inputs(kind, rng, dtypes, shapes)
            defined = np.asarray(kind.evaluate(sizes, dtypes, arrays)).reshape(-1)[0]
            with np.errstate(all="ignore"):
                elements = kind.element(Numbers(arrays, max(sizes)), dtypes)
            assert np.asarray(elements).tobytes() == defined.tobytes(), dtypes
