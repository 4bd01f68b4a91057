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
    rare = tuple(often * FEWER for often in before)
    with rare_collections():
        with rare_collections():
            assert gc.get_threshold() == rare
        assert gc.get_threshold() == rare
    assert gc.get_threshold() == before


def test_a_search_that_is_stopped_restores_what_was() -> None:
    before = gc.get_threshold()
    rare = tuple(often * FEWER for often in before)
    seen = []

    def watch(statistics: Statistics) -> None:
        seen.append(gc.get_threshold())
        raise TimeoutError

    with pytest.raises(TimeoutError):
        Solver(AVX2, watch=watch).solve(parse_spec("fill:3:f32", AVX2.limits))
    assert seen == [rare]
    assert gc.get_threshold() == before
