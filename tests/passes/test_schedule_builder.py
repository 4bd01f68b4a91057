"""Programs that become one schedule: equal ones are written once."""

import dataclasses

import pytest

from morello.actions import Tile
from morello.machine import AVX2
from morello.passes.parts.schedule_builder import _Programs
from morello.search import Impl, best_program
from morello.search.impl import Branch
from morello.spec import parse_spec

pytestmark = pytest.mark.quick


def doubled(impl: Impl, times: int) -> Impl:
    """A program whose two holes have one program, and so on."""
    for _ in range(times):
        branches = (Branch("main", 1, impl), Branch("remainder", 1, impl))
        impl = Impl(impl.spec, Tile("m", 1), 2 * impl.cost, branches)
    return impl


def test_each_program_is_visited_once(monkeypatch: pytest.MonkeyPatch) -> None:
    leaf = best_program(parse_spec("fill:3:f32", AVX2.limits), AVX2).impl
    visits = 0
    visit = _Programs._visit

    def counted(self: _Programs, impl: Impl) -> int:
        nonlocal visits
        visits += 1
        return visit(self, impl)

    monkeypatch.setattr(_Programs, "_visit", counted)
    top = doubled(leaf, 14)
    alone = _Programs([leaf])
    count = len(alone.distinct)
    visits = 0
    programs = _Programs([top])
    assert visits < 4 * (14 + count)
    assert len(programs.distinct) == 14 + count
    assert programs.distinct[-1] is top
    again = doubled(dataclasses.replace(leaf), 14)
    both = _Programs([top, again])
    assert both.number(top) == both.number(again) == len(both.distinct) - 1
    assert len(both.distinct) == 14 + count
    assert both.number(top) in both.shared
