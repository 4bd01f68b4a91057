"""Limits: text, classes, and what remains after something is taken."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.errors import SpecError
from morello.spec import L1, L2, MEM, VRF, Limits
from morello.spec.tensors.limits import cache_classes, snap_down
from tests.spec.strategies import LIMITS

pytestmark = pytest.mark.quick


@given(LIMITS)
def test_text_round_trip(limits: Limits) -> None:
    assert Limits.parse(str(limits)) == limits
    assert Limits.parse(f" {limits}\n") == limits


@pytest.mark.parametrize(
    "text", ["", "vrf=16", "vrf=16,l1=x,l2=1", "vrf=-1,l1=2,l2=3", "l1=1,l2=1,vrf=1"]
)
def test_what_is_not_a_set_of_limits(text: str) -> None:
    with pytest.raises(SpecError, match="is not a set of limits; write vrf=16,l1=512"):
        Limits.parse(text)


def test_numbers_too_long_to_read() -> None:
    with pytest.raises(SpecError, match="is not a set of limits"):
        Limits.parse(f"vrf=1,l1={'9' * 5000},l2=1")


def test_one_level_at_a_time() -> None:
    limits = Limits.of(vrf=1, l1=2, l2=3)
    assert [limits[level] for level in (VRF, L1, L2)] == [1, 2, 3]
    for level in (VRF, L1, L2):
        changed = limits.replace(level, 9)
        assert changed[level] == 9
        assert changed.replace(level, limits[level]) == limits
    with pytest.raises(KeyError):
        limits[MEM]
    with pytest.raises(KeyError):
        limits.replace(MEM, 1)


def test_classes() -> None:
    assert cache_classes(512, 5) == (0, 32, 64, 128, 256, 512)
    assert cache_classes(768, 2) == (0, 384, 768)
    assert cache_classes(4, 5) == (0, 1, 2, 4)
    assert cache_classes(1, 1) == (0, 1)


@given(st.integers(0, 3000), st.integers(1, 2048), st.integers(1, 8))
def test_snapping(remaining: int, capacity: int, count: int) -> None:
    classes = cache_classes(capacity, count)
    assert list(classes) == sorted(set(classes))
    assert len(classes) <= count + 1
    snapped = snap_down(remaining, classes)
    assert isinstance(snapped, int)
    assert snapped == max(c for c in classes if c <= remaining)
    assert snap_down(snapped, classes) == snapped
    many = snap_down(np.arange(remaining, remaining + 3), classes)
    assert many.tolist() == [snap_down(remaining + i, classes) for i in range(3)]
