"""The progress of a test run, with workers and without."""

import dataclasses
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import not_drawn

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parent.parent
CONFTEST = """
from tests.progress import Progress

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Progress(config, seconds={seconds}), "progress")
"""
TESTS = """
import pytest

def test_one():
    pass

def test_two():
    assert 1 + 1 == 3, "arithmetic is sound\\nand has two lines"

@pytest.fixture
def broken():
    raise OSError("no such device")

def test_three(broken):
    pass
"""


@pytest.fixture
def suite(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> pytest.Pytester:
    """Three tests, of which two fail; a line of progress after each."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makeconftest(CONFTEST.format(seconds=0))
    pytester.makepyfile(test_sums=TESTS)
    return pytester


@pytest.mark.parametrize("workers", [0, 2])
def test_progress_counts_the_tests_that_ended(
    suite: pytest.Pytester, workers: int
) -> None:
    run = suite.runpytest_subprocess("-n", str(workers))
    run.stdout.re_match_lines(
        [
            r"33 % after 0:\d\d: 1 of 3 tests, \d failed",
            r"66 % after 0:\d\d: 2 of 3 tests, \d failed",
            r"100 % after 0:\d\d: 3 of 3 tests, 2 failed",
        ]
    )


@pytest.mark.parametrize("workers", [0, 2])
def test_a_failure_is_named_with_its_first_line_before_the_summary(
    suite: pytest.Pytester, workers: int
) -> None:
    run = suite.runpytest_subprocess("-n", str(workers))
    text = run.stdout.str().split("= FAILURES =")[0].split("= ERRORS =")[0]
    assert "FAILED test_sums.py::test_two: AssertionError: arithmetic is" in text
    assert "FAILED test_sums.py::test_three (setup): OSError: no such device\n" in text
    assert "two lines" not in text


def test_a_file_that_cannot_be_imported_is_named(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_other="import no_such_module")
    run = suite.runpytest_subprocess("-n", "0")
    run.stdout.fnmatch_lines(["FAILED test_other.py (collection): *no_such_module*"])


def test_a_short_run_prints_no_progress(suite: pytest.Pytester) -> None:
    suite.makeconftest(CONFTEST.format(seconds=30))
    run = suite.runpytest_subprocess("-n", "0")
    run.stdout.no_re_match_line(r".* % after")


def test_quick_tests_are_found_without_the_import_of_others(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest("from tests.conftest import pytest_ignore_collect")
    pytester.makeini("[pytest]\nmarkers =\n    quick: of a fast file")
    pytester.makepyfile(
        test_quick="import pytest\n@pytest.mark.quick\ndef test_one(): pass",
        test_other="raise ValueError('imported')",
    )
    pytester.runpytest("-m", "quick", "-n", "0").assert_outcomes(passed=1)
    pytester.runpytest("-n", "0").assert_outcomes(errors=1)


@dataclasses.dataclass(frozen=True)
class _Case:
    """A case of a test that one run of three draws."""

    nodeid: str

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return pytest.mark.sampled(3).mark if name == "sampled" else None


@pytest.mark.parametrize("count", [1, 2, 7])
def test_each_case_is_drawn_in_one_run_of_n(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases: Any = [_Case(f"f.py::test_it[{number}]") for number in range(count)]
    monkeypatch.delenv("MORELLO_TEST_ALL", raising=False)
    runs = Counter[_Case]()
    for seed in range(600):
        monkeypatch.setenv("MORELLO_TEST_SEED", str(seed))
        runs.update({*cases} - not_drawn(cases, ()))
    assert all(150 < runs[case] < 250 for case in cases)
    assert cases[0] not in not_drawn(cases, [cases[0].nodeid])
    assert len(not_drawn(cases, ["f.py::test_it"])) < count
    monkeypatch.setenv("MORELLO_TEST_ALL", "1")
    assert not_drawn(cases, ()) == set()
