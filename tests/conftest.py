"""Tests keep out of the user's home, and off all but one processor, and are for one
target whatever the machine is, unless they ask."""

import os
from collections.abc import Iterator

import pytest

os.environ["MORELLO_DB"] = "none"
os.environ["MORELLO_THREADS"] = "1"
os.environ["MORELLO_TARGET"] = "avx2"


@pytest.fixture(scope="module")
def one_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For modules that compile the same Specs again: each is searched once."""
    with pytest.MonkeyPatch.context() as patch:
        path = tmp_path_factory.mktemp("tables") / "morello.db"
        patch.setenv("MORELLO_DB", str(path))
        yield
