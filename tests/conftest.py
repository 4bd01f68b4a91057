"""Tests use no database of the user, one thread and one target on every machine, unless
they say otherwise."""

import gc
import os
import random
import signal
import threading
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from morello.dialect import in_context
from morello.frontends import dry_run
from morello.search.storage.shelf import SHELF
from morello.tools import morello
from tests.progress import Progress
from tests.tool import Tool

os.environ["MORELLO_DB"] = "none"
os.environ["MORELLO_CODE"] = "none"
os.environ["MORELLO_THREADS"] = "1"
os.environ["MORELLO_TARGET"] = "avx2"

# Samples that change with each run; the processes of xdist inherit the seed.
os.environ.setdefault("MORELLO_TEST_SEED", str(random.SystemRandom().randrange(10**6)))

# The same examples on every run, however slow the machine; more, and others, on demand.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("thorough", max_examples=5000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_configure(config: pytest.Config) -> None:
    """Report progress from the process that prints; workers of xdist do not print."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Progress(config), "progress")


def pytest_report_header() -> str:
    """The seed with which the same samples are drawn again."""
    return (
        f"cases that are drawn: MORELLO_TEST_SEED={os.environ['MORELLO_TEST_SEED']}; "
        "MORELLO_TEST_ALL=1 runs all"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With ``-m quick`` do not import files that have no quick test: each worker
    would take seconds to collect what is then left out."""
    if config.option.markexpr != "quick" or collection_path.suffix != ".py":
        return None
    return True if "mark.quick" not in collection_path.read_text() else None


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave out cases that are not drawn, and warnings of frameworks. Run quick files
    last, so that the workers end at the same time."""
    left_out = not_drawn(items, config.args)
    if left_out:
        config.hook.pytest_deselected(items=[i for i in items if i in left_out])
        items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: item.get_closest_marker("quick") is not None)
    for item in items:
        for warning in _IGNORED.get(item.path.parent.name, ()):
            item.add_marker(pytest.mark.filterwarnings(f"ignore::{warning}"))


_IGNORED = {
    "onnx": ("DeprecationWarning",),
    "torch": ("DeprecationWarning", "FutureWarning", "UserWarning"),
}
"""Warnings of frameworks, of their own code, in the folders of their tests."""


def not_drawn(items: list[pytest.Item], named: Collection[str]) -> set[pytest.Item]:
    """The cases of tests with the mark ``sampled(n)`` that this run leaves out.

    Each case is drawn in one run of n, by the seed of the run: of k cases of a function
    k/n, up or down by chance, and at least one where the function is on the command
    line. All run where ``MORELLO_TEST_ALL`` is set, and those whose ids are on the
    command line.
    """
    if os.environ.get("MORELLO_TEST_ALL"):
        return set()
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled") is not None:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out: set[pytest.Item] = set()
    for function, every in cases.items():
        mark = every[0].get_closest_marker("sampled")
        draw = random.Random(f"{os.environ['MORELLO_TEST_SEED']} {function}")
        count = int(len(every) / mark.args[0] + draw.random())
        if function in named:
            count = max(count, 1)
        chosen = {case for case in every if case.nodeid in named}
        left_out.update(set(every) - chosen - set(draw.sample(every, count)))
    return left_out


def pytest_collection_finish() -> None:
    """Collect garbage seldom: it takes 3 to 5 % of the time of searches."""
    gc.set_threshold(100_000, 50, 100)


@pytest.fixture(scope="module", autouse=True)
def exempt_from_collection() -> None:
    """Exempt what earlier files have left from garbage collection, which would take
    seconds late in a run, and let go of their tables: forks copy what a process has."""
    SHELF.clear()
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def same_operands(request: pytest.FixtureRequest) -> None:
    """Seed the generators of a module by the test's name: a test draws the same
    operands, whichever tests its process ran before."""
    for value in vars(request.module).values():
        if isinstance(value, np.random.Generator):
            seed = zlib.crc32(request.node.nodeid.encode())
            value.bit_generator.state = np.random.default_rng(seed).bit_generator.state


@pytest.fixture(autouse=True)
def usual_signals() -> Iterator[None]:
    """Signals as in a terminal: a job in the background ignores SIGINT, and a mask is
    inherited; both go on to the processes that tests start."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    before = {
        number: signal.signal(number, handler) for number, handler in _HANDLERS.items()
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


_HANDLERS = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGPIPE}


@pytest.fixture(scope="session", autouse=True)
def time_for_the_smaller_space() -> Iterator[None]:
    """What a time limit leaves to be searched is searched, however busy the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("morello.search.queries.best_program.LEAST", 300.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def programs_are_read_once() -> Iterator[None]:
    """Programs are read without a child that reads them first, which takes longer than
    all else of a small one; `tried_first` is for tests of what ends a process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dry_run, "_tried", lambda *_: 0)
        yield


@pytest.fixture
def tried_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read programs in a child first, as users' are."""
    monkeypatch.setattr(dry_run, "_tried", _TRIED)


_TRIED = dry_run._tried


@pytest.fixture(scope="session")
def shared_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a database that all processes of a run share."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # each worker has a folder of its own below it
    return folder / "morello.db"


@pytest.fixture(scope="module", autouse=True)
def smaller_space(request: pytest.FixtureRequest) -> Iterator[None]:
    """Search without other layouts, in half of the time, in folders whose tests are not
    about which programs are found."""
    with pytest.MonkeyPatch.context() as patch:
        if request.path.parent.name in _SMALLER:
            patch.setenv("MORELLO_TARGET", "avx2{relayouts=0}")
        yield


_SMALLER = ("frontends", "jax", "onnx", "torch", "tracing")


@pytest.fixture(scope="module")
def known_dialects() -> Iterator[None]:
    """A context of MLIR that has the dialects."""
    with in_context():
        yield


@pytest.fixture
def tool(capsys: pytest.CaptureFixture[str]) -> Tool:
    """The command `morello`."""
    return Tool(morello.main, capsys)


@pytest.fixture(scope="module")
def one_database(shared_database: Path) -> Iterator[None]:
    """Compile with the database of the run, in which each Spec is searched once: for
    modules that are not about searching."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MORELLO_DB", str(shared_database))
        yield
