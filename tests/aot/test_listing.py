"""Headers, and the functions around kernels, are as listed."""

import pytest

from tests.aot.listing import FILE, table
from tests.tables import check_table

pytestmark = pytest.mark.quick


def test_headers_and_entry_points_are_as_listed() -> None:
    check_table(FILE, table(), "tests.aot.listing")
