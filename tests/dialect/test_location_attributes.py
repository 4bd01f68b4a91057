"""Attributes that are locations can be read; where they mean nothing, are refused."""

import re

import pytest

import morello
from morello.errors import MorelloError
from morello.mlir import ir

pytestmark = pytest.mark.quick

SPEC = "matmul:40x10x64:f32"

LOCATIONS = [
    "loc(unknown)",
    'loc("file":1:2)',
    'loc("name")',
    'loc(callsite("a" at "b"))',
    'loc(fused["a", "b"])',
]


@pytest.mark.parametrize("text", LOCATIONS)
def test_a_location_is_read(text: str) -> None:
    with ir.Context():
        module = ir.Module.parse(
            f"module attributes {{x.y = {text}, x.z = [{text}]}} {{}}"
        )
        attribute = module.operation.attributes["x.y"]
        assert str(attribute) == str(
            ir.ArrayAttr(module.operation.attributes["x.z"])[0]
        )
        assert str(attribute) == text


@pytest.fixture(scope="module")
def schedule() -> str:
    return morello.compile(SPEC, target="avx2", threads=1, db="none").schedule


@pytest.mark.parametrize(
    "name",
    [
        *("accum", "limits", "morello.id", "morello.target", "serial", "sizes"),
        *("dim", "kernel", "layout", "level", "operand", "size"),
    ],
)
def test_a_schedule_is_refused_where_one_stands(name: str, schedule: str) -> None:
    value = r'("[^"]*"|#[\w.]+<"[^"]*">|array<[^>]*>|[\w :]+)'
    text, count = re.subn(rf"\b{name} = {value}", f"{name} = loc(unknown)", schedule)
    assert count
    with pytest.raises(MorelloError):
        morello.compile(SPEC, schedule=text, threads=1, db="none")
