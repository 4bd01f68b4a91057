"""The choice of a target: argument, then schedule, then environment, then machine."""

import pytest

import morello
from morello.compiler.target_choice import chosen_target
from morello.errors import TargetError
from morello.machine import AVX2, find_target
from morello.machine.targets.avx2_golden_cove import AVX2_GOLDEN_COVE
from tests.tool import Tool

pytestmark = pytest.mark.quick

SPEC = "fill:24:f32"
MODULE = 'module attributes {morello.target = "%s"} {}'


def test_the_argument_is_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MORELLO_TARGET", "avx2")
    schedule = MODULE % "avx2"
    assert chosen_target("avx2-golden-cove", schedule) is AVX2_GOLDEN_COVE
    assert chosen_target(AVX2_GOLDEN_COVE, schedule) is AVX2_GOLDEN_COVE


def test_second_is_the_target_of_the_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MORELLO_TARGET", "avx2-golden-cove")
    assert chosen_target(None, MODULE % "avx2{threads=2}") == AVX2
    assert chosen_target(None, "module {}") == AVX2


def test_third_is_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MORELLO_TARGET", "avx2-golden-cove{l1_lines=256}")
    assert chosen_target(None) == find_target("avx2-golden-cove{l1_lines=256}")
    monkeypatch.setenv("MORELLO_TARGET", "vax")
    with pytest.raises(TargetError, match="MORELLO_TARGET: unknown target 'vax'"):
        chosen_target(None)


def test_last_is_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MORELLO_TARGET")
    assert chosen_target(None) is find_target("native")
    monkeypatch.setenv("MORELLO_TARGET", "")
    assert chosen_target(None) is find_target("native")


def test_a_kernel_is_for_the_target_that_is_meant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MORELLO_TARGET", "avx2-golden-cove")
    schedule = morello.compile(SPEC).schedule
    assert '"avx2-golden-cove"' in schedule
    monkeypatch.setenv("MORELLO_TARGET", "avx2")
    assert morello.compile(SPEC, schedule=schedule).schedule == schedule
    assert '"avx2"' in morello.compile(SPEC).schedule


def test_tools_say_where_an_unknown_target_stands(
    monkeypatch: pytest.MonkeyPatch, tool: Tool
) -> None:
    assert "argument --target: unknown target 'vax'" in tool.err(
        "run", SPEC, "--target", "vax", code=2
    )
    monkeypatch.setenv("MORELLO_TARGET", "vax")
    assert "MORELLO_TARGET: unknown target 'vax'" in tool.err("run", SPEC)
