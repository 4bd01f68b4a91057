"""Schedules as text: handles have the names of their holes."""

import re

import pytest

import morello
from morello.compiler.schedule_text import schedule_text
from morello.dialect import in_context
from morello.dialect.transform import ACTION_OPS
from morello.mlir import ir
from tests.compiler.test_partial_schedule import PARTIAL, SPEC

pytestmark = pytest.mark.quick

TEXTS = ("max:9x70:f32", "matmul:7x8x16:f32", "move:13x21:f32:dst=[1,0]")


@pytest.mark.parametrize("text", TEXTS)
def test_handles_are_named_after_their_holes(text: str) -> None:
    schedule = morello.compile(text).schedule
    assert not re.search(r"%\d", schedule)
    ops = re.findall(r'^ *(.*) = "morello_transform\.(\w+)"', schedule, re.MULTILINE)
    assert ops
    for names, action in ops:
        roles = [re.sub(r"_\d+$", "", name[1:]) for name in names.split(", ")]
        assert roles == list(ACTION_OPS[action].roles)
    scopes = schedule.split("named_sequence")[1:]
    for scope in scopes:
        defined = re.findall(r"(%\w+)(?=[, ].*? = )", scope)
        assert len(set(defined)) == len(defined)


@pytest.mark.parametrize("text", [*TEXTS, "shared programs"])
def test_names_change_nothing(text: str) -> None:
    kernel = (
        morello.compile(SPEC, schedule=PARTIAL["a sequence for equal Specs"])
        if text not in TEXTS
        else morello.compile(text)
    )
    with in_context():
        module = ir.Module.parse(kernel.schedule)
        numbered = str(module)
        assert schedule_text(module) == kernel.schedule
    assert numbered != kernel.schedule
    assert morello.compile(kernel.spec, schedule=numbered).object == kernel.object
