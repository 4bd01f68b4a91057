"""Results beside the definition, numbers that are infinite or NaN among them."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import morello
from morello.spec.checking import reference

Array = np.ndarray[Any, np.dtype[Any]]

SPECIAL = (np.inf, -np.inf, np.nan)


def check_as_defined(kernel: morello.Kernel, arrays: Sequence[Array]) -> None:
    """The result of exact sums is that of the definition; an infinity and a NaN are
    where it has one."""
    spec = kernel.spec
    wide = tuple(array.astype(np.float64) for array in arrays)
    with np.errstate(invalid="ignore"):
        ((wanted, _),) = reference(spec.kind, spec.sizes, wide)
    y = kernel(*(spec.to_physical(i, array) for i, array in enumerate(arrays)))
    np.testing.assert_array_equal(y, wanted.astype(np.float32))


def with_specials(
    arrays: Sequence[Array], operand: int, places: Sequence[int]
) -> Iterator[list[Array]]:
    """Arguments with an infinity, or NaN, at one place of an operand at a time; then
    with both infinities in turns at all of them."""
    array = arrays[operand]
    for place in places:
        for number in SPECIAL:
            changed = array.copy()
            changed.reshape(-1)[place] = number
            yield [*arrays[:operand], changed, *arrays[operand + 1 :]]
    changed = array.copy()
    for at, place in enumerate(places):
        changed.reshape(-1)[place] = SPECIAL[at % 2]
    yield [*arrays[:operand], changed, *arrays[operand + 1 :]]
