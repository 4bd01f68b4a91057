"""The time limit of a model is that of all its searches together."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

import morello
from morello.compiler import searches
from morello.errors import SearchError
from morello.frontends.model import model_of
from morello.search import Patience
from morello.tracing.jit import _shapes
from morello.tracing.traced import TracedFunction

_LIMIT = 300.0


def _layers(x: Any, *weights: Any) -> Any:
    for weight in weights:
        x = np.maximum(x @ weight, 0)
    return x


@pytest.mark.sampled(2)
@pytest.mark.parametrize("partition", ["rule", "cost"])
@pytest.mark.parametrize(
    ("extents", "distinct"), [((2, 3, 4, 5), 3), ((3, 3, 3, 2), 2)], ids=str
)
def test_searches_share_what_is_left(
    extents: tuple[int, ...],
    distinct: int,
    partition: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shares = []
    search = searches.best_program

    def noted(
        spec: Any, target: Any, database: Any, patience: Patience, **options: Any
    ) -> Any:
        shares.append(patience.seconds)
        return search(spec, target, database, patience, **options)

    monkeypatch.setattr(searches, "best_program", noted)
    pairs = itertools.pairwise(extents)
    pattern, objects = _shapes(_layers, ((2, extents[0]), *pairs), {})
    tensors, _ = TracedFunction(_layers, pattern, objects).program(holds=True)
    compiled = model_of(tensors).compile(
        threads=1, time_limit=_LIMIT, db="none", partition=partition
    )
    assert len(compiled.specs) == 3
    specs = [*dict.fromkeys(compiled.specs)]
    assert len(shares) == len(specs) == distinct
    # What searches have not used, all but some seconds, is the others'.
    for number, share in enumerate(shares):
        part = searches.part_of_time(specs[number], specs[number + 1 :])
        assert share == pytest.approx(_LIMIT * part, rel=0.2)
    assert shares[-1] < _LIMIT


@pytest.mark.parametrize(("limit", "times"), [(_LIMIT, 2), (None, 1)])
def test_searches_that_were_stopped_go_on_in_what_others_leave(
    limit: float | None, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    search = searches.best_program

    def stopped(
        spec: Any, target: Any, database: Any, patience: Patience, **options: Any
    ) -> Any:
        solution = search(spec, target, database, patience, **options)
        asked.append(spec)
        is_last = asked.count(spec) == times
        return dataclasses.replace(solution, complete=is_last and limit is not None)

    monkeypatch.setattr(searches, "best_program", stopped)
    pattern, objects = _shapes(_layers, ((2, 2), (2, 3), (3, 4)), {})
    tensors, _ = TracedFunction(_layers, pattern, objects).program(holds=True)
    model_of(tensors).compile(threads=1, time_limit=limit, db="none", partition="rule")
    first, second = dict.fromkeys(asked)
    again = [second, first] if times > 1 else []
    assert asked == [first, second, *again]


def test_a_search_without_a_program_leaves_less_to_its_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shares = []

    def none(
        spec: Any, target: Any, database: Any, patience: Patience, **options: Any
    ) -> Any:
        shares.append(patience.seconds)
        raise SearchError("no program")

    monkeypatch.setattr(searches, "best_program", none)
    run = morello.jit(lambda x: x + 1, threads=1, time_limit=_LIMIT, db="none")
    with pytest.raises(SearchError):
        run(np.zeros(4, np.float32))
    assert len(shares) == 2
    assert shares[1] < shares[0] <= _LIMIT
