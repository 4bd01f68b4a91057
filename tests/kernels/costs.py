"""Costs of kernels as a table, or why they do not take a Spec, for a reader to judge.

`python -m tests.kernels.costs` writes `costs.tsv` anew.
"""

import functools
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from morello.kernels import KERNELS
from morello.machine import AVX2
from morello.spec import Limits, Spec, SpecKey, print_spec
from morello.spec.frame import Frame
from tests.kernels.accepted import accepted
from tests.kernels.harness import price

FILE = Path(__file__).with_name("costs.tsv")

TAKEN, REFUSED = 6, 4
"""Specs of each kernel."""

DRAWN = 300

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
    found = []
    for _ in range(count):
        # Small sizes more often: those are the ones that kernels take.
        place = tuple(
            int(i)
            for i in np.sort(rng.integers(0, len(SIZES), (len(key.kind.dims), 3)))[:, 0]
        )
        vrf = int(rng.integers(0, KERNELS[name].isa.registers + 1))
        sizes = tuple(SIZES[i] for i in place)
        limits = Limits.of(vrf=vrf, l1=512, l2=256)
        found.append(((*place, vrf), Spec(key.kind, sizes, key.tensors, limits)))
    return found


def outcome(name: str, spec: Spec) -> str:
    """Millicycles of a run, or the first condition that does not hold."""
    kernel, frame = KERNELS[name], Frame.of(spec)
    failed = [c.text for c in kernel.conditions(frame) if not c.holds]
    return failed[0] if failed else str(int(price(kernel, frame)))


def rows_of(name: str) -> Iterator[str]:
    """Specs that a kernel takes, and others for different reasons, without repeats."""
    specs = dict.fromkeys(spec for _, spec in points(name, DRAWN))
    by_outcome = [(spec, outcome(name, spec)) for spec in specs]
    taken = [(s, o) for s, o in by_outcome if o.isdigit()][:TAKEN]
    reasons = {o: s for s, o in reversed(by_outcome) if not o.isdigit()}
    refused = [(s, o) for o, s in reversed(reasons.items())][:REFUSED]
    for spec, text in taken + refused:
        yield "\t".join((name, print_spec(spec, AVX2.limits), text))


def layouts_of(name: str) -> Iterator[str]:
    """The forms that a kernel asks for, operand by operand, where it asks for any."""
    key = key_of(name)
    for i, operand in enumerate(key.kind.operands):
        forms = " ".join(str(layout) for layout in KERNELS[name].layouts(key, i))
        if forms:
            yield f"{name}\t{operand.name}\t{forms}"


def table() -> str:
    """The text of `FILE`."""
    rows = [row for name in KERNELS for row in (*rows_of(name), *layouts_of(name))]
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    FILE.write_text(table())
