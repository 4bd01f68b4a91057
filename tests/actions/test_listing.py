"""What the search tries on Specs is what `listing.txt` and `space.tsv` show."""

import pytest

from morello.actions import ACTIONS, Action
from tests.actions import listing, space
from tests.tables import check_table

pytestmark = pytest.mark.quick


def test_the_search_space_is_as_listed() -> None:
    check_table(listing.FILE, listing.listing(), listing.__name__)


def test_what_actions_say_of_many_specs_is_as_listed() -> None:
    check_table(space.FILE, space.table(), space.__name__)


@pytest.mark.parametrize("kind", ACTIONS, ids=lambda kind: kind.name)
def test_each_action_is_listed_where_it_applies(kind: type[Action]) -> None:
    if kind.name == "specialize_range":
        pytest.skip("tried for ops with a general form: test_specialize_range.py")
    if kind.name == "range":
        pytest.skip("the search does not try it: tests/ranges")
    text = listing.FILE.read_text()
    rows = [x for x in text.splitlines() if x.startswith(f"  {kind.name}(")]
    assert any(row.rpartition(": ")[2][0].isdigit() for row in rows)
