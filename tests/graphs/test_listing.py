"""Facts about graphs, beside the list of them."""

import pytest

from tests.graphs import listing
from tests.tables import check_table

pytestmark = pytest.mark.quick


def test_what_is_known_of_graphs_is_as_listed() -> None:
    check_table(listing.FILE, listing.listing(), listing.__name__)
