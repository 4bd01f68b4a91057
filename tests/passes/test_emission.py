"""Methods of the emitter write the ops that are listed."""

import pytest

from tests.passes.emission import FILE, table
from tests.tables import check_table

pytestmark = pytest.mark.quick


def test_methods_write_the_ops_that_are_listed() -> None:
    check_table(FILE, table(), "tests.passes.emission")
