"""Sizes that are no sizes are refused under every name that a graph has."""

import pytest

from morello.errors import SpecError
from morello.machine import AVX2
from morello.spec import parse_spec
from morello.spec.graphs.names import SHORT_NAMES
from morello.spec.text.labels import REDUCTIONS

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("size", ["0", "2147483648", "9" * 400])
@pytest.mark.parametrize("name", sorted({*SHORT_NAMES, *REDUCTIONS}))
def test_no_size_is_zero_or_too_large(name: str, size: str) -> None:
    for rank in range(1, 9):
        for place in range(rank):
            sizes = "x".join(size if i == place else "4" for i in range(rank))
            with pytest.raises(SpecError):
                parse_spec(f"{name}:{sizes}:f32", AVX2.limits)
