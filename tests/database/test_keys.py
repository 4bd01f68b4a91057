"""Keys of tables: everything that the contents of a table depend on, and nothing else
of two tables is alike."""

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from morello.machine import AVX2
from morello.search.dp.axes import goal_axes
from morello.search.dp.table import TableId
from morello.search.storage.cache_key import base_key, family, row_key
from morello.spec import Limits, parse_spec

pytestmark = pytest.mark.quick

SPEC = parse_spec("matmul:6x8x16:f32", AVX2.limits)
AXES = goal_axes(SPEC, 1)
GIVEN = (
    TableId(SPEC.key, AXES, ()),
    Limits.of(vrf=16, l1=512, l2=8192),
    Limits.of(vrf=16, l1=1024, l2=8192),
    family(AVX2),
)

CHANGES: dict[str, Callable[[list[Any]], None]] = {}


def change(place: int, name: str, value: Any) -> None:
    """One that sets a field of an argument."""

    def changes_it(fields: list[Any]) -> None:
        fields[place] = dataclasses.replace(fields[place], **{name: value})

    CHANGES[f"{place} {name} {value!r:.40}"] = changes_it


other = parse_spec("matmul:6x8x16:f32:rhs=[0,2,1]", AVX2.limits)
change(0, "key", other.key)
change(0, "key", dataclasses.replace(SPEC.key, serial=not SPEC.key.serial))
for memory in AVX2.limits.memories:
    change(0, "free", (memory,))
for argument, place in itertools.product((1, 2), range(3)):
    amounts = [16, 512 * argument, 8192]
    amounts[place] = 7
    change(argument, "free", tuple(amounts))
CHANGES["limits and room change places"] = lambda fields: fields.insert(
    1, fields.pop(2)
)
for number, kin in enumerate(
    (
        family(AVX2, "pins"),
        family(dataclasses.replace(AVX2, threads=2)),
        family(dataclasses.replace(AVX2, l3_lines=7)),
    )
):
    CHANGES[f"family {number}"] = lambda fields, kin=kin: fields.__setitem__(3, kin)


def changed(name: str) -> list[Any]:
    fields: list[Any] = [*GIVEN]
    CHANGES[name](fields)
    return fields


@pytest.mark.parametrize("name", CHANGES)
def test_a_key_is_of_all_that_a_table_depends_on(name: str) -> None:
    assert row_key(*changed(name)) != row_key(*GIVEN)
    assert base_key(*changed(name)) != base_key(*GIVEN)


def test_no_two_changes_have_one_key() -> None:
    for key in (row_key, base_key):
        assert len({key(*changed(name)) for name in CHANGES}) == len(CHANGES)
        assert len(key(*GIVEN)) == 32


def test_tables_of_one_base_differ_in_their_axes_alone() -> None:
    larger = (*AXES[:-1], (*AXES[-1], 32))
    fields = (dataclasses.replace(GIVEN[0], sizes=larger), *GIVEN[1:])
    assert base_key(*fields) == base_key(*GIVEN)
    assert row_key(*fields) != row_key(*GIVEN)
