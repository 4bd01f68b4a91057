"""Readers take time that is linear in what they read."""

from collections.abc import Callable

import pytest

from morello.frontends.types import resources_of
from tests.phases.linear import check_linear

_RESOURCES = {
    "none": 'dense<"0x{}">',
    "one": '{{-# dialect_resources: {{ builtin: {{ r: "0x{}" }} }} #-}}',
    "another": '{{-# external_resources: {{ own: {{ a: "{}" }} }} #-}}',
}


@pytest.mark.parametrize("form", _RESOURCES)
def test_resources(form: str) -> None:
    def step(size: int) -> Callable[[], object]:
        text = _RESOURCES[form].format("AB" * size)
        return lambda: resources_of(text)

    check_linear(step, 4000)


def test_resources_are_found_by_name() -> None:
    text = '{-# dialect_resources: { builtin: { r: "0x01", "a b": "0x0203" } } #-}'
    assert resources_of(text) == {"r": "01", "a b": "0203"}
    assert resources_of('dense<"0xAB"> r: "0x01"') == {}
