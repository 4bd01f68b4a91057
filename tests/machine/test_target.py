"""What a target says of a machine."""

import dataclasses

import numpy as np
import pytest

from morello.errors import TargetError
from morello.kernels import KERNELS
from morello.machine import AVX2, TARGETS, Target, find_target
from morello.spec import ELEMENT_TYPES, L1, L2, MEM, VRF, Dtype, Limits

pytestmark = pytest.mark.quick


def test_targets_are_found_by_name() -> None:
    assert find_target("avx2") is AVX2
    assert [t.name for t in TARGETS.values()] == list(TARGETS)
    with pytest.raises(TargetError, match="unknown target 'z80'; use one of avx2"):
        find_target("z80")


@pytest.mark.parametrize("target", TARGETS.values(), ids=list(TARGETS))
def test_a_target_is_consistent(target: Target) -> None:
    assert set(target.kernels) <= set(KERNELS)
    assert len(set(target.kernels)) == len(target.kernels)
    assert target.l1_lines % target.l1_ways == 0
    for count in (target.l1_lines // target.l1_ways, target.l2_lines):
        assert count & (count - 1) == 0
    for costs in (target.coefficients, target.ops):
        assert all(isinstance(c, int) and c > 0 for c in vars(costs).values())
    assert len(dataclasses.fields(target.coefficients)) <= 20
    assert hash(target) == hash(dataclasses.replace(target))


def test_widths() -> None:
    widths = {d: AVX2.lanes(VRF, d) for d in ELEMENT_TYPES}
    assert widths[Dtype.F32] == widths[Dtype.S32] == 8
    assert widths[Dtype.BF16] == widths[Dtype.U16] == 16
    assert widths[Dtype.U8] == 32


def test_taking() -> None:
    full = AVX2.limits
    assert full == Limits.of(vrf=16, l1=512, l2=8192)
    assert AVX2.take(full, VRF, 12) == Limits.of(vrf=4, l1=512, l2=8192)
    assert AVX2.take(full, L1, 1) == Limits.of(vrf=16, l1=256, l2=8192)
    assert AVX2.take(full, L1, 512) == Limits.of(vrf=16, l1=0, l2=8192)
    assert AVX2.take(full, L2, 1) == Limits.of(vrf=16, l1=512, l2=4096)
    assert AVX2.take(full, MEM, 1 << 40) == full


def test_taking_on_arrays() -> None:
    amounts = np.array([0, 1, 300, 512])
    left = AVX2.take(Limits.of(vrf=16, l1=300, l2=0), L1, amounts)[L1]
    assert left.tolist() == [256, 256, 0, 0]
    free = np.array([[16], [4]])
    left = AVX2.take(Limits.of(vrf=free, l1=0, l2=0), VRF, amounts[:2])[VRF]
    assert left.tolist() == [[16, 15], [4, 3]]


def test_what_remains_is_a_class() -> None:
    for level in (L1, L2):
        classes = AVX2.classes(level)
        capacity = AVX2.limits[level]
        assert classes[0] == 0
        assert classes[-1] == capacity
        for taken in range(1, capacity + 1, 7):
            left = AVX2.take(AVX2.limits, level, taken)[level]
            assert left in classes
            assert left <= capacity - taken
