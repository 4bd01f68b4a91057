"""`expand` on many Specs at once says what `apply` says of each one."""

import random
from typing import Any

import numpy as np
import pytest

from morello.actions import Action, Expansion
from morello.machine import AVX2
from morello.spec import L1, L2, VRF, Limits, Spec, SpecKey
from morello.spec.embedding import ONE
from morello.spec.frame import Frame
from tests.actions.walk import applied, candidates, random_rewrite
from tests.search.axes_of import axes_of

SAMPLES = 6
"""Points of a frame that are compared with single Specs."""


def random_frame(rng: random.Random, spec: Spec) -> Frame:
    """Specs of the key of ``spec``: each size and limit an array along its own axis."""
    limits = spec.limits
    choices = [
        *(rng.sample(a, min(4, len(a))) for a in axes_of(spec)),
        sorted({limits[VRF], 1, 12, 16}),
        sorted({limits[L1], 0, 4, 32, 512}),
        sorted({limits[L2], 0, 1024}),
    ]
    mesh = np.ix_(*(np.asarray(sorted(c), np.int64) for c in choices))
    count = len(spec.sizes)
    return Frame(
        spec.key, tuple(mesh[:count]), Limits(spec.limits.memories, tuple(mesh[count:]))
    )


def shape_of(frame: Frame) -> tuple[int, ...]:
    left = frame.limits
    return np.broadcast_shapes(*(np.shape(v) for v in (*frame.sizes, *left.free)))


def at(values: Any, point: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    return np.broadcast_to(values, shape)[point]


def frame_at(frame: Frame, point: tuple[int, ...], shape: tuple[int, ...]) -> Frame:
    left = frame.limits
    sizes = tuple(int(at(s, point, shape)) for s in frame.sizes)
    free = tuple(int(at(value, point, shape)) for value in left.free)
    limits = Limits(left.memories, free)
    return Frame(frame.key, sizes, limits)


def compare_at(
    action: Action, frame: Frame, whole: Expansion, point: tuple[int, ...]
) -> bool:
    """Compare one point; whether the action applies there."""
    shape = shape_of(frame)
    spec = frame_at(frame, point, shape).spec()
    rewrite = applied(action, spec)
    legal = all(bool(at(c.holds, point, shape)) for c in whole.conditions)
    assert legal == (rewrite is not None), f"{action} on {spec}"
    if rewrite is None:
        return False
    assert int(at(whole.cost, point, shape)) == rewrite.cost
    children = [c for c in whole.children if int(at(c.exists, point, shape))]
    holes = [
        (c.role, frame_at(c.frame, point, shape).spec(), int(at(c.times, point, shape)))
        for c in children
    ]
    assert holes == [(h.role, h.spec, h.times) for h in rewrite.holes]
    for child in children:
        assert child_dims(child.frame.key, child.dims)
    return True


def child_dims(key: SpecKey, dims: tuple[int, ...]) -> bool:
    """Each dimension of a child is a part of another of the parent's, or new."""
    parts = [dim for dim in dims if dim != ONE]
    return len(dims) == len(key.kind.dims) and len(parts) == len(set(parts))


@pytest.mark.parametrize("seed", range(10))
def test_arrays_and_single_specs_agree(seed: int) -> None:
    rng = random.Random(seed)
    compared = legal = 0
    while compared < 200:
        spec, _, _ = random_rewrite(rng)
        frame = random_frame(rng, spec)
        tried = candidates(spec)
        for action in rng.sample(tried, min(10, len(tried))):
            whole = action.expand(frame, AVX2)
            for _ in range(SAMPLES):
                point = tuple(rng.randrange(n) for n in shape_of(frame))
                legal += compare_at(action, frame, whole, point)
                compared += 1
    assert legal >= 10


@pytest.mark.parametrize("seed", range(10))
def test_rewrites_make_progress(seed: int) -> None:
    """Levels go down, limits shrink, sizes do not grow: programs are finite."""
    rng = random.Random(1000 + seed)
    for _ in range(40):
        spec, _, rewrite = random_rewrite(rng)
        for hole in rewrite.holes:
            assert hole.times >= 1
            assert hole.spec != spec
            for level in (VRF, L1, L2):
                assert hole.spec.limits[level] <= spec.limits[level]
            assert max(hole.spec.sizes) <= max(spec.sizes)
            assert hole.spec.serial or not spec.serial


def test_expanding_changes_nothing() -> None:
    rng = random.Random(7)
    for _ in range(50):
        spec, action, rewrite = random_rewrite(rng)
        frame = random_frame(rng, spec)
        before = [s.copy() for s in frame.sizes]
        action.expand(frame, AVX2)
        assert all(
            np.array_equal(a, b) for a, b in zip(before, frame.sizes, strict=True)
        )
        assert action.apply(spec, AVX2) == rewrite
