"""Balance of threads: every tile is counted once, the busiest thread has its share."""

import dataclasses
import math

import pytest

from morello.actions import GridParallel, SplitParallel, TileParallel
from morello.actions.base import Action
from morello.explain import as_data, as_page, as_text, explain
from morello.explain.balance import balance
from morello.explain.words import Clock
from morello.machine import AVX2
from morello.search import Solver
from morello.search.queries.partial_program import HOLE, Partial
from morello.spec import parse_spec

TARGET = dataclasses.replace(AVX2, threads=4)

CASES = (
    ("matmul:100x8x48:f32", TileParallel("m", 24), ("m",)),
    ("matmul:96x8x48:f32", TileParallel("m", 24), ("m",)),
    ("matmul:100x8x100:f32", GridParallel("m", 64, "n", 64), ("m", "n")),
    ("matmul:128x8x100:f32", GridParallel("m", 64, "n", 64), ("m", "n")),
    ("sum:1x1000:f32", SplitParallel("d1", 256, 4), ("d1",)),
    ("sum:1x1024:f32", SplitParallel("d1", 256, 4), ("d1",)),
)


@pytest.mark.parametrize(("text", "action", "shared"), CASES)
def test_all_threads_together_run_every_tile(
    text: str, action: Action, shared: tuple[str, ...]
) -> None:
    spec = parse_spec(f"{text}:serial=false", TARGET.limits)
    runs = action.team_runs(spec)
    places = [spec.kind.dims.index(name) for name in shared]
    holes = {
        hole.role: math.prod(hole.spec.sizes[d] for d in places)
        for hole in action.apply(spec, TARGET).holes
        if hole.role in runs
    }
    covered = sum(runs[role] * size for role, size in holes.items())
    assert covered == math.prod(spec.sizes[d] for d in places)
    assert all(not runs[role] for role in set(runs) - set(holes))


@pytest.mark.parametrize(("size", "threads"), [(24, 4), (25, 4), (33, 3)])
def test_the_busiest_thread_is_set_against_the_mean(size: int, threads: int) -> None:
    target = dataclasses.replace(AVX2, threads=threads)
    spec = parse_spec("max:100x16:f32:serial=false", target.limits)
    tile = TileParallel("d0", size)
    partial = Partial(tile, (HOLE,) * len(tile.apply(spec, target).holes))
    explanation = explain(spec, Solver(target), decided=partial)
    balanced = balance(explanation)
    assert balanced is not None
    costs = {"remainder": 0}
    costs |= {c.role: c.impl.cost for c in explanation.root.children}
    whole, rest = divmod(100, size)
    items = whole + bool(rest)
    tiles = [costs["main"]] * whole + [costs["remainder"]] * bool(rest)
    assert balanced.threads == threads
    assert balanced.total == sum(tiles)
    most = -(-items // threads)
    last = items % threads == 1 and rest
    assert balanced.busiest == sum(tiles[-most:] if last else tiles[:most])
    assert balanced.excess == balanced.busiest * threads / balanced.total >= 1
    assert 0 < balanced.apart < 1
    assert f"\nthreads: {balanced}\n" in as_text(explanation, Clock(3.0), 3)
    assert as_data(explanation, 3.0, 3)["balance"]["total"] == balanced.total
    assert balanced.text in as_page(explanation, Clock(3.0), 3)


def test_a_program_of_one_thread_has_no_balance() -> None:
    explanation = explain(parse_spec("max:5x16:f32", AVX2.limits), Solver(AVX2))
    assert balance(explanation) is None
    assert "\nthreads: " not in as_text(explanation, Clock(3.0), 3)
    assert as_data(explanation, 3.0, 3)["balance"] is None
