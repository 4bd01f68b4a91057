"""Every reason for which an action does not apply: the lines of `refusals.tsv`.

A line has a Spec, the threads that it may use ("serial" inside a parallel loop), the
action, and the reason.
"""

import dataclasses
import re
import typing

import pytest

from morello.actions import ACTIONS, Action
from morello.errors import ScheduleError
from morello.machine import AVX2
from morello.spec import MEMORIES, Layout, Memory, parse_spec
from tests.tables import rows

pytestmark = pytest.mark.quick

READERS: dict[type, typing.Callable[[str], object]] = {
    int: int,
    str: str,
    Layout: Layout.parse,
    Memory: {str(memory): memory for memory in MEMORIES}.get,
}


def action_of(text: str) -> Action:
    """An action as it is printed."""
    name, _, words = text.removesuffix(")").partition("(")
    kind = next(kind for kind in ACTIONS if kind.name == name)
    types = typing.get_type_hints(kind)
    fields = [field.name for field in dataclasses.fields(kind)]
    values = re.split(r", (?![^\[]*\])", words) if words else []
    given = zip(fields, values, strict=False)
    action = kind(**{field: READERS[types[field]](value) for field, value in given})
    assert str(action) == text
    return action


@pytest.mark.parametrize(
    ("text", "threads", "written", "reason"), rows(__file__, "refusals")
)
def test_the_reason(text: str, threads: str, written: str, reason: str) -> None:
    is_serial = threads == "serial"
    spec = dataclasses.replace(parse_spec(text, AVX2.limits), serial=is_serial)
    target = dataclasses.replace(AVX2, threads=4 if is_serial else int(threads))
    action = action_of(written)
    with pytest.raises(ScheduleError) as caught:
        action.apply(spec, target)
    assert str(caught.value) == f"{action.name} does not apply to {spec}: {reason}"
