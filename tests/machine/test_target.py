"""What a target says of a machine."""

import dataclasses

import numpy as np
import pytest

from morello.errors import TargetError
from morello.kernels import KERNELS
from morello.machine import AVX2, TARGETS, Target, find_target
from morello.spec import ELEMENT_TYPES, Dtype, Level, Limits

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
    widths = {d: AVX2.vector_width(d) for d in ELEMENT_TYPES}
    assert widths[Dtype.F32] == widths[Dtype.S32] == 8
    assert widths[Dtype.BF16] == widths[Dtype.U16] == 16
    assert widths[Dtype.U8] == 32


def test_taking() -> None:
    full = AVX2.limits
    assert full == Limits(16, 512, 8192)
    assert AVX2.take(full, Level.VRF, 12) == Limits(4, 512, 8192)
    assert AVX2.take(full, Level.L1, 1) == Limits(16, 256, 8192)
    assert AVX2.take(full, Level.L1, 512) == Limits(16, 0, 8192)
    assert AVX2.take(full, Level.L2, 1) == Limits(16, 512, 4096)
    assert AVX2.take(full, Level.MEM, 1 << 40) == full


def test_taking_on_arrays() -> None:
    amounts = np.array([0, 1, 300, 512])
    left = AVX2.take(Limits(16, 300, 0), Level.L1, amounts).l1
    assert left.tolist() == [256, 256, 0, 0]
    free = np.array([[16], [4]])
    left = AVX2.take(Limits(free, 0, 0), Level.VRF, amounts[:2]).vrf
    assert left.tolist() == [[16, 15], [4, 3]]


def test_what_remains_is_a_class() -> None:
    for level in (Level.L1, Level.L2):
        classes = AVX2.classes(level)
        capacity = AVX2.limits[level]
        assert classes[0] == 0
        assert classes[-1] == capacity
        for taken in range(1, capacity + 1, 7):
            left = AVX2.take(AVX2.limits, level, taken)[level]
            assert left in classes
            assert left <= capacity - taken
