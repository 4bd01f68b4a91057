"""Collections of garbage are rare while a search goes on, and as before after it."""

import gc

import pytest

from morello.machine import AVX2
from morello.search import Solver, Statistics
from morello.search.garbage import FEWER, rare_collections
from morello.spec import parse_spec

pytestmark = pytest.mark.quick


def test_the_last_block_that_ends_restores_what_was() -> None:
    before = gc.get_threshold()
    with rare_collections():
        with rare_collections():
            assert gc.get_threshold() == (before[0] * FEWER, *before[1:])
        assert gc.get_threshold() == (before[0] * FEWER, *before[1:])
    assert gc.get_threshold() == before


def test_a_search_that_is_stopped_restores_what_was() -> None:
    before = gc.get_threshold()
    seen = []

    def watch(statistics: Statistics) -> None:
        seen.append(gc.get_threshold())
        raise TimeoutError

    with pytest.raises(TimeoutError):
        Solver(AVX2, watch=watch).solve(parse_spec("fill:3:f32", AVX2.limits))
    assert seen == [(before[0] * FEWER, *before[1:])]
    assert gc.get_threshold() == before
