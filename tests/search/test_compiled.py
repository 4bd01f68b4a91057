"""Loading the compiled loops of the search."""

import threading

import pytest

from morello.search.compiled.load import Compiled
from morello.search.compiled.parameters import FUNCTIONS
from tests.guarded import check_in_child

pytestmark = pytest.mark.quick


def test_threads_load_them_at_once() -> None:
    """They are loaded, and where that is needed made, one at a time."""

    def child() -> None:
        errors: list[BaseException] = []

        def work() -> None:
            start.wait()
            try:
                for name in FUNCTIONS:
                    assert getattr(made, name) is getattr(made, name)
            except BaseException as error:  # noqa: BLE001 (of another thread)
                errors.append(error)

        made, start = Compiled(), threading.Barrier(8)
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []

    check_in_child(child)
