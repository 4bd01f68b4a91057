"""Lookups at places outside of a tensor raise eager's errors."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional  # noqa: F401 (the table has it)

from morello.torch.places import with_test
from tests.tables import rows

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("one_database")]

_OPTIONS = {"wait": True, "threads": 1, "time_limit": 0.2}
_TABLE = torch.arange(20.0).reshape(5, 4).sin()

Function = Callable[[Any, Any], Any]

LOOKUPS: list[tuple[str, Function, list[Any], list[Any]]] = [
    (name, *map(eval, line)) for name, *line in rows(__file__, "lookups")
]
"""Functions, places within the table, and places outside of it."""


def is_outside(graph: Any, *tensors: Any) -> bool:
    """Whether a lookup of a graph is outside, by its test."""
    tested = with_test(graph)
    assert tested is not None
    (output,) = tested.graph.find_nodes(op="output")
    output.args = (output.args[0][-1],)  # so that no lookup raises an error
    tested.graph.eliminate_dead_code()
    return bool(tested.recompile() and tested(*tensors))


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("function", "within", "outside"),
    [pytest.param(*row[1:], id=row[0]) for row in LOOKUPS],
)
def test_places_outside_raise_what_eager_raises(
    function: Function, within: list[Any], outside: list[Any]
) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="morello", options=_OPTIONS)
    for places in map(torch.tensor, within):
        torch.testing.assert_close(compiled(_TABLE, places), function(_TABLE, places))
    for places in map(torch.tensor, outside):
        with pytest.raises((IndexError, RuntimeError)) as wanted:
            function(_TABLE, places)
        with pytest.raises(wanted.type) as raised:
            compiled(_TABLE, places)
        assert str(raised.value) == str(wanted.value)


def test_places_of_the_program_may_lie_anywhere(
    caplog: pytest.LogCaptureFixture,
) -> None:
    torch._dynamo.reset()

    def function(x: Any) -> Any:
        places = (torch.arange(4).unsqueeze(1) + torch.arange(5)) % 5
        return torch.gather(x, 0, places.mT) * 2

    compiled = torch.compile(function, backend="morello", options=_OPTIONS)
    torch.testing.assert_close(compiled(_TABLE), function(_TABLE))
    assert not [record for record in caplog.records if "eager" in record.message]


def test_places_of_floats_are_looked_up_by_eager() -> None:
    torch._dynamo.reset()

    def function(x: Any, i: Any) -> Any:
        return x[(i * 1.0).long()] * 2

    compiled = torch.compile(function, backend="morello", options=_OPTIONS)
    places = torch.tensor([0, 4])
    torch.testing.assert_close(compiled(_TABLE, places), function(_TABLE, places))
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        compiled(_TABLE, torch.tensor([0, 5]))
