"""Programs that cover a range, beside every choice of programs."""

import dataclasses
import functools
import random
import types
from typing import Any, cast

import numpy as np
import pytest

from morello.machine import AVX2
from morello.search.ranges.area import Area
from morello.search.ranges.over import Over
from morello.search.ranges.sizes import Sizes, search_sizes
from morello.spec import parse_spec

pytestmark = pytest.mark.quick


def drawn(rng: random.Random) -> tuple[Area, Any]:
    """A run of sizes, with the costs of programs that take some of them."""
    count = rng.randint(1, 9)
    run = sorted(rng.sample(range(1, 30), count))
    rows = np.full((rng.randint(1, 5), count), np.inf)
    for row in rows:
        start = rng.randrange(count)
        stop = rng.randint(start + 1, count)
        row[start:stop] = [rng.randint(90, 130) for _ in range(start, stop)]
    rows = np.vstack([rows, [rng.randint(100, 200) for _ in run]])
    # What chooses a program adds to its cost: none may be as cheap as the best.
    best = rows.min(0) - [rng.choice((0, 5)) for _ in run]
    known = {(m,): cost for m, cost in zip(run, best, strict=True)}
    sizes = types.SimpleNamespace(cost=known.__getitem__)
    none = cast(Over, None)
    return Area(cast(Sizes, sizes), (tuple(run),), none, [], [], rows), best


def fewest(fits: Any) -> int:
    """The least number of programs that take all places one after the other."""

    @functools.cache
    def from_place(at: int) -> int:
        if at == fits.shape[1]:
            return 0
        ends = (
            end
            for row in fits
            for end in range(at + 1, fits.shape[1] + 1)
            if row[at:end].all()
        )
        return 1 + min(map(from_place, ends))

    return from_place(0)


@pytest.mark.parametrize("percent", [0, 5, 20, 400])
def test_the_fewest_programs_within_a_regret(percent: float) -> None:
    several = 0
    for seed in range(60):
        run, best = drawn(random.Random(seed))
        most = np.maximum((1 + percent / 100) * best, run.costs.min(0))
        chosen = [(*place, n) for (place,), n in run.chosen(percent)]
        assert [at for at, _, _ in chosen] == [0, *(end for _, end, _ in chosen)][:-1]
        assert chosen[-1][1] == len(run.area[0])
        assert len(chosen) == fewest(run.costs <= most)
        for at, end, number in chosen:
            assert (run.costs[number, at:end] <= most[at:end]).all()
            as_far = [c[at:end].sum() for c in run.costs if (c <= most)[at:end].all()]
            assert run.costs[number, at:end].sum() == min(as_far)
        several += len(chosen) > 1
    assert several > 0 or percent == 400


def test_costs_of_programs_that_are_gone_are_not_taken_for_those_of_others() -> None:
    sizes = search_sizes(parse_spec("matmul:1..2x2x3:f32", AVX2.limits), AVX2)
    over, impl = Over(sizes.tables[2,]), sizes.best[2,]
    for cost in range(100):
        assert over.cost(dataclasses.replace(impl, cost=cost), impl.spec) == cost
