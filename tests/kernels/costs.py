"""Specs that a kernel takes and others, on a grid of sizes and free registers."""

import contextlib
import functools
import random

import numpy as np

from morello.errors import SpecError
from morello.kernels import KERNELS
from morello.spec import Limits, Spec, SpecKey
from morello.spec.frame import Frame
from tests.kernels.accepted import accepted

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 24, 32, 33, 1024)


@functools.cache
def key_of(name: str) -> SpecKey:
    """The accepted key with the most conditions that some place of the grid fulfils."""
    keys = accepted()[name]
    drawn = random.Random(name).sample(keys, min(len(keys), 40))
    counts = {
        key: len(KERNELS[name].conditions(grid(key, name)))
        for key in drawn
        if fulfilled(name, key)
    }
    return max(counts, key=counts.__getitem__)


def fulfilled(name: str, key: SpecKey) -> bool:
    holds = [np.asarray(c.holds) for c in KERNELS[name].conditions(grid(key, name))]
    can_fail = not any(map(np.all, holds))
    return can_fail and bool(
        np.any(functools.reduce(np.logical_and, holds, np.bool_(True)))
    )


def grid(key: SpecKey, name: str) -> Frame:
    """Every mix of `SIZES`, at every number of free registers of a kernel."""
    rank = len(key.kind.dims)
    axes = np.meshgrid(*[np.array(SIZES, np.int64)] * rank, indexing="ij", sparse=True)
    sizes = tuple(axis[..., None] for axis in axes)
    return Frame(
        key,
        sizes,
        Limits.of(vrf=np.arange(KERNELS[name].isa.registers + 1), l1=512, l2=256),
    )


def points(name: str, count: int) -> list[tuple[tuple[int, ...], Spec]]:
    """Random places of the grid, and the Spec of each."""
    key = key_of(name)
    rng = np.random.default_rng(0)
    specs: list[tuple[tuple[int, ...], Spec]] = []
    while len(specs) < count:
        # Small sizes more often: those are the ones that kernels take.
        place = tuple(
            int(i)
            for i in np.sort(rng.integers(0, len(SIZES), (len(key.kind.dims), 3)))[:, 0]
        )
        vrf = int(rng.integers(0, KERNELS[name].isa.registers + 1))
        sizes = tuple(SIZES[i] for i in place)
        limits = Limits.of(vrf=vrf, l1=512, l2=256)
        with contextlib.suppress(SpecError):  # half a byte is no size
            specs.append(((*place, vrf), Spec(key.kind, sizes, key.tensors, limits)))
    return specs
