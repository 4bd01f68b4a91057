"""Tests keep out of the user's home, and off all but one processor, and are for one
target whatever the machine is, unless they ask."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.progress import Progress

os.environ["MORELLO_DB"] = "none"
os.environ["MORELLO_THREADS"] = "1"
os.environ["MORELLO_TARGET"] = "avx2"

# The same examples on every run, however slow the machine; more, and others, on demand.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("thorough", max_examples=5000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_configure(config: pytest.Config) -> None:
    """Only the process that prints reports progress: a worker of xdist does not."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Progress(config), "progress")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files whose tests are quick come last, so that two workers end together."""
    items.sort(key=lambda item: item.get_closest_marker("quick") is not None)


def pytest_collection_finish() -> None:
    """Modules and tests stay until the end: to look through them for garbage again and
    again takes 3 to 5 % of the time of searches."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


@pytest.fixture(scope="session")
def shared_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all processes of a run."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # each worker has a folder of its own below it
    return folder / "morello.db"


@pytest.fixture(scope="module")
def one_database(shared_database: Path) -> Iterator[None]:
    """For modules that compile the same Specs again, or those of others: each is
    searched once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MORELLO_DB", str(shared_database))
        yield
