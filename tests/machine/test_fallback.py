"""Stale prices, and the generic target's in their place."""

import dataclasses

import pytest

from morello.actions import Select
from morello.calibration.sample import main_kernel
from morello.cost.of_target import cost_model
from morello.learned.ledger import with_costs
from morello.machine import AVX2, TARGETS, Target
from morello.machine.digests import COST_MODEL, digests
from morello.machine.fallback import fallback
from morello.machine.targets.avx512_vnni_bf16 import AVX512_VNNI_BF16
from morello.search import Impl, Solver
from morello.search.storage.cache_key import family
from morello.spec import parse_spec

GOAL = "matmul:24x40x48:f32"
NEAR = "matmul:4x40x16:f32:lhs=[0,1,2]@L1:rhs=[0,1,2]@L1:out=[0,1,2]@L1"
SLOW = {"load": 9 * AVX2.ops.load, "fma": 9 * AVX2.ops.fma}


def choice(target: Target) -> Impl:
    spec = parse_spec(GOAL, target.limits)
    return Solver(target.at(spec)).solve(spec).impl


def kernels(impl: Impl) -> set[str]:
    return {n.action.kernel for n in impl.walk() if isinstance(n.action, Select)}


@pytest.fixture
def generic(monkeypatch: pytest.MonkeyPatch) -> Target:
    """A generic target that was measured with all as it is."""
    target = dataclasses.replace(with_costs(AVX2, {"fork": 7}), stale=())
    monkeypatch.setitem(TARGETS, "avx2", target)
    return target


def stale(names: tuple[str, ...], **costs: int) -> Target:
    return dataclasses.replace(with_costs(AVX2, {"fork": 9, **costs}), stale=names)


def test_nothing_stands_in_for_what_no_file_has_measured(generic: Target) -> None:
    assert fallback(stale(("load",)), "store") is None
    assert fallback(stale(("load",)), "load") is not None
    doubted = dataclasses.replace(generic, stale=("load",))
    TARGETS["avx2"] = doubted
    assert fallback(stale(("load",)), "load") is None


def test_a_stale_kernel_is_as_dear_as_either_says(generic: Target) -> None:
    spec = parse_spec(NEAR, AVX2.limits)

    def cost(target: Target, *names: str) -> int:
        priced = dataclasses.replace(target, stale=names)
        return Select("gemm_tile").apply(spec, priced).cost

    cheap, dear = with_costs(AVX2, {"load": 70, "fma": 50}), with_costs(AVX2, SLOW)
    assert cost(cheap) < cost(generic) < cost(dear)
    assert cost(cheap, "load") == cost(cheap)
    assert cost(cheap, "gemm_tile") == cost(generic)
    assert cost(dear, "gemm_tile") == cost(dear)


def test_the_choice_falls_back_to_what_was_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A case where the generic target says that a stale kernel is slow."""
    best = stale(())
    kernel = main_kernel(choice(best))
    slow = dataclasses.replace(with_costs(AVX2, SLOW), stale=())
    monkeypatch.setitem(TARGETS, "avx2", slow)
    doubted = dataclasses.replace(best, stale=(kernel,))
    assert kernel not in kernels(choice(doubted))


def test_a_file_older_than_the_cost_model_chooses_as_the_generic_one(
    generic: Target,
) -> None:
    wrong = stale(tuple(digests()), load=5, line_l2=9000, store=40, loop=3000)
    assert choice(dataclasses.replace(wrong, stale=())) != choice(generic)
    assert choice(wrong) == choice(generic)


def test_instructions_that_not_all_have_keep_their_costs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = dataclasses.replace(TARGETS["avx512"], stale=())
    monkeypatch.setitem(TARGETS, "avx512", known)
    other = fallback(AVX512_VNNI_BF16, COST_MODEL)
    assert other is not None
    assert other.ops.dot_bf16 == AVX512_VNNI_BF16.ops.dot_bf16 != known.ops.dot_bf16
    assert other.kernels == AVX512_VNNI_BF16.kernels


def test_tables_of_other_prices_are_not_read(generic: Target) -> None:
    target = stale(("load",), loop=2)
    before = family(target)
    TARGETS["avx2"] = dataclasses.replace(generic, stale=("load",))
    assert family(target) != before


def test_a_model_is_found_at_once() -> None:
    assert cost_model(AVX2) is cost_model(AVX2)
