"""Partitions by cost: exact by prices, never dearer than the rule's, and right."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import morello
from morello.errors import CompileError
from morello.frontends import model as model_module
from morello.frontends.grouping import comparing, partition
from morello.frontends.grouping.alternatives import alternatives
from morello.frontends.grouping.cheapest import Candidate, cheapest
from morello.frontends.grouping.groups import Grouping
from morello.frontends.grouping.savings import Savings
from morello.frontends.model import Model
from morello.machine import AVX2

PROGRAM = """
func.func @f(%x: tensor<5x24xf32>, %w: tensor<24x16xf32>)
    -> (tensor<5x16xf32>, tensor<5xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<5x24xf32>, tensor<24x16xf32>) -> tensor<5x16xf32>
  %1 = stablehlo.tanh %0 : tensor<5x16xf32>
  %2 = stablehlo.multiply %1, %0 : tensor<5x16xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add
      across dimensions = [1] : (tensor<5x16xf32>, tensor<f32>) -> tensor<5xf32>
  return %2, %3 : tensor<5x16xf32>, tensor<5xf32>
}
"""

Graph = dict[int, set[int]]


def drawn(rng: random.Random) -> tuple[Graph, set[int], dict[Candidate, float]]:
    """A random DAG, its results, and prices of some groups of its nodes."""
    count = rng.randint(2, 6)
    reads = {n: {r for r in range(n) if rng.random() < 0.5} for n in range(count)}
    read = {r for of_node in reads.values() for r in of_node}
    results = {n for n in reads if n not in read or rng.random() < 0.2}
    prices = {Candidate(frozenset({n})): float(rng.randint(1, 9)) for n in reads}
    for _ in range(rng.randint(1, 9)):
        nodes = frozenset(rng.sample(range(count), rng.randint(2, min(4, count))))
        inner = sorted(nodes - results)
        copies = frozenset(rng.sample(inner, rng.randint(0, min(1, len(inner)))))
        prices[Candidate(nodes, copies)] = float(rng.randint(1, 14))
    return reads, results, prices


def totals(
    reads: Graph,
    results: set[int],
    prices: dict[Candidate, float],
    done: frozenset[int] = frozenset(),
) -> Iterator[float]:
    """The price of every way to compute the results."""
    if results <= done:
        yield 0.0
    for group, price in prices.items():
        needs = {r for n in group.nodes for r in reads[n]} - group.nodes
        if not group.covered & done and needs <= done:
            after = done | group.covered
            yield from (price + t for t in totals(reads, results, prices, after))


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_cheapest_is_the_best_of_all(first: int) -> None:
    for seed in range(first, first + 10):
        reads, results, prices = drawn(random.Random(seed))
        rule = [Candidate(frozenset({n})) for n in reads]
        chosen = cheapest(rule, prices, prices.__getitem__, reads, results)
        assert sum(map(prices.__getitem__, chosen)) == min(
            totals(reads, results, prices)
        )
        done: set[int] = set()
        for group in chosen:
            assert {r for n in group.nodes for r in reads[n]} <= done | group.nodes
            done |= group.covered
        assert results <= done


def test_the_rule_is_taken_where_nothing_is_cheaper() -> None:
    reads: Graph = {0: set(), 1: {0}}
    rule = [Candidate(frozenset({0, 1}))]
    apart = [Candidate(frozenset({n})) for n in reads]
    price = {rule[0]: 2.0, apart[0]: 1.0, apart[1]: 1.0}.__getitem__
    assert cheapest(rule, apart, price, reads, {1}) == rule


def test_every_partition_computes_the_same() -> None:
    """Each price decides for other groups: those of any are right."""
    model = morello.from_mlir(PROGRAM)
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-1, 2, s).astype(np.float32) for s in [(5, 24), (24, 16)]]
    wanted = model.evaluate(*arrays)
    grouping = Grouping(model.tensors)
    rule = grouping.by_rule()
    seen = set()
    for seed in range(8):
        for chosen in _partitions(grouping, rule, random.Random(seed)):
            steps = grouping.steps(chosen)
            seen.add(tuple(chosen))
            other = Model(model.tensors, steps, model.preparation)
            for result, want in zip(other.evaluate(*arrays), wanted, strict=True):
                np.testing.assert_allclose(result, want, rtol=1e-6)
    assert len(seen) > 2


def _partitions(
    grouping: Grouping, rule: list[Candidate], rng: random.Random
) -> Iterator[list[Candidate]]:
    prices: dict[Candidate, float] = {}

    def price(group: Candidate) -> float:
        return prices.setdefault(group, rng.random())

    results = grouping.results & grouping.reads.keys()
    others = alternatives(grouping, rule)
    yield cheapest(rule, others, price, grouping.reads, results)


def test_a_model_of_the_least_cost_is_right() -> None:
    model = morello.from_mlir(PROGRAM)
    kernel = model.compile(partition="cost", threads=1, db="none")
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal(s, np.float32) for s in [(5, 24), (24, 16)]]
    for result, want in zip(kernel(*arrays), model.evaluate(*arrays), strict=True):
        np.testing.assert_allclose(result, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("partition", ["costs", None])
def test_another_choice_is_refused(partition: Any) -> None:
    with pytest.raises(CompileError, match=r"'partition' is .*rule, cost"):
        morello.from_mlir(PROGRAM).compile(partition=partition)


LAYERS = """
func.func @layers(%x: tensor<8192x8xf32>, %v: tensor<8x64xf32>, %w: tensor<64x8xf32>)
    -> tensor<8192x8xf32> {
  %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0]
      : (tensor<8192x8xf32>, tensor<8x64xf32>) -> tensor<8192x64xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0]
      : (tensor<8192x64xf32>, tensor<64x8xf32>) -> tensor<8192x8xf32>
  return %1 : tensor<8192x8xf32>
}
"""
MACHINE: dict[str, Any] = {"threads": 1, "db": "none"}


def test_rows_that_leave_the_caches_are_not_stored() -> None:
    model = morello.from_mlir(LAYERS)
    chosen, joins = model.partitioned("cost", **MACHINE)
    assert (len(model.parts), len(chosen.parts)) == (2, 1)
    assert not joins
    short = morello.from_mlir(LAYERS.replace("8192", "512"))
    chosen, joins = short.partitioned("cost", **MACHINE)
    assert len(chosen.parts) == 2
    assert [join.reason for join in joins] == ["as one they save 0.0 % at most"]


def test_what_saves_little_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def settled(goal: Any, *rest: Any) -> Any:
        asked.append(goal)
        return searched(goal, *rest)

    searched = partition.settled
    monkeypatch.setattr(partition, "settled", settled)
    model = morello.from_mlir(PROGRAM)
    model.partitioned("cost", **MACHINE)
    assert len(asked) == len(model.parts)


def test_groups_that_store_less_are_worth_a_search() -> None:
    model = morello.from_mlir(PROGRAM.replace("5x", "65536x").replace("<5", "<65536"))
    grouping = Grouping(model.tensors)
    rule = grouping.by_rule()
    others = alternatives(grouping, rule)
    whole = Candidate(frozenset(node for group in rule for node in group.nodes))
    assert len(rule) == 2
    assert len(others) > 1

    def worth(price: float) -> list[Candidate]:
        def part(group: Candidate) -> Any:
            return grouping.part(group.nodes, group.copies)

        return Savings(rule, [price] * 2, part, AVX2).worthwhile(others)

    assert worth(1e9) == [whole]
    assert worth(1e12) == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("is_won", [False, True])
def test_with_tuning_the_faster_parts_stay(
    is_won: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[Any] = []

    def judged(one: Any, other: Any, *rest: Any) -> bool:
        comparing.is_faster(one, other, *rest)  # both are called
        compared.append((len(one.specs), len(other.specs)))
        return is_won

    monkeypatch.setattr(model_module, "is_faster", judged)
    model = morello.from_mlir(LAYERS)
    kernel = model.compile(partition="cost", tune=0.01, **MACHINE)
    assert compared == [(1, 2)]
    assert len(kernel.specs) == (1 if is_won else 2)
