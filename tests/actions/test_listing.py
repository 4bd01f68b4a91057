"""What the search tries on small Specs is what `listing.txt` shows."""

import difflib

import pytest

from morello.actions import ACTIONS, Action
from tests.actions.listing import FILE, listing

pytestmark = pytest.mark.quick

REMEDY = "if each line is meant, run python -m tests.actions.listing"


def test_the_search_space_is_as_listed() -> None:
    before, after = FILE.read_text().splitlines(), listing().splitlines()
    changed = [*difflib.unified_diff(before, after, "listing.txt", "now", "", "", 1)]
    assert not changed, "\n".join([*changed[:60], REMEDY])


@pytest.mark.parametrize("kind", ACTIONS, ids=lambda kind: kind.name)
def test_each_action_is_listed_where_it_applies(kind: type[Action]) -> None:
    if kind.name == "specialize_range":
        pytest.skip("tried for ops with a general form: test_specialize_range.py")
    rows = [x for x in FILE.read_text().splitlines() if x.startswith(f"  {kind.name}(")]
    assert any(row.rpartition(": ")[2][0].isdigit() for row in rows)
