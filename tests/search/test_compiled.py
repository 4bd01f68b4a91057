"""Loading the compiled loops of the search."""

import pytest

from morello.search.compiled.load import Compiled
from morello.search.compiled.parameters import FUNCTIONS
from tests.guarded import check_in_child
from tests.threads import in_threads

pytestmark = pytest.mark.quick


def test_threads_load_them_at_once() -> None:
    """They are loaded, and where that is needed made, one at a time."""

    def child() -> None:
        def work(_: int) -> None:
            for name in FUNCTIONS:
                assert getattr(compiled, name) is getattr(compiled, name)

        compiled = Compiled()
        in_threads(work, range(8))

    check_in_child(child)
