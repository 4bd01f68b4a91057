"""The fill kernels, for every dtype, at every edge size."""

from itertools import cycle

import pytest

from morello.spec import ELEMENT_TYPES, Dtype, Fill, Spec
from tests.kernels.harness import EDGE, check_random, legal_cases, spec


def fills(dtype: str, place: str) -> tuple[Spec, ...]:
    sizes = [(m, n) for n in EDGE for m in (1, 3)]
    sizes += [(m, 5) for m in EDGE]
    return tuple(
        spec(Fill(2, value), s, f"{dtype}@{place}")
        for s, value in zip(sizes, cycle(["zero", "lowest", "lowest"]), strict=False)
    )


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", ELEMENT_TYPES)
def test_rows(dtype: Dtype) -> None:
    check_random(legal_cases("fill_rows", fills(dtype.value, "L1[0,1]")))


@pytest.mark.parametrize("layout", ["[1,0]", "[0,1,1p16]", "[0,1,1oe16]", "[0,1,0p6]"])
def test_rows_of_other_layouts(layout: str) -> None:
    check_random(legal_cases("fill_rows", fills("f32", f"L1{layout}")))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", ELEMENT_TYPES)
def test_registers(dtype: Dtype) -> None:
    place = f"VRF[0,1]v{32 // dtype.itemsize}"
    check_random(legal_cases("fill_registers", fills(dtype.value, place)))
